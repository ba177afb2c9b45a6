//! `/me` with keys out of a million, against the same with keys out of a hundred.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use records::Engine;
use tokio::task::JoinSet;

use super::people::{KEYS_EACH, secret};
use super::{CONNECTIONS, Peopled};
use crate::chance::Chance;
use crate::closed_loop::Run;
use crate::figures::{Bar, Row, grouped, ratio};
use crate::http::{Connection, Request, Target, load};
use crate::turns::{Measured, Side, taken};
use crate::{Bench, progress};

const GROWTH_MAX: f64 = 1.3;
/// Keys that are in use at the same time, of all there are.
const WORKING_SET: u64 = 10_000;

/// Keys that are used again and again, as keys are.
pub(crate) fn working_set(bench: &Bench, engine: Engine, few: &Peopled, many: &Peopled) -> Result<Vec<Row>> {
    let all = keys(many);
    let set = WORKING_SET.min(all);
    // Every so-manieth, so that they lie all over the tables and not on a few pages.
    let spread = all / set;
    let name = format!("{engine}, {} of {} keys", grouped(set as f64, 0), grouped(all as f64, 0));
    progress(&format!("  {name}"));
    bench.runtime.block_on(each_once(few.hub.target, keys(few), 1))?;
    bench.runtime.block_on(each_once(many.hub.target, set, spread))?;
    let large = Side::new(&name, |turn| drawn(bench, many, (set, spread), turn));
    let [small, large] = taken(bench, [the_few(bench, engine, few), large])?;
    let mut table = growth(&name, &small, &large, Bar::AtMost(GROWTH_MAX));
    table.extend(small.rows());
    table.extend(large.rows());
    Ok(table)
}

/// Keys that are hardly ever used twice: the worst that can be done to a cache.
pub(crate) fn uniform(bench: &Bench, engine: Engine, few: &Peopled, many: &Peopled) -> Result<Vec<Row>> {
    let all = keys(many);
    let name = format!("{engine}, any of {} keys", grouped(all as f64, 0));
    progress(&format!("  {name}"));
    let large = Side::new(&name, |turn| drawn(bench, many, (all, 1), turn));
    let [small, large] = taken(bench, [the_few(bench, engine, few), large])?;
    let mut table = growth(&name, &small, &large, Bar::None);
    table.extend(large.rows());
    Ok(table)
}

fn the_few<'a>(bench: &'a Bench, engine: Engine, few: &'a Peopled) -> Side<'a> {
    Side::new(format!("{engine}, {} keys", keys(few)), move |turn| drawn(bench, few, (keys(few), 1), turn))
}

fn keys(hub: &Peopled) -> u64 {
    hub.people * KEYS_EACH
}

/// How much more it takes with many keys; by the middle and by the server's work (p99 is the neighbours').
fn growth(name: &str, small: &Measured, large: &Measured, bar: Bar) -> Vec<Row> {
    let of = |value: fn(&Run) -> f64| ratio(&large.values(value), &small.values(value));
    vec![
        Row::new(format!("{name} ÷ 100: p50 of `/me`"), of(|run| run.p50_micros), 2).with_bar(bar),
        Row::new(format!("{name} ÷ 100: CPU of the server"), of(|run| run.cpu_micros), 2).with_bar(bar),
    ]
}

/// Every connection draws from so many keys that lie so far apart.
fn drawn(bench: &Bench, hub: &Peopled, (count, apart): (u64, u64), turn: Duration) -> Result<Run> {
    let who = (0..CONNECTIONS).map(|_| {
        let mut chance = Chance::fresh();
        move || ask(chance.below(count) * apart)
    });
    bench.runtime.block_on(load(hub.hub.target, who, turn))
}

fn ask(key: u64) -> Request {
    Request::get("/api/v1/me", &format!("authorization: Bearer {}\r\n", secret(key).expose()))
}

/// Uses each key once, so that nobody is measured who meets the hub for the first time.
async fn each_once(target: Target, count: u64, apart: u64) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut askers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (mut connection, next) = (Connection::open(target.address).await?, Arc::clone(&next));
        askers.spawn(async move {
            loop {
                let key = next.fetch_add(1, Ordering::Relaxed);
                if key >= count {
                    return anyhow::Ok(());
                }
                connection.ask(&ask(key * apart)).await?;
            }
        });
    }
    while let Some(asker) = askers.join_next().await {
        asker??;
    }
    Ok(())
}
