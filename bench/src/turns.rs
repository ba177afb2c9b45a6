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
        self.rows_of("request")
    }

    /// The same where what is done has another name. What was not measured has no line.
    pub(crate) fn rows_of(&self, thing: &str) -> Vec<Row> {
        let name = &self.name;
        let row = |what: &str, value: fn(&Run) -> f64, digits| {
            let values = self.values(value);
            let is_measured = values.iter().any(|value| !value.is_nan());
            is_measured.then(|| Row::new(format!("{name}: {what}"), Figure::of(values), digits))
        };
        let rows = [
            row(&format!("{thing}s/s"), |run| run.per_second, 0),
            row("p50, ms", |run| run.p50_micros / 1e3, 2),
            row("p99, ms", |run| run.p99_micros / 1e3, 2),
            row(&format!("CPU µs per {thing} of the server"), |run| run.cpu_micros, 1),
        ];
        rows.into_iter().flatten().collect()
    }
}

/// Lets all sides take their turns, in the order given, and says after each round where they are.
pub(crate) fn taken<const N: usize>(bench: &Bench, sides: [Side<'_>; N]) -> Result<[Measured; N]> {
    let measured = all_taken(bench, &sides)?;
    measured.try_into().map_err(|_| anyhow::anyhow!("a side without a measurement"))
}

/// The same where how many there are is only known now.
pub(crate) fn all_taken(bench: &Bench, sides: &[Side<'_>]) -> Result<Vec<Measured>> {
    let fresh = |side: &Side<'_>| Measured { name: side.name.clone(), runs: Vec::new() };
    let mut measured: Vec<Measured> = sides.iter().map(fresh).collect();
    for round in 1..=ROUNDS {
        let mut turns: Vec<Vec<Run>> = sides.iter().map(|_| Vec::new()).collect();
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn bench() -> Bench {
        Bench {
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
            duration: Duration::from_secs(3),
            people: 0,
            tasks: 0,
            locks: 0,
            locks_kept: 0,
            grants: 0,
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    #[test]
    fn sides_take_turns_and_a_round_is_the_mean_of_its_turns() {
        let bench = bench();
        let order = RefCell::new(Vec::new());
        let side = |name: &'static str| {
            let order = &order;
            Side::new(name, move |turn| {
                assert_eq!(turn, Duration::from_secs(1));
                order.borrow_mut().push(name);
                let value = order.borrow().len() as f64;
                Ok(Run { per_second: value, p50_micros: value, p99_micros: value, cpu_micros: value })
            })
        };
        let [one, other] = taken(&bench, [side("one"), side("other")]).unwrap();
        assert_eq!(order.borrow().as_slice(), ["one", "other"].repeat(9));
        // One had the turns 1, 3, 5 in the first round, 7, 9, 11 in the second, 13, 15, 17 in the third.
        assert_eq!(one.values(|run| run.cpu_micros), [3.0, 9.0, 15.0]);
        assert_eq!(other.values(|run| run.p50_micros), [4.0, 10.0, 16.0]);
        assert_eq!(one.rows().len(), 4);
        let unmeasured =
            Measured { runs: vec![Run { cpu_micros: f64::NAN, p99_micros: f64::NAN, ..one.runs[0] }], ..one };
        assert_eq!(unmeasured.rows_of("pair").len(), 2);
    }

    #[test]
    fn a_turn_that_fails_leaves_no_figure() {
        assert!(taken(&bench(), [Side::new("x", |_| anyhow::bail!("no"))]).is_err());
    }
}
