//! A task from its draft to its Grant, over HTTP.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::team::{Bearer, Team, call, text};
use crate::closed_loop::Worker;
use crate::http::{Connection, Request, Target};

/// Units of work in one cycle: create, submit, and two votes; the Grant comes with the last.
pub(crate) const UNITS: f64 = 4.0;

/// One author and both reviewers, on one connection.
pub(crate) struct Cycle {
    pub(crate) connection: Connection,
    author: Bearer,
    reviewers: [Bearer; 2],
    /// What is proposed.
    task: Value,
}

/// A request to one of the reviewers.
pub(crate) struct Asked {
    pub(crate) task: String,
    pub(crate) approval: String,
    pub(crate) content_hash: String,
}

impl Asked {
    /// The reviewer's yes.
    pub(crate) fn yes(&self, reviewer: &Bearer) -> Request {
        let body = json!({"content_hash": self.content_hash}).to_string();
        Request::post_as(&format!("/api/v1/approvals/{}/approve", self.approval), reviewer, &body)
    }
}

impl Cycle {
    /// As many as there are authors.
    pub(crate) async fn all(target: Target, team: &Team) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for author in &team.authors {
            let connection = Connection::open(target.address).await?;
            let (author, reviewers) = (author.clone(), team.reviewers.clone());
            all.push(Self { connection, author, reviewers, task: touching("prod-db-01", "exclusive") });
        }
        Ok(all)
    }

    /// The same, proposing this.
    pub(crate) fn proposing(self, task: Value) -> Self {
        Self { task, ..self }
    }

    /// Writes a draft and hands it in; the requests to the reviewers, in their order.
    pub(crate) async fn proposed(&mut self) -> Result<[Asked; 2]> {
        let create = Request::post_as("/api/v1/tasks", &self.author, &self.task.to_string());
        let task = text(&call(&mut self.connection, &create).await?, "id")?;
        let submit = Request::post_as(&format!("/api/v1/tasks/{task}/submit"), &self.author, "");
        let submitted = call(&mut self.connection, &submit).await?;
        ensure!(submitted["state"] == "REVIEWING", "not under review: {submitted}");
        let ask = Request::get(&format!("/api/v1/tasks/{task}/approvals"), &self.author);
        let requests = call(&mut self.connection, &ask).await?;
        let to = |name: &str| {
            let found =
                requests["items"].as_array().into_iter().flatten().find(|item| item["reviewer_name"] == name);
            asked(found.with_context(|| format!("{name} is not asked: {requests}"))?)
        };
        Ok([to("rob")?, to("eve")?])
    }

    /// Both reviewers say yes.
    pub(crate) async fn answered(&mut self, asked: &[Asked; 2]) -> Result<()> {
        for (asked, reviewer) in asked.iter().zip(&self.reviewers) {
            self.connection.ask(&asked.yes(reviewer)).await?;
        }
        Ok(())
    }
}

/// A task that changes one database.
pub(crate) fn touching(database: &str, mode: &str) -> Value {
    json!({"config": {"type": "infrastructure", "description": "Add an index",
        "resources": [{"type": "database", "id": database, "mode": mode}], "parameters": {"table": "orders"}}})
}

fn asked(request: &Value) -> Result<Asked> {
    let text = |name| text(request, name);
    Ok(Asked { task: text("task_id")?, approval: text("id")?, content_hash: text("content_hash")? })
}

impl Worker for Cycle {
    async fn once(&mut self) -> Result<()> {
        let asked = self.proposed().await?;
        self.answered(&asked).await
    }
}
