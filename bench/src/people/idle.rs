//! What a hub costs that has very many open requests, none of them due, and nothing else to do.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::figures::{Bar, Figure, Row, grouped};
use crate::homes::Homes;
use crate::machine::cpu_micros;
use crate::programs::Program;
use crate::review::fill::Kind;
use crate::review::staffed;
use crate::{Bench, ROUNDS, progress};

/// Of one core, in percent: all that looking for what is due costs.
const OF_CORE_MAX: f64 = 1.0;
/// Several looks for what is due fall into it.
const LOOKED_AT: Duration = Duration::from_secs(30);
/// Until a hub that was started has done what is done once.
const SETTLED_AFTER: Duration = Duration::from_secs(15);
const ONE: u64 = 1;

/// Percent of a core that a hub with so many open tasks takes while nobody asks it anything.
fn idle(bench: &Bench, homes: &Homes<'_>, open: u64) -> Result<Vec<f64>> {
    let (home, _team) = staffed(bench, homes, open, Kind::Open)?;
    let hub = Program::at(&home, bench)?;
    sleep(SETTLED_AFTER);
    let once = |_| {
        let (began, before) = (Instant::now(), cpu_micros(hub.target.pid)?);
        sleep(LOOKED_AT);
        let spent = cpu_micros(hub.target.pid)? - before;
        Ok(100.0 * spent / began.elapsed().as_micros() as f64)
    };
    (0..ROUNDS).map(once).collect()
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>, open: u64) -> Result<Vec<Row>> {
    progress("  a hub that waits");
    let few = idle(bench, homes, ONE)?;
    let many = idle(bench, homes, open)?;
    let waits = grouped(open as f64, 0);
    let more = many.iter().zip(&few).map(|(many, few)| (many - few).max(0.0));
    Ok(vec![
        Row::new(
            format!("SQLite, {waits} open reviews and none due: % of a core more than with one"),
            Figure::of(more),
            2,
        )
        .with_bar(Bar::AtMost(OF_CORE_MAX)),
        Row::new("SQLite, an idle hub with one open review: % of a core", Figure::of(few), 2),
        Row::new(format!("SQLite, an idle hub with {waits}: % of a core"), Figure::of(many), 2),
    ])
}
