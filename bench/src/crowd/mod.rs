//! A hub with 100,000 accounts and a million keys: what that makes of a request with a key, and of a search.
//!
//! [`people`] says who they are, [`fill`] puts them there, [`keys`] and [`search`] measure, [`plans`] asks the engine
//! how it would search.

mod fill;
mod keys;
mod people;
mod plans;
mod search;

use anyhow::Result;
use records::Engine;

use crate::Bench;
use crate::figures::Row;
use crate::homes::Homes;
use crate::programs::Program;

const CONNECTIONS: usize = 64;
/// Accounts of the hub that the crowd's is compared with; with ten keys each that is a hundred.
const FEW_PEOPLE: u64 = 10;

/// A hub and how many are in it.
struct Peopled {
    hub: Program,
    people: u64,
}

pub(crate) fn measure(bench: &Bench, engine: Engine) -> Result<Vec<Row>> {
    let homes = Homes::on(engine, bench);
    let (small, large) = (homes.founded()?, homes.founded()?);
    bench.runtime.block_on(fill::fill(&small, FEW_PEOPLE))?;
    bench.runtime.block_on(fill::fill(&large, bench.people))?;
    bench.runtime.block_on(plans::say(&large))?;
    let few = Peopled { hub: Program::at(&small, bench)?, people: FEW_PEOPLE };
    let many = Peopled { hub: Program::at(&large, bench)?, people: bench.people };
    let mut table = keys::working_set(bench, engine, &few, &many)?;
    table.extend(search::measure(bench, engine, &many, &large.admin_key()?)?);
    // Last, because what it leaves to be written down would disturb the others.
    table.extend(keys::uniform(bench, engine, &few, &many)?);
    Ok(table)
}
