//! Executions: claimed, kept alive, reported on, looked at.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use uuid::Uuid;
use wire::{
    AppendOutput, AppendedOutput, ClaimTask, ClaimedTask, CompleteExecution, Execution, ExecutionHeard,
    FailExecution, GiveReason, NextTask, Output, OutputQuery, Page, PageQuery,
};

use crate::transport::ANSWER_TIMEOUT;
use crate::{Client, ClientError};

/// The name of a request that may be sent again when its answer was lost.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

impl Client {
    /// Claims a task. With the same `key` the same claim gets the same answer.
    pub async fn claim_task(
        &self,
        task: Uuid,
        request: &ClaimTask,
        key: Option<&str>,
    ) -> Result<ClaimedTask, ClientError> {
        let asked = self.api(Method::POST, &format!("/tasks/{task}/claim")).json(request);
        self.answer(waiting(asked, request.wait_seconds, key)).await
    }

    /// Claims the next task that an agent may apply; none if there was none in time.
    pub async fn next_task(
        &self,
        agent: Uuid,
        request: &NextTask,
        key: Option<&str>,
    ) -> Result<Option<ClaimedTask>, ClientError> {
        let asked = self.api(Method::POST, &format!("/agents/{agent}/next")).json(request);
        let response = self.send(waiting(asked, request.wait_seconds, key)).await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(None),
            _ => self.read(response).await.map(Some),
        }
    }

    /// Says that the agent of an attempt is alive.
    pub async fn heartbeat_execution(&self, id: Uuid) -> Result<ExecutionHeard, ClientError> {
        self.answer(self.api(Method::POST, &format!("/executions/{id}/heartbeat"))).await
    }

    /// Adds to the output of an attempt.
    pub async fn append_output(
        &self,
        id: Uuid,
        request: &AppendOutput,
    ) -> Result<AppendedOutput, ClientError> {
        self.answer(self.api(Method::POST, &format!("/executions/{id}/output")).json(request)).await
    }

    /// A part of the output of an attempt.
    pub async fn output(&self, id: Uuid, query: &OutputQuery) -> Result<Output, ClientError> {
        self.find(&format!("/executions/{id}/output"), query).await
    }

    /// Says that the work, or undoing it, is done. With the same `key` the same report gets the same answer.
    pub async fn complete_execution(
        &self,
        id: Uuid,
        request: &CompleteExecution,
        key: Option<&str>,
    ) -> Result<Execution, ClientError> {
        let said = self.api(Method::POST, &format!("/executions/{id}/complete")).json(request);
        self.answer(keyed(said, key)).await
    }

    /// Says that the work, or undoing it, did not succeed. With the same `key` the same report gets the same answer.
    pub async fn fail_execution(
        &self,
        id: Uuid,
        request: &FailExecution,
        key: Option<&str>,
    ) -> Result<Execution, ClientError> {
        let said = self.api(Method::POST, &format!("/executions/{id}/fail")).json(request);
        self.answer(keyed(said, key)).await
    }

    /// Has an attempt undone that nobody has undone.
    pub async fn roll_back_execution(
        &self,
        id: Uuid,
        request: &GiveReason,
    ) -> Result<Execution, ClientError> {
        self.answer(self.api(Method::POST, &format!("/executions/{id}/rollback")).json(request)).await
    }

    /// One execution.
    pub async fn execution(&self, id: Uuid) -> Result<Execution, ClientError> {
        self.get(&format!("/executions/{id}")).await
    }

    /// One page of the executions of a task, newest first.
    pub async fn task_executions(
        &self,
        task: Uuid,
        page: &PageQuery,
    ) -> Result<Page<Execution>, ClientError> {
        self.find(&format!("/tasks/{task}/executions"), page).await
    }
}

fn keyed(request: RequestBuilder, key: Option<&str>) -> RequestBuilder {
    match key {
        Some(key) => request.header(IDEMPOTENCY_KEY, key),
        None => request,
    }
}

fn waiting(request: RequestBuilder, wait_seconds: Option<u32>, key: Option<&str>) -> RequestBuilder {
    let wait = Duration::from_secs(wait_seconds.unwrap_or(0).into());
    keyed(request.timeout(ANSWER_TIMEOUT + wait), key)
}
