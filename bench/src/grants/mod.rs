//! Standalone grants: made and used on each store, and what very many of them do to lists and counts.
//!
//! [`pair`] makes a grant and uses it, [`bare`] is the server that does no more than the store in Redis does, [`mod@fill`]
//! makes very many at once, [`stores`] calls the stores by themselves.

pub(crate) mod bare;
mod fill;
mod pair;
mod stores;

use std::iter::repeat_n;
use std::time::Duration;

use anyhow::Result;
use records::Engine;
use testkit::redis::Redis;

use self::fill::fill;
use self::pair::{Pair, UNITS, bearer};
use crate::Bench;
use crate::closed_loop::{self, Run};
use crate::decisions::schema;
use crate::figures::{Bar, Row, grouped, ratio};
use crate::homes::{Home, Homes};
use crate::http::{Request, Target, load};
use crate::programs::Program;
use crate::records_sqlite::{on_copy, through_records};
use crate::turns::{Side, taken};

const CONNECTIONS: usize = 64;
const OF_RAW_UNITS_MIN: f64 = 0.5;
const OF_BARE_MIN: f64 = 0.5;
const GROWTH_MAX: f64 = 1.3;
/// Pending grants of the hub that has few.
const FEW: u64 = 1_000;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let mut table = stores::measure(bench)?;
    table.extend(beside_raw_units(bench, &homes)?);
    table.extend(beside_the_bare_script(bench, &homes)?);
    table.extend(grown(bench, &homes)?);
    Ok(table)
}

/// A hub whose grants are in this store.
fn keeping_in(bench: &Bench, home: &Home, store: &str, redis_url: &str) -> Result<Program> {
    Program::with(home, bench, &[("APPROVAL_STORE", store), ("REDIS_URL", redis_url)])
}

fn pairs(bench: &Bench, target: Target, headers: &str, turn: Duration) -> Result<Run> {
    bench.runtime.block_on(async {
        closed_loop::run(Pair::many(target, headers, CONNECTIONS).await?, turn, target.pid).await
    })
}

/// What a unit of the records costs by itself, and what it costs as a grant that is made or used.
fn beside_raw_units(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let template = bench.scratch().join("grants-template.sqlite");
    schema::make_sqlite(&template)?;
    let (kept, lent, redis) = (homes.founded()?, homes.founded()?, Redis::start());
    let records = keeping_in(bench, &kept, "records", &redis.url())?;
    let memory = keeping_in(bench, &lent, "memory", &redis.url())?;
    let (by_records, by_memory) = (bearer(&kept.admin_key()?), bearer(&lent.admin_key()?));
    let sides = [
        Side::new("SQLite, grants in records", |turn| pairs(bench, records.target, &by_records, turn)),
        Side::new("SQLite, grants in memory", |turn| pairs(bench, memory.target, &by_memory, turn)),
        Side::new("SQLite, bare units of `records`", |_| {
            on_copy(bench, &template, |file| through_records(bench, file))
        }),
    ];
    let [in_records, in_memory, raw] = taken(bench, sides)?;
    let units = |side: &crate::turns::Measured| side.values(|run| run.per_second * UNITS);
    let of_raw = |side| ratio(&units(side), &raw.values(|run| run.per_second));
    let mut table = vec![
        Row::new("SQLite, units of making and using grants in records ÷ bare units", of_raw(&in_records), 2)
            .with_bar(Bar::AtLeast(OF_RAW_UNITS_MIN)),
        Row::new("SQLite, the same in memory ÷ bare units", of_raw(&in_memory), 2),
    ];
    table.extend(in_records.rows_of("pair"));
    table.extend(in_memory.rows_of("pair"));
    table.extend(raw.rows_of("unit"));
    Ok(table)
}

/// The hub with its grants in Redis, and a handler that only does what the store does, on one Redis.
fn beside_the_bare_script(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let (home, redis) = (homes.founded()?, Redis::start());
    let hub = keeping_in(bench, &home, "redis", &redis.url())?;
    let bare = Program::bare_grants(bench, &redis.url())?;
    let headers = bearer(&home.admin_key()?);
    let sides = [
        Side::new("SQLite, grants in Redis", |turn| pairs(bench, hub.target, &headers, turn)),
        Side::new("bare handler, the same scripts", |turn| pairs(bench, bare.target, "", turn)),
    ];
    let [ours, bare] = taken(bench, sides)?;
    let rate = |run: &Run| run.per_second;
    let mut table = vec![
        Row::new(
            "SQLite, grants in Redis ÷ a bare axum handler with the same scripts",
            ratio(&ours.values(rate), &bare.values(rate)),
            2,
        )
        .with_bar(Bar::AtLeast(OF_BARE_MIN)),
    ];
    table.extend(ours.rows_of("pair"));
    table.extend(bare.rows_of("pair"));
    Ok(table)
}

/// Lists and counts where few and where many are pending.
fn grown(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let (few, many) = (homes.founded()?, homes.founded()?);
    fill(&few, FEW)?;
    fill(&many, bench.grants)?;
    let (small, large) = (Program::at(&few, bench)?, Program::at(&many, bench)?);
    let mut table = Vec::new();
    for path in ["pending?tenant_id=default&limit=100", "stats?tenant_id=default"] {
        let side = |hub: &Program, home: &Home, count: u64| -> Result<Side<'_>> {
            let request = Request::get(&format!("/api/ir/approvals/{path}"), &bearer(&home.admin_key()?));
            let target = hub.target;
            let what = path.split('?').next().unwrap_or_default();
            let name = format!("SQLite, {what} where {} wait", grouped(count as f64, 0));
            Ok(Side::new(name, move |turn| {
                let request = request.clone();
                bench.runtime.block_on(load(target, repeat_n(move || request.clone(), CONNECTIONS), turn))
            }))
        };
        let sides = [side(&small, &few, FEW)?, side(&large, &many, bench.grants)?];
        let [of_few, of_many] = taken(bench, sides)?;
        let p50 = |run: &Run| run.p50_micros;
        let growth = ratio(&of_many.values(p50), &of_few.values(p50));
        let many = grouped(bench.grants as f64, 0);
        table.push(
            Row::new(format!("SQLite, {path}: p50 with {many} pending ÷ with {FEW}"), growth, 2)
                .with_bar(Bar::AtMost(GROWTH_MAX)),
        );
        table.extend(of_few.rows());
        table.extend(of_many.rows());
    }
    Ok(table)
}
