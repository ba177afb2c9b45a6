//! A task from its draft to its end, over HTTP, against the part of that which ends with the Grant.

use anyhow::Result;
use serde_json::json;

use crate::Bench;
use crate::closed_loop::{self, Run, Worker};
use crate::figures::{Bar, Row, ratio};
use crate::homes::Homes;
use crate::http::{Connection, Request};
use crate::programs::Program;
use crate::review::cycle::{Cycle, touching};
use crate::review::fill::Kind;
use crate::review::staffed;
use crate::review::team::{Bearer, Team, call, text};
use crate::turns::{Side, taken};

const OF_REVIEW_MIN: f64 = 0.5;
/// Finished tasks that came before.
const BEFORE: u64 = 1_000;

/// An agent.
#[derive(Clone)]
pub(super) struct Agent {
    key: Bearer,
    pub(super) id: String,
}

impl Agent {
    pub(super) fn all(team: &Team) -> impl Iterator<Item = Self> + '_ {
        team.agents.iter().map(|(key, id)| Self { key: key.clone(), id: id.clone() })
    }

    fn claim(&self, task: &str) -> Request {
        let body = json!({"agent_id": self.id}).to_string();
        Request::post_as(&format!("/api/v1/tasks/{task}/claim"), &self.key, &body)
    }

    /// Asks for work, and waits for it this long.
    pub(super) fn next(&self, wait_seconds: u32) -> Request {
        let body = json!({"wait_seconds": wait_seconds}).to_string();
        Request::post_as(&format!("/api/v1/agents/{}/next", self.id), &self.key, &body)
    }

    /// Says that what was claimed is done.
    pub(super) async fn complete(&self, connection: &mut Connection, execution: &str) -> Result<()> {
        let path = format!("/api/v1/executions/{execution}/complete");
        connection.ask(&Request::post_as(&path, &self.key, "{}")).await.map(drop)
    }
}

/// A cycle of review with an agent that does what was approved.
struct Whole {
    review: Cycle,
    agent: Agent,
}

impl Worker for Whole {
    async fn once(&mut self) -> Result<()> {
        let asked = self.review.proposed().await?;
        self.review.answered(&asked).await?;
        let connection = &mut self.review.connection;
        let claimed = call(connection, &self.agent.claim(&asked[0].task)).await?;
        self.agent.complete(connection, &text(&claimed, "execution_id")?).await
    }
}

/// Cycles that are not in each other's way.
async fn reviews(hub: &Program, team: &Team) -> Result<Vec<Cycle>> {
    let all = Cycle::all(hub.target, team).await?.into_iter().enumerate();
    Ok(all
        .map(|(number, cycle)| cycle.proposing(touching(&format!("prod-db-{number}"), "exclusive")))
        .collect())
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    // The cycles that end with a Grant leave it unused, so they have a hub of their own.
    let (reviewed, reviewers) = staffed(bench, homes, BEFORE, Kind::Finished)?;
    let (applied, appliers) = staffed(bench, homes, BEFORE, Kind::Finished)?;
    let (reviewing, applying) = (Program::at(&reviewed, bench)?, Program::at(&applied, bench)?);
    let agents = appliers.agents.len();
    let sides = [
        Side::new("SQLite, review cycle", |turn| -> Result<Run> {
            bench.runtime.block_on(async {
                closed_loop::run(reviews(&reviewing, &reviewers).await?, turn, reviewing.target.pid).await
            })
        }),
        Side::new(format!("SQLite, whole cycle, {agents} agents"), |turn| -> Result<Run> {
            bench.runtime.block_on(async {
                let reviews = reviews(&applying, &appliers).await?.into_iter();
                let whole = reviews.zip(Agent::all(&appliers)).map(|(review, agent)| Whole { review, agent });
                closed_loop::run(whole, turn, applying.target.pid).await
            })
        }),
    ];
    let [review, whole] = taken(bench, sides)?;
    let of_review = ratio(&whole.values(|run| run.per_second), &review.values(|run| run.per_second));
    let mut table = vec![
        Row::new("SQLite, whole cycles/s (create to complete) ÷ review cycles/s", of_review, 2)
            .with_bar(Bar::AtLeast(OF_REVIEW_MIN)),
    ];
    table.extend(review.rows_of("cycle"));
    table.extend(whole.rows_of("cycle"));
    Ok(table)
}
