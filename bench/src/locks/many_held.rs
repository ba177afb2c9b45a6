//! Very many locks that are held: how long it takes to take them, what they weigh, and what they do to the next one.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;

use super::countersign::Countersign;
use super::redis::Redis;
use super::{CLIENTS, Locker as _, Peer, key, pairs};
use crate::figures::{Bar, Figure, Row, grouped, ratio};
use crate::machine::resident_mb;
use crate::start::until_ready;
use crate::turns::{Side, taken};
use crate::{Bench, ROUNDS, progress};

/// Nobody may hold more than 10,000, and a million have to fit.
pub(super) const AGENTS: usize = 128;
/// What many is compared with.
pub(super) const FEW: usize = 1_000;
const OF_REDIS_MAX: f64 = 3.0;
const BYTES_MAX: f64 = 400.0;
const GROWTH_MAX: f64 = 1.3;

/// Has these locks taken and kept; how long that took, in seconds.
async fn take<P: Peer>(peer: &P, from: usize, to: usize) -> Result<f64> {
    let mut lockers = Vec::new();
    for number in 0..CLIENTS {
        lockers.push(peer.open(number).await?);
    }
    let began = Instant::now();
    let mut taking = JoinSet::new();
    for (client, mut locker) in lockers.into_iter().enumerate() {
        taking.spawn(async move {
            for number in (from..to).filter(|number| number % CLIENTS == client) {
                locker.acquire(&key("held", number)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(taken) = taking.join_next().await {
        taken??;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// One service that is filled: how long it took, and what one lock weighs.
pub(super) struct Filled {
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

/// The first thousand are not counted: they pay for what every server gets under load.
pub(super) fn filled<P: Peer>(bench: &Bench, peer: &P, locks: usize) -> Result<Filled> {
    bench.runtime.block_on(take(peer, 0, FEW))?;
    let pid = peer.pid().context("a service of more than one process cannot be weighed")?;
    let before = resident_mb(pid)?;
    let seconds = bench.runtime.block_on(take(peer, FEW, locks))?;
    let bytes = (resident_mb(pid)? - before) * 1e6 / (locks - FEW) as f64;
    Ok(Filled { seconds, bytes })
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let locks = bench.locks.max(2 * FEW);
    let (mut ours, mut redis) = (Vec::new(), Vec::new());
    let mut last = None;
    for round in 1..=ROUNDS {
        drop(last.take());
        let peer = Redis::start(bench)?;
        redis.push(filled(bench, &peer, locks)?);
        drop(peer);
        let hub = Countersign::start(bench, AGENTS)?;
        let (theirs, own) = (&redis[round - 1], filled(bench, &hub, locks)?);
        progress(&format!(
            "  {round}: {locks} locks in {:.1} s, {:.0} bytes each; Redis {:.1} s, {:.0} bytes",
            own.seconds, own.bytes, theirs.seconds, theirs.bytes
        ));
        ours.push(own);
        last = Some(hub);
    }
    let seconds = |of: &[Filled]| of.iter().map(|filled| filled.seconds).collect::<Vec<_>>();
    let bytes = |of: &[Filled]| Figure::of(of.iter().map(|filled| filled.bytes));
    let held = grouped(locks as f64, 0);
    let mut table = vec![
        Row::new(
            format!("{held} locks taken, time ÷ Redis always"),
            ratio(&seconds(&ours), &seconds(&redis)),
            2,
        )
        .with_bar(Bar::AtMost(OF_REDIS_MAX)),
        Row::new(format!("{held} locks held, bytes each (RSS)"), bytes(&ours), 0)
            .with_bar(Bar::AtMost(BYTES_MAX)),
        Row::new(format!("{held} locks, countersign: s to take them"), Figure::of(seconds(&ours)), 1),
        Row::new(format!("{held} locks, Redis always: s to take them"), Figure::of(seconds(&redis)), 1),
        Row::new(format!("{held} locks, Redis always: bytes each (RSS)"), bytes(&redis), 0),
    ];
    if let Some(many) = last {
        table.extend(growth(bench, &many, &held)?);
        table.push(restart(bench, many, &held)?);
    }
    Ok(table)
}

/// Takes and gives back where few and where many are held.
fn growth(bench: &Bench, many: &Countersign, held: &str) -> Result<Vec<Row>> {
    let few = Countersign::start(bench, AGENTS)?;
    bench.runtime.block_on(take(&few, 0, FEW))?;
    let sides = [
        Side::new(format!("own keys, {} held", grouped(FEW as f64, 0)), |turn| pairs(bench, &few, turn)),
        Side::new(format!("own keys, {held} held"), |turn| pairs(bench, many, turn)),
    ];
    let [small, large] = taken(bench, sides)?;
    let grown = |value| ratio(&large.values(value), &small.values(value));
    let mut table = vec![
        Row::new(format!("{held} held ÷ 1,000: p50"), grown(|run| run.p50_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
        Row::new(format!("{held} held ÷ 1,000: CPU"), grown(|run| run.cpu_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
    ];
    table.extend(small.rows_of("pair"));
    table.extend(large.rows_of("pair"));
    Ok(table)
}

/// Kills a hub and starts it again; how long it takes to be ready, in seconds.
pub(super) fn restarted(bench: &Bench, hub: Countersign) -> Result<(Countersign, f64)> {
    let hub = hub.killed_and_started(bench)?;
    bench.runtime.block_on(until_ready(hub.program()))?;
    let took = hub.program().began.elapsed().as_secs_f64();
    ensure!(bench.runtime.block_on(hub.is_held(&key("held", FEW)))?, "a lock was lost");
    Ok((hub, took))
}

/// How long a hub that holds so many takes to be ready again after it was killed.
fn restart(bench: &Bench, mut hub: Countersign, held: &str) -> Result<Row> {
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let (again, seconds) = restarted(bench, hub)?;
        hub = again;
        took.push(seconds);
    }
    let what = format!("{held} held: s from kill and start to ready (goal: 3 at 1,000,000)");
    Ok(Row::new(what, Figure::of(took), 2))
}
