//! From the last vote to the answer that an agent waits for, against the smallest durable write there is: an agent's
//! heartbeat.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::cycle::Agent;
use crate::Bench;
use crate::closed_loop::{self, Run, Worker};
use crate::figures::{Bar, Row, ratio};
use crate::homes::Homes;
use crate::http::{Connection, Request, load};
use crate::programs::Program;
use crate::review::cycle::{Cycle, touching};
use crate::review::fill::Kind;
use crate::review::staffed;
use crate::review::team::{Bearer, Team, text};
use crate::turns::{Side, taken};

const OF_HEARTBEAT_MAX: f64 = 4.0;
/// Agents that wait, each for a task of its own: one, with nothing else to do for the hub, and few, because what comes before
/// a vote is work for the hub too.
const AGENTS: [usize; 2] = [1, 8];
const BEFORE: u64 = 1_000;
const WAIT_SECONDS: u32 = 30;
/// Until an agent that has asked waits.
const HEAD_START: Duration = Duration::from_millis(10);

/// An agent that waits, and those who have something for it.
struct Waiter {
    review: Cycle,
    reviewers: [Bearer; 2],
    agent: Agent,
    connection: Connection,
}

impl Worker for Waiter {
    async fn once(&mut self) -> Result<()> {
        self.timed().await.map(drop)
    }

    async fn timed(&mut self) -> Result<Duration> {
        let [first, last] = self.review.proposed().await?;
        self.review.connection.ask(&first.yes(&self.reviewers[0])).await?;
        let (ask, vote) = (self.agent.next(WAIT_SECONDS), last.yes(&self.reviewers[1]));
        let told = async {
            let answer = self.connection.ask(&ask).await?;
            let told_at = Instant::now();
            let claimed = serde_json::from_slice(answer)?;
            ensure!(
                text(&claimed, "task_id")? == last.task,
                "an agent was told of another task than its own"
            );
            anyhow::Ok((text(&claimed, "execution_id")?, told_at))
        };
        let decided = async {
            tokio::time::sleep(HEAD_START).await;
            let voted_at = Instant::now();
            self.review.connection.ask(&vote).await?;
            anyhow::Ok(voted_at)
        };
        let ((execution, told_at), voted_at) = tokio::try_join!(told, decided)?;
        self.agent.complete(&mut self.connection, &execution).await?;
        Ok(told_at.saturating_duration_since(voted_at))
    }
}

async fn waiters(hub: &Program, team: &Team, count: usize) -> Result<Vec<Waiter>> {
    let mut waiters = Vec::new();
    let cycles = Cycle::all(hub.target, team).await?.into_iter().zip(Agent::all(team)).take(count);
    for (number, (review, agent)) in cycles.enumerate() {
        let mut task = touching(&format!("prod-db-{number}"), "exclusive");
        task["assignee"] = json!(agent.id);
        let connection = Connection::open(hub.target.address).await?;
        let reviewers = team.reviewers.clone();
        waiters.push(Waiter { review: review.proposing(task), reviewers, agent, connection });
    }
    Ok(waiters)
}

/// Does what waits for whoever comes: an agent that finds it would be told of it before its own task is approved.
async fn clear(hub: &Program, team: &Team) -> Result<()> {
    let mut connection = Connection::open(hub.target.address).await?;
    for agent in Agent::all(team).take(1) {
        loop {
            let answer = connection.ask(&agent.next(0)).await?;
            if answer.is_empty() {
                break;
            }
            let execution = text(&serde_json::from_slice(answer)?, "execution_id")?;
            agent.complete(&mut connection, &execution).await?;
        }
    }
    Ok(())
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let (home, team) = staffed(bench, homes, BEFORE, Kind::Finished)?;
    let hub = Program::at(&home, bench)?;
    bench.runtime.block_on(clear(&hub, &team))?;
    let mut table = Vec::new();
    for count in AGENTS {
        table.extend(with(bench, (&hub, &team), count)?);
    }
    Ok(table)
}

/// With so many agents, each of which waits for a task of its own while the others do the same.
fn with(bench: &Bench, (hub, team): (&Program, &Team), count: usize) -> Result<Vec<Row>> {
    let sides = [
        Side::new(format!("heartbeat, connections: {count}"), |turn| -> Result<Run> {
            let who = team.agents.iter().take(count).map(|(key, id)| {
                let beat = Request::post_as(&format!("/api/v1/agents/{id}/heartbeat"), key, "{}");
                move || beat.clone()
            });
            bench.runtime.block_on(load(hub.target, who.collect::<Vec<_>>(), turn))
        }),
        Side::new(format!("approval to answer, agents that wait: {count}"), |turn| {
            bench.runtime.block_on(async {
                closed_loop::run(waiters(hub, team, count).await?, turn, hub.target.pid).await
            })
        }),
    ];
    let [beats, answers] = taken(bench, sides)?;
    let of_beat = ratio(&answers.values(|run| run.p99_micros), &beats.values(|run| run.p99_micros));
    let name = format!(
        "SQLite, approval to the answer of a waiting agent ÷ heartbeat (one durable row), {count} at a time: p99"
    );
    let mut table = vec![Row::new(name, of_beat, 2).with_bar(Bar::AtMost(OF_HEARTBEAT_MAX))];
    table.extend(beats.rows());
    table.extend(answers.rows_of("task"));
    Ok(table)
}
