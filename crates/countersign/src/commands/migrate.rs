//! `countersign migrate`: the database at this program's schema.

use std::io::{Write, stdout};

use hub::clock::{Clock, SystemClock};
use records::migrate;

use crate::cli::block_on;
use crate::config::{ServerFlags, load};
use crate::data_dir::DataDir;
use crate::exit::Exit;
use crate::open;

pub(crate) const EXAMPLES: &str = "\
Examples:
  DATABASE_URL=postgres://hub@db/hub countersign migrate
  countersign migrate --data ./countersign-data      (the hub must be stopped; a copy is kept)";

pub(crate) fn run(flags: &ServerFlags) -> anyhow::Result<Exit> {
    let config = load(flags)?.config;
    let now = SystemClock::default().now();
    let applied = match &config.records.database_url {
        None => {
            let data = DataDir::take(&config.data)?;
            migrate::run_sqlite(&data.database(), now)?
        }
        Some(_) => block_on(async {
            let records = open::postgres(&config)?;
            // Also looks whether the server keeps what it acknowledges.
            if migrate::is_current(&records).await? {
                return Ok(0);
            }
            Ok(migrate::run_postgres(&records, &config.records.pg_schema, now).await?)
        })?,
    };
    match applied {
        0 => writeln!(stdout(), "the schema is current")?,
        1 => writeln!(stdout(), "1 migration applied")?,
        n => writeln!(stdout(), "{n} migrations applied")?,
    }
    Ok(Exit::Done)
}
