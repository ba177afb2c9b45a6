//! A task from its draft to its Grant, over HTTP.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::team::{Bearer, Team, call, text};
use crate::closed_loop::Worker;
use crate::http::{Connection, Request, Target};

/// Units of work in one cycle: create, submit, and two votes; the Grant comes with the last.
pub(super) const UNITS: f64 = 4.0;

/// One author and both reviewers, on one connection.
pub(super) struct Cycle {
    connection: Connection,
    author: Bearer,
    reviewers: [Bearer; 2],
}

/// A request to one of the reviewers.
pub(super) struct Asked {
    pub(super) approval: String,
    pub(super) content_hash: String,
}

impl Asked {
    /// The reviewer's yes.
    pub(super) fn yes(&self, reviewer: &Bearer) -> Request {
        let body = json!({"content_hash": self.content_hash}).to_string();
        Request::post_as(&format!("/api/v1/approvals/{}/approve", self.approval), reviewer, &body)
    }
}

impl Cycle {
    /// As many as there are authors.
    pub(super) async fn all(target: Target, team: &Team) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for author in &team.authors {
            let connection = Connection::open(target.address).await?;
            all.push(Self { connection, author: author.clone(), reviewers: team.reviewers.clone() });
        }
        Ok(all)
    }

    /// Writes a draft and hands it in; the requests to the reviewers, in their order.
    pub(super) async fn proposed(&mut self) -> Result<[Asked; 2]> {
        let body = json!({"config": {"type": "infrastructure", "description": "Add an index",
            "resources": [{"type": "database", "id": "prod-db-01"}], "parameters": {"table": "orders"}}});
        let create = Request::post_as("/api/v1/tasks", &self.author, &body.to_string());
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

    async fn answered(&mut self, asked: &[Asked; 2]) -> Result<()> {
        for (asked, reviewer) in asked.iter().zip(&self.reviewers) {
            self.connection.ask(&asked.yes(reviewer)).await?;
        }
        Ok(())
    }
}

fn asked(request: &Value) -> Result<Asked> {
    Ok(Asked { approval: text(request, "id")?, content_hash: text(request, "content_hash")? })
}

impl Worker for Cycle {
    async fn once(&mut self) -> Result<()> {
        let asked = self.proposed().await?;
        self.answered(&asked).await
    }
}
