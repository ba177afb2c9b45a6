//! Tasks on their way through the hands of agents: how fast, how deep the queue may be, and how soon one who waits is told.
//!
//! [`cycle`] takes a task from its draft to its end, [`queue`] claims where few and where many wait, [`waiting`] looks at
//! single answers to agents that were there first.

mod cycle;
mod queue;
mod waiting;

use anyhow::Result;
use records::Engine;

use crate::Bench;
use crate::figures::Row;
use crate::homes::Homes;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let mut table = cycle::measure(bench, &homes)?;
    table.extend(queue::measure(bench, &homes)?);
    table.extend(waiting::measure(bench, &homes)?);
    Ok(table)
}
