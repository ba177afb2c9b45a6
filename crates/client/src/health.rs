//! Whether the hub can work.

use reqwest::Method;
use wire::{Check, Code, Problem, Ready};

use crate::{Client, ClientError};

impl Client {
    /// `Ok` when the hub is alive.
    pub async fn healthz(&self) -> Result<(), ClientError> {
        self.send(self.request(Method::GET, "/healthz")).await.map(drop)
    }

    /// Whether the hub should get requests. "Not ready" is an answer here, not an error.
    pub async fn readyz(&self) -> Result<Ready, ClientError> {
        match self.answer(self.request(Method::GET, "/readyz")).await {
            Err(ClientError::Problem(problem)) if problem.known_code() == Some(Code::NotReady) => {
                Ok(Ready { ready: false, checks: checks(&problem) })
            }
            answer => answer,
        }
    }
}

/// The checks a problem carries; none for callers who may not see them.
fn checks(problem: &Problem) -> Vec<Check> {
    problem
        .extra
        .get("checks")
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default()
}
