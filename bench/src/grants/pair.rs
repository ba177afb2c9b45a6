//! A grant that is made and used at once.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::closed_loop::Worker;
use crate::http::{Connection, Request, Target};

/// Units of work in one pair.
pub(super) const UNITS: f64 = 2.0;
pub(super) const CREATE: &str = "/api/ir/approvals";
pub(super) const CONSUME: &str = "/api/ir/approvals/consume";
const TENANT: &str = "default";
pub(super) const HASH: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// The header of a key.
pub(super) fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

/// One who makes grants and uses them.
pub(super) struct Pair {
    connection: Connection,
    headers: String,
    create: Request,
}

impl Pair {
    pub(super) async fn many(target: Target, headers: &str, count: usize) -> Result<Vec<Self>> {
        let body = json!({"tenant_id": TENANT, "ir_hash": HASH, "created_by": "bench"}).to_string();
        let create = Request::post_as(CREATE, headers, &body);
        let mut many = Vec::with_capacity(count);
        for _ in 0..count {
            let connection = Connection::open(target.address).await?;
            many.push(Self { connection, headers: headers.to_owned(), create: create.clone() });
        }
        Ok(many)
    }
}

impl Worker for Pair {
    async fn once(&mut self) -> Result<()> {
        let made: Value = serde_json::from_slice(self.connection.ask(&self.create).await?)?;
        let token = made["token"].as_str().context("a grant without a token")?;
        let body = json!({"token": token, "tenant_id": TENANT, "ir_hash": HASH, "consumed_by": "bench"});
        let consume = Request::post_as(CONSUME, &self.headers, &body.to_string());
        self.connection.ask(&consume).await.map(drop)
    }
}
