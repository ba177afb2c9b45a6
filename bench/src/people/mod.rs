//! People: many answers at once against one by one, and long chains among many delegations against short ones among few.

mod batches;
mod chains;

use anyhow::Result;
use records::Engine;

use crate::Bench;
use crate::figures::Row;
use crate::homes::Homes;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let mut table = batches::measure(bench, &homes)?;
    table.extend(chains::measure(bench, &homes)?);
    Ok(table)
}
