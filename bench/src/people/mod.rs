//! People who decide for others, or much at once, or not at all: [`batch`] looks at many answers in one request, [`chains`] at
//! finding out who decides where everybody delegated, [`idle`] at what waiting costs.

mod batch;
mod chains;
mod idle;

use anyhow::Result;
use records::Engine;

use crate::Bench;
use crate::figures::Row;
use crate::homes::Homes;
use crate::review::OPEN;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let mut table = batch::measure(bench, &homes)?;
    table.extend(chains::measure(bench, &homes)?);
    table.extend(idle::measure(bench, &homes, OPEN.min(bench.tasks))?);
    Ok(table)
}
