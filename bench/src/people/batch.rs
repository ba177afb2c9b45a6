//! Many answers in one request, against as many requests with one answer each.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::figures::{Bar, Figure, Row, ratio};
use crate::homes::Homes;
use crate::http::{Connection, Request, Target};
use crate::programs::Program;
use crate::review::cycle::{Asked, Cycle};
use crate::review::fill::Kind;
use crate::review::team::{Bearer, Team};
use crate::review::{CONNECTIONS, staffed};
use crate::{Bench, ROUNDS, progress};

const TIMES_MIN: f64 = 5.0;
const VOTES: usize = 500;
/// One after the other, side by side, and in one request.
const WAYS: usize = 3;
/// Finished tasks of the hub.
const BEFORE: u64 = 1_000;

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    progress("  many answers at once");
    let (home, team) = staffed(bench, homes, BEFORE, Kind::Finished)?;
    let hub = Program::at(&home, bench)?;
    let (mut single, mut abreast, mut batched) = (Vec::new(), Vec::new(), Vec::new());
    bench.runtime.block_on(async {
        let mut waiting = proposed(hub.target, &team, VOTES * WAYS * ROUNDS).await?;
        for round in 1..=ROUNDS {
            let mut some = || -> Vec<Asked> { waiting.drain(..VOTES.min(waiting.len())).collect() };
            single.push(one_by_one(hub.target, &team, some(), 1).await?);
            abreast.push(one_by_one(hub.target, &team, some(), CONNECTIONS).await?);
            batched.push(at_once(hub.target, &team, &some()).await?);
            let said = [&single, &abreast, &batched].map(|side| side.last().copied().unwrap_or(f64::NAN));
            progress(&format!("  {round}: {said:.0?} ms"));
        }
        anyhow::Ok(())
    })?;
    Ok(vec![
        Row::new("SQLite, 500 votes one after the other ÷ a batch of 500: time", ratio(&single, &batched), 1)
            .with_bar(Bar::AtLeast(TIMES_MIN)),
        Row::new("SQLite, 500 votes on 64 connections ÷ a batch of 500: time", ratio(&abreast, &batched), 1),
        Row::new("500 votes one after the other, ms", Figure::of(single), 0),
        Row::new("500 votes on 64 connections, ms", Figure::of(abreast), 0),
        Row::new("a batch of 500 votes, ms", Figure::of(batched), 0),
    ])
}

/// So many first votes that wait for the first of the reviewers.
async fn proposed(target: Target, team: &Team, count: usize) -> Result<VecDeque<Asked>> {
    let share = count.div_ceil(team.authors.len());
    let mut making = JoinSet::new();
    for mut cycle in Cycle::all(target, team).await? {
        making.spawn(async move {
            let mut made = Vec::new();
            for _ in 0..share {
                let [first, _] = cycle.proposed().await?;
                made.push(first);
            }
            anyhow::Ok(made)
        });
    }
    let mut all = VecDeque::new();
    while let Some(made) = making.join_next().await {
        all.extend(made??);
    }
    Ok(all)
}

/// Milliseconds until each of them is answered in a request of its own.
async fn one_by_one(target: Target, team: &Team, asked: Vec<Asked>, connections: usize) -> Result<f64> {
    let mut shares: Vec<Vec<Request>> = (0..connections).map(|_| Vec::new()).collect();
    for (place, asked) in asked.iter().enumerate() {
        shares[place % connections].push(asked.yes(&team.reviewers[0]));
    }
    let mut open = Vec::new();
    for share in shares {
        open.push((Connection::open(target.address).await?, share));
    }
    let began = Instant::now();
    let mut answering = JoinSet::new();
    for (mut connection, share) in open {
        answering.spawn(async move {
            for vote in share {
                connection.ask(&vote).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(answered) = answering.join_next().await {
        answered??;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds until all of them are answered in one request.
async fn at_once(target: Target, team: &Team, asked: &[Asked]) -> Result<f64> {
    let mut connection = Connection::open(target.address).await?;
    let request = batch(&team.reviewers[0], asked);
    let began = Instant::now();
    let answer: Value = serde_json::from_slice(connection.ask(&request).await?)?;
    let took = began.elapsed();
    let taken = answer["items"].as_array().context("a batch without items")?.len();
    anyhow::ensure!(taken == asked.len(), "{taken} of {} answers were taken", asked.len());
    Ok(took.as_secs_f64() * 1e3)
}

fn batch(reviewer: &Bearer, asked: &[Asked]) -> Request {
    let ids: Vec<&str> = asked.iter().map(|asked| asked.approval.as_str()).collect();
    let hash = |asked: &Asked| (asked.approval.clone(), Value::from(asked.content_hash.as_str()));
    let hashes: Map<String, Value> = asked.iter().map(hash).collect();
    let body = json!({"approval_ids": ids, "action": "approve", "content_hashes": hashes});
    Request::post_as("/api/v1/approvals/batch", reviewer, &body.to_string())
}
