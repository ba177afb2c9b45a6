//! Five hundred answers in one request, against as many requests of one connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use crate::Bench;
use crate::closed_loop::{self, Run};
use crate::figures::{Bar, Figure, Row, ratio};
use crate::homes::Homes;
use crate::http::{Connection, Request};
use crate::programs::Program;
use crate::review::cycle::{Asked, Cycle};
use crate::review::team::{Bearer, Team};
use crate::turns::{Side, taken};

const BATCH: usize = 500;
const OF_SINGLE_MIN: f64 = 5.0;
/// Nobody may have more than a thousand tasks on their way.
const TASKS_PER_AUTHOR: usize = 900;
const AUTHORS: usize = 48;

type Waiting = Arc<Mutex<VecDeque<Request>>>;

struct Voter {
    connection: Connection,
    waiting: Waiting,
}

impl closed_loop::Worker for Voter {
    async fn once(&mut self) -> Result<()> {
        let next = self.waiting.lock().ok().and_then(|mut waiting| waiting.pop_front());
        self.connection.ask(&next.context("every request was answered; make more")?).await.map(drop)
    }
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let home = homes.founded()?;
    let hub = Program::at(&home, bench)?;
    let (many, single) = bench.runtime.block_on(async {
        let team = Team::form(hub.target.address, &home.admin_key()?, AUTHORS).await?;
        let mut all = Vec::new();
        for mut cycle in Cycle::all(hub.target, &team).await? {
            for _ in 0..TASKS_PER_AUTHOR {
                all.push(cycle.proposed().await?);
            }
        }
        crate::progress(&format!("  {} tasks wait for two votes each", all.len()));
        let firsts: Vec<&Asked> = all.iter().map(|asked| &asked[0]).collect();
        let batches = firsts.chunks(BATCH).map(|some| batch(some, &team.reviewers[0]));
        let many: Waiting = Arc::new(Mutex::new(batches.collect()));
        let seconds = all.iter().map(|asked| asked[1].yes(&team.reviewers[1]));
        anyhow::Ok((many, Arc::new(Mutex::new(seconds.collect::<VecDeque<_>>()))))
    })?;
    let turn = |waiting: &Waiting, turn| -> Result<Run> {
        bench.runtime.block_on(async {
            let connection = Connection::open(hub.target.address).await?;
            let voter = Voter { connection, waiting: Arc::clone(waiting) };
            closed_loop::run([voter], turn, hub.target.pid).await
        })
    };
    let sides = [
        Side::new("SQLite, batch of 500 votes, one connection", |time| turn(&many, time)),
        Side::new("SQLite, single votes, one connection", |time| turn(&single, time)),
    ];
    let [many, single] = taken(bench, sides)?;
    let votes: Vec<f64> = many.values(|run| run.per_second * BATCH as f64);
    let mut table = vec![
        Row::new("SQLite, votes/s in batches of 500", Figure::of(votes.clone()), 0),
        Row::new("votes/s in batches ÷ one by one", ratio(&votes, &single.values(|run| run.per_second)), 2)
            .with_bar(Bar::AtLeast(OF_SINGLE_MIN)),
    ];
    table.extend(many.rows());
    table.extend(single.rows());
    Ok(table)
}

fn batch(some: &[&Asked], reviewer: &Bearer) -> Request {
    let hashes: Map<String, Value> =
        some.iter().map(|asked| (asked.approval.clone(), asked.content_hash.clone().into())).collect();
    let ids: Vec<&str> = some.iter().map(|asked| asked.approval.as_str()).collect();
    let body = json!({"approval_ids": ids, "action": "approve", "content_hashes": hashes});
    Request::post_as("/api/v1/approvals/batch", reviewer, &body.to_string())
}
