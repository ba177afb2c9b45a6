//! One vote on a request that waits, against the smallest durable write there is: an agent's heartbeat.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

use super::cycle::{Asked, Cycle};
use super::team::Team;
use crate::Bench;
use crate::closed_loop;
use crate::figures::{Bar, Row, ratio};
use crate::homes::Home;
use crate::http::{Connection, Request, load};
use crate::programs::Program;
use crate::turns::{Measured, Side, taken};

const OF_HEARTBEAT_MAX: f64 = 4.0;
/// More than are answered in all turns together.
const REQUESTS_PER_SECOND: f64 = 6_000.0;

/// As many as vote at the same moment where many people review.
const FEW: usize = 8;
/// Their turns are shorter by this: there are only so many tasks that may wait at once.
const SHORTER: u32 = 2;
/// How many tasks the first reviewer is ahead of the second. More than are answered at once.
const AHEAD: usize = 500;

/// An author may have ten more that wait.
const TASKS_PER_AUTHOR_MAX: usize = 990;

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
    let seconds = |share: f64| 3.0 * (bench.duration.as_secs_f64() * share + 1.5);
    let count = ((seconds(1.0) + seconds(1.0 / f64::from(SHORTER))) * REQUESTS_PER_SECOND / 2.0) as usize;
    let waiting = bench.runtime.block_on(proposed(&hub, team, count))?;
    let [few, many] = [FEW, team.authors.len()];
    let beats = |connections: usize, shorter: u32| {
        let target = hub.target;
        Side::new(format!("heartbeat, {connections} connections"), move |turn| {
            let who = team.agents.iter().take(connections).map(|(key, id)| {
                let beat = Request::post_as(&format!("/api/v1/agents/{id}/heartbeat"), key, "{}");
                move || beat.clone()
            });
            bench.runtime.block_on(load(target, who.collect::<Vec<_>>(), turn / shorter))
        })
    };
    let votes = |connections: usize, shorter: u32| {
        let (target, waiting) = (hub.target, Arc::clone(&waiting));
        Side::new(format!("approve, {connections} connections"), move |turn| {
            bench.runtime.block_on(async {
                let mut voters = Vec::new();
                for _ in 0..connections {
                    let connection = Connection::open(target.address).await?;
                    voters.push(Voter { connection, waiting: Arc::clone(&waiting) });
                }
                closed_loop::run(voters, turn / shorter, target.pid).await
            })
        })
    };
    let sides = [beats(few, SHORTER), votes(few, SHORTER), beats(many, 1), votes(many, 1)];
    let measured: [Measured; 4] = taken(bench, sides)?;
    let [few_beats, few_votes, many_beats, many_votes] = &measured;
    let of_beat = |connections: usize, votes: &Measured, beats: &Measured| {
        let ratio = ratio(&votes.values(|run| run.p99_micros), &beats.values(|run| run.p99_micros));
        let name = format!("SQLite, approve ÷ heartbeat (one durable row), {connections} at once: p99");
        Row::new(name, ratio, 2).with_bar(Bar::AtMost(OF_HEARTBEAT_MAX))
    };
    let mut table = vec![of_beat(few, few_votes, few_beats), of_beat(many, many_votes, many_beats)];
    table.extend(measured.iter().flat_map(Measured::rows));
    Ok(table)
}

/// So many tasks, handed in; the votes on them, first those of one reviewer, then those of the other.
async fn proposed(hub: &Program, team: &Team, count: usize) -> Result<Waiting> {
    let mut making = JoinSet::new();
    for mut cycle in Cycle::all(hub.target, team).await? {
        let share = count.div_ceil(team.authors.len()).min(TASKS_PER_AUTHOR_MAX);
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
    let [one, other] = &team.reviewers;
    let mut votes = VecDeque::new();
    // Both go through their queue at the same time, one of them some tasks ahead: as many votes end a review as do not.
    for (place, asked) in all.iter().enumerate() {
        votes.push_back(asked[0].yes(one));
        votes.extend(place.checked_sub(AHEAD).map(|behind| all[behind][1].yes(other)));
    }
    Ok(Arc::new(Mutex::new(votes)))
}
