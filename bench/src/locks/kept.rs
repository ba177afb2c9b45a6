//! A million locks that are held, and a hub that is killed with them: what they weigh, and when it is ready again.

use anyhow::{Context as _, Result, ensure};

use super::Peer as _;
use super::countersign::Countersign;
use super::many_held::{AGENTS, FEW, Filled, filled, restarted};
use crate::figures::{Bar, Figure, Row, grouped};
use crate::machine::resident_mb;
use crate::{Bench, ROUNDS, progress};

const READY_SECONDS_MAX: f64 = 3.0;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let locks = bench.locks_kept.max(2 * FEW);
    let mut hub = Countersign::start(bench, AGENTS)?;
    let Filled { seconds, bytes } = filled(bench, &hub, locks)?;
    check_held(bench, &hub, locks).context("they were taken more slowly than they end")?;
    progress(&format!("  {locks} locks in {seconds:.1} s, {bytes:.0} bytes each"));
    let (mut took, mut resident) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let (again, seconds) = restarted(bench, hub)?;
        hub = again;
        // All of them have their whole time anew, so none may have ended.
        check_held(bench, &hub, locks)?;
        let megabytes = resident_mb(hub.pid().context("a hub without a process")?)?;
        progress(&format!("  {round}: ready in {seconds:.2} s, {megabytes:.0} MB"));
        took.push(seconds);
        resident.push(megabytes);
    }
    let held = grouped(locks as f64, 0);
    Ok(vec![
        Row::new(format!("{held} kept: s from kill and start to ready"), Figure::of(took), 2)
            .with_bar(Bar::AtMost(READY_SECONDS_MAX)),
        Row::new(format!("{held} kept: bytes each (RSS)"), Figure::of([bytes]), 0),
        Row::new(format!("{held} kept: s to take them"), Figure::of([seconds]), 1),
        Row::new(format!("{held} kept: resident memory after the start, MB"), Figure::of(resident), 0),
    ])
}

fn check_held(bench: &Bench, hub: &Countersign, locks: usize) -> Result<()> {
    let held = bench.runtime.block_on(hub.held())?;
    ensure!(held == locks, "{held} of {locks} locks are held");
    Ok(())
}
