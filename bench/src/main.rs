//! The measurements of docs/benchmarks.md; `cargo xtask bench` builds for release and runs them.
//!
//! * [`calibration`] says what the machine gives, first and last: a figure means nothing without it.
//! * [`records_sqlite`], [`records_postgres`], [`me`], [`start`] and [`authentication`] are the measurements, one file
//!   each; [`crowd`] is those of a hub with very many accounts and keys, [`review`] those of tasks on their way to a Grant,
//!   [`people`] those of delegations, batches and waiting, [`apply`] those of what agents do with a Grant, [`locks`]
//!   those of locks, against services that have them too, [`grants`] those of standalone grants, [`dashboard`] those of
//!   pages and of live feeds.
//! * [`decisions`] is the unit of work that the two engines are measured with, through `records` and by hand.
//! * [`closed_loop`] drives any of them, [`turns`] lets servers take turns, [`http`] is the load generator's client,
//!   [`echo`] the server that `me` is compared with, [`programs`] starts the servers, [`homes`] are where they keep
//!   their records, [`chance`] draws, [`machine`] reads /proc, [`figures`] is the table.
//!
//! To add a measurement: a file with a `measure` that returns rows, a variant of [`Name`], its line in
//! [`measure`], and its part in docs/benchmarks.md.
//!
//! **Invariant:** what is compared runs in turns, in one run, on data made anew each time.
//! **Invariant:** a miss is printed like a hit; nothing here ends early because a figure is bad.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]
#![expect(clippy::print_stderr, reason = "a run takes minutes, and the person who waits should see it move")]

mod apply;
mod authentication;
mod calibration;
mod chance;
mod closed_loop;
mod crowd;
mod dashboard;
mod decisions;
mod echo;
mod figures;
mod grants;
mod homes;
mod http;
mod locks;
mod machine;
mod me;
mod people;
mod programs;
mod records_postgres;
mod records_sqlite;
mod review;
mod start;
mod turns;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use hub::clock::{Clock as _, SystemClock};
use records::Engine;
use tokio::runtime::Runtime;

use crate::calibration::Calibration;
use crate::figures::Row;

/// How often each figure is measured; the table shows the median and the range.
const ROUNDS: usize = 3;

/// Measures what docs/benchmarks.md promises.
#[derive(Parser)]
struct Arguments {
    /// Which measurements; all of them when none is named
    names: Vec<Name>,
    /// Seconds of each timed run; shorter is for trying out the measurement, not for figures
    #[arg(long, env = "COUNTERSIGN_BENCH_SECONDS", default_value_t = 3.0)]
    seconds: f64,
    /// Accounts of the crowd, each with ten keys; fewer is for trying out the measurement, not for figures
    #[arg(long, env = "COUNTERSIGN_BENCH_PEOPLE", default_value_t = 100_000)]
    people: u64,
    /// Finished tasks of the hub that has seen many; fewer is for trying out the measurement, not for figures
    #[arg(long, env = "COUNTERSIGN_BENCH_TASKS", default_value_t = 1_000_000)]
    tasks: u64,
    /// Locks held at once; fewer is for trying out the measurement, more for the goal
    #[arg(long, env = "COUNTERSIGN_BENCH_LOCKS", default_value_t = 200_000)]
    locks: usize,
    /// Locks held through a restart, alone; fewer is for trying out the measurement, not for figures
    #[arg(long, env = "COUNTERSIGN_BENCH_LOCKS_KEPT", default_value_t = 1_000_000)]
    locks_kept: usize,
    /// Pending grants of the hub that has many; fewer is for trying out the measurement, not for figures
    #[arg(long, env = "COUNTERSIGN_BENCH_GRANTS", default_value_t = 1_000_000)]
    grants: u64,
    /// Serve the JSON echo that others are compared with, until killed
    #[arg(long, hide = true)]
    echo_server: bool,
    /// Serve grants from a store in this Redis and nothing else, until killed
    #[arg(long, hide = true)]
    bare_grants: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    RecordsSqlite,
    RecordsPostgres,
    Me,
    Start,
    Authentication,
    CrowdSqlite,
    CrowdPostgres,
    Review,
    Apply,
    Locks,
    LocksKept,
    Grants,
    Dashboard,
    People,
}

/// What every measurement is given.
pub(crate) struct Bench {
    runtime: Runtime,
    /// Of one timed run.
    duration: Duration,
    /// Accounts of the crowd.
    people: u64,
    /// Finished tasks of a hub that has seen many.
    tasks: u64,
    /// Locks held at once.
    locks: usize,
    /// Locks held through a restart, alone.
    locks_kept: usize,
    /// Pending grants of a hub that has many.
    grants: u64,
    /// On the disk that the calibration looked at; everything in it goes with the run.
    scratch: tempfile::TempDir,
}

impl Bench {
    fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if arguments.echo_server {
        return runtime.block_on(echo::serve());
    }
    if let Some(redis_url) = &arguments.bare_grants {
        return runtime.block_on(grants::bare::serve(redis_url));
    }
    let bench = Bench {
        runtime,
        duration: Duration::from_secs_f64(arguments.seconds),
        people: arguments.people,
        tasks: arguments.tasks,
        locks: arguments.locks,
        locks_kept: arguments.locks_kept,
        grants: arguments.grants,
        scratch: tempfile::Builder::new().prefix("countersign-bench-").tempdir()?,
    };
    let names = if arguments.names.is_empty() { Name::value_variants() } else { &arguments.names };
    let day = SystemClock::default().now().to_string();
    println!("{}, {}\n", day.split('T').next().unwrap_or_default(), machine::described()?);
    let before = Calibration::take(&bench)?;
    println!("calibration before: {before}");
    let mut rows = Vec::new();
    for &name in names {
        rows.extend(measure(&bench, name)?);
    }
    let after = Calibration::take(&bench)?;
    println!("calibration after:  {after}\n\n{}", calibration::judged(&before, &after));
    println!("\n{}", figures::table(&rows));
    Ok(())
}

fn measure(bench: &Bench, name: Name) -> Result<Vec<Row>> {
    let named = name.to_possible_value();
    let named = named.as_ref().map_or("", |value| value.get_name());
    progress(named);
    match name {
        Name::RecordsSqlite => records_sqlite::measure(bench),
        Name::RecordsPostgres => records_postgres::measure(bench),
        Name::Me => me::measure(bench),
        Name::Start => start::measure(bench),
        Name::Authentication => authentication::measure(bench),
        Name::CrowdSqlite => crowd::measure(bench, Engine::Sqlite),
        Name::CrowdPostgres => crowd::measure(bench, Engine::Postgres),
        Name::Review => review::measure(bench),
        Name::Apply => apply::measure(bench),
        Name::Locks => locks::measure(bench),
        Name::LocksKept => locks::kept::measure(bench),
        Name::Grants => grants::measure(bench),
        Name::Dashboard => dashboard::measure(bench),
        Name::People => people::measure(bench),
    }
    .with_context(|| format!("measuring {named}"))
}

/// Tells whoever waits where we are; the table comes last.
pub(crate) fn progress(text: &str) {
    eprintln!("{text}");
}
