//! One vote on a request that waits, against the smallest durable write there is: an agent's heartbeat.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

use super::cycle::{Asked, Cycle};
use super::team::{Bearer, Team};
use crate::Bench;
use crate::closed_loop;
use crate::figures::{Bar, Row, ratio};
use crate::homes::Home;
use crate::http::{Connection, Request, load};
use crate::programs::Program;
use crate::turns::{Side, taken};

const OF_HEARTBEAT_MAX: f64 = 4.0;
/// More than are answered in all turns together.
const REQUESTS_PER_SECOND: f64 = 6_000.0;

type Waiting = Arc<Mutex<VecDeque<Request>>>;

struct Voter {
    connection: Connection,
    waiting: Waiting,
}

impl closed_loop::Worker for Voter {
    async fn once(&mut self) -> Result<()> {
        let vote = self.waiting.lock().ok().and_then(|mut waiting| waiting.pop_front());
        self.connection.ask(&vote.context("every request was answered; make more")?).await.map(drop)
    }
}

pub(super) fn measure(bench: &Bench, home: &Home, team: &Team) -> Result<Vec<Row>> {
    let hub = Program::at(home, bench)?;
    // A turn is a third of a round and begins with half a second that does not count.
    let seconds = 3.0 * (bench.duration.as_secs_f64() + 1.5);
    let count = (seconds * REQUESTS_PER_SECOND / 2.0) as usize;
    let waiting = bench.runtime.block_on(proposed(&hub, team, count))?;
    let connections = team.authors.len();
    let beats = Side::new(format!("heartbeat, {connections} connections"), |turn| {
        let who = team.agents.iter().map(|(key, id)| {
            let beat = Request::post_as(&format!("/api/v1/agents/{id}/heartbeat"), key, "{}");
            move || beat.clone()
        });
        bench.runtime.block_on(load(hub.target, who.collect::<Vec<_>>(), turn))
    });
    let votes = Side::new(format!("approve, {connections} connections"), |turn| {
        bench.runtime.block_on(async {
            let mut voters = Vec::new();
            for _ in 0..connections {
                let connection = Connection::open(hub.target.address).await?;
                voters.push(Voter { connection, waiting: Arc::clone(&waiting) });
            }
            closed_loop::run(voters, turn, hub.target.pid).await
        })
    });
    let [beats, votes] = taken(bench, [beats, votes])?;
    let of_beat = ratio(&votes.values(|run| run.p99_micros), &beats.values(|run| run.p99_micros));
    let mut table = vec![
        Row::new("SQLite, approve ÷ heartbeat (one durable row): p99", of_beat, 2)
            .with_bar(Bar::AtMost(OF_HEARTBEAT_MAX)),
    ];
    table.extend(beats.rows());
    table.extend(votes.rows());
    Ok(table)
}

/// So many tasks, handed in; the votes on them, first those of one reviewer, then those of the other.
async fn proposed(hub: &Program, team: &Team, count: usize) -> Result<Waiting> {
    let mut making = JoinSet::new();
    for mut cycle in Cycle::all(hub.target, team).await? {
        let share = count.div_ceil(team.authors.len()).min(900);
        making.spawn(async move {
            let mut made: Vec<[Asked; 2]> = Vec::new();
            for _ in 0..share {
                made.push(cycle.proposed().await?);
            }
            anyhow::Ok(made)
        });
    }
    let mut all = Vec::new();
    while let Some(made) = making.join_next().await {
        all.extend(made??);
    }
    // All are as risky as each other, so the queue is in the order in which they were handed in, which is that of the ids.
    all.sort_unstable_by(|one, other| one[0].approval.cmp(&other[0].approval));
    crate::progress(&format!("  {} tasks wait for two votes each", all.len()));
    let vote = |asked: &Asked, reviewer: &Bearer| asked.yes(reviewer);
    let firsts = all.iter().map(|asked| vote(&asked[0], &team.reviewers[0]));
    let seconds = all.iter().map(|asked| vote(&asked[1], &team.reviewers[1]));
    Ok(Arc::new(Mutex::new(firsts.chain(seconds).collect())))
}
