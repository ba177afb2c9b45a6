//! Sides that take turns on servers that stay up, and what is written about each.

use std::time::Duration;

use anyhow::Result;

use crate::closed_loop::Run;
use crate::figures::{Figure, Row};
use crate::{Bench, ROUNDS, progress};

/// Each round is cut into so many turns of every side. Neighbours on the host come and go within seconds, and
/// nothing here has to be made anew between turns.
const TURNS: u32 = 3;

/// One of those who are compared.
pub(crate) struct Side<'a> {
    name: String,
    turn: Box<dyn Fn(Duration) -> Result<Run> + 'a>,
}

impl<'a> Side<'a> {
    pub(crate) fn new(name: impl Into<String>, turn: impl Fn(Duration) -> Result<Run> + 'a) -> Self {
        Self { name: name.into(), turn: Box::new(turn) }
    }
}

/// What a side came to, round by round.
pub(crate) struct Measured {
    name: String,
    runs: Vec<Run>,
}

impl Measured {
    /// One value of each round.
    pub(crate) fn values(&self, value: fn(&Run) -> f64) -> Vec<f64> {
        self.runs.iter().map(value).collect()
    }

    /// The lines of the table about this side.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let (name, figure) = (&self.name, |value: fn(&Run) -> f64| Figure::of(self.values(value)));
        vec![
            Row::new(format!("{name}: requests/s"), figure(|run| run.per_second), 0),
            Row::new(format!("{name}: p50, ms"), figure(|run| run.p50_micros / 1e3), 2),
            Row::new(format!("{name}: p99, ms"), figure(|run| run.p99_micros / 1e3), 2),
            Row::new(format!("{name}: CPU µs per request of the server"), figure(|run| run.cpu_micros), 1),
        ]
    }
}

/// Lets all sides take their turns, in the order given, and says after each round where they are.
pub(crate) fn taken<const N: usize>(bench: &Bench, sides: [Side<'_>; N]) -> Result<[Measured; N]> {
    let mut measured = sides.each_ref().map(|side| Measured { name: side.name.clone(), runs: Vec::new() });
    for round in 1..=ROUNDS {
        let mut turns = [(); N].map(|()| Vec::new());
        for _ in 0..TURNS {
            for (side, turns) in sides.iter().zip(&mut turns) {
                turns.push((side.turn)(bench.duration / TURNS)?);
            }
        }
        let mut said = Vec::new();
        for (measured, turns) in measured.iter_mut().zip(&turns) {
            let run = Run::mean(turns);
            said.push(format!("{} {:.0}/s, {:.1} µs", measured.name, run.per_second, run.cpu_micros));
            measured.runs.push(run);
        }
        progress(&format!("  {round}: {}", said.join("; ")));
    }
    Ok(measured)
}
