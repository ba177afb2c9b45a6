//! A claimed task that is kept: heartbeats go out in the background, and whoever works learns at once when it is lost.
//!
//! This is the one place where requests are repeated: heartbeats, reports and output, which the hub takes once.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;
use wire::{
    AppendOutput, ClaimTask, ClaimedTask, Code, CompleteExecution, Execution, ExecutionPhase,
    ExecutionPurpose, FailExecution, NextTask, Progress,
};

use crate::{Client, ClientError};

/// How often a hub that did not answer is told again within one interval.
const TRIES_PER_INTERVAL: u32 = 4;
/// The interval fits into the hub's lease at least this often: how long a claim can be counted on without an answer.
const INTERVALS_PER_LEASE: u32 = 2;
/// Between two tries to report to a hub that is away.
const REPORT_PAUSE: Duration = Duration::from_secs(1);

/// The work must stop: what was claimed is no longer this agent's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The hub says so.
    #[error("the hub ended the attempt: {0}")]
    Ended(String),
    /// The hub has said nothing for so long that it may give the work to others.
    #[error("the hub has not answered for {} s", .0.as_secs())]
    Silence(Duration),
}

/// A claimed task. Dropping it stops its heartbeats without a report: the hub then finds out by itself, and its rules
/// say what follows.
#[derive(Debug)]
pub struct Claim {
    client: Client,
    claimed: ClaimedTask,
    is_rollback: bool,
    written: Option<u64>,
    lost: watch::Receiver<Option<Lost>>,
    /// Ends with the claim.
    _heartbeats: JoinSet<()>,
}

/// What follows from a failure.
#[derive(Debug)]
pub enum Failed {
    /// Nothing more.
    Ended(Box<Execution>),
    /// The work is to be undone under the same claim, and reported once more.
    RollBack(Box<Claim>),
}

impl Client {
    /// Claims a task and keeps it. With the same `key` the same claim gets the same answer.
    pub async fn claim(
        &self,
        task: Uuid,
        request: &ClaimTask,
        key: Option<&str>,
    ) -> Result<Claim, ClientError> {
        Ok(Claim::keep(self.clone(), self.claim_task(task, request, key).await?))
    }

    /// Claims the next task that an agent may apply and keeps it; none if there was none in time.
    pub async fn next(
        &self,
        agent: Uuid,
        request: &NextTask,
        key: Option<&str>,
    ) -> Result<Option<Claim>, ClientError> {
        let claimed = self.next_task(agent, request, key).await?;
        Ok(claimed.map(|claimed| Claim::keep(self.clone(), claimed)))
    }
}

impl Claim {
    fn keep(client: Client, claimed: ClaimedTask) -> Self {
        let (tell, lost) = watch::channel(None);
        let pulse = Pulse {
            client: client.clone(),
            execution: claimed.execution_id,
            interval: seconds(claimed.heartbeat_interval_seconds),
            // Its answer was on the way for a moment; the hub waits a little longer than it says.
            heard: Instant::now(),
        };
        let mut heartbeats = JoinSet::new();
        heartbeats.spawn(async move {
            let lost = pulse.beat().await;
            // Nobody listens any more where the claim was dropped.
            tell.send(Some(lost)).ok();
        });
        let is_rollback = claimed.purpose == ExecutionPurpose::Rollback;
        Self { client, claimed, is_rollback, written: Some(0), lost, _heartbeats: heartbeats }
    }

    /// What was claimed: exactly what was approved, and the locks it is done under.
    #[must_use]
    pub fn task(&self) -> &ClaimedTask {
        &self.claimed
    }

    /// Whether the work is to be undone rather than done.
    #[must_use]
    pub fn is_rollback(&self) -> bool {
        self.is_rollback
    }

    /// Why the work must stop; waits as long as it need not.
    pub async fn lost(&self) -> Lost {
        let mut lost = self.lost.clone();
        let told = lost.wait_for(Option::is_some).await.ok().and_then(|lost| lost.clone());
        // The heartbeats end by telling why, or with the claim.
        told.unwrap_or_else(|| Lost::Ended("the claim was dropped".to_owned()))
    }

    /// Works until it is done or must stop.
    ///
    /// # Errors
    /// The claim was lost: `work` was dropped where it stood.
    pub async fn work<T>(&self, work: impl Future<Output = T>) -> Result<T, Lost> {
        tokio::select! {
            biased;
            lost = self.lost() => Err(lost),
            done = work => Ok(done),
        }
    }

    /// Writes the output, also from elsewhere while the work goes on. One at a time: each goes on where the last began.
    #[must_use]
    pub fn writer(&self) -> OutputWriter {
        OutputWriter {
            client: self.client.clone(),
            execution: self.claimed.execution_id,
            written: self.written,
        }
    }

    /// Says that the work is done, or where it was undone, that this is done.
    pub async fn complete(self, output: Option<String>) -> Result<Execution, ClientError> {
        self.report(Report::Done(&CompleteExecution { output })).await
    }

    /// Says that it did not succeed.
    pub async fn fail(mut self, report: &FailExecution) -> Result<Failed, ClientError> {
        let execution = self.report(Report::Failed(report)).await?;
        if execution.phase == ExecutionPhase::RollingBack && !self.is_rollback {
            self.is_rollback = true;
            // The work has written some, nobody here knows how much.
            self.written = None;
            return Ok(Failed::RollBack(Box::new(self)));
        }
        Ok(Failed::Ended(Box::new(execution)))
    }

    /// The name of the report: one that is repeated gets the answer of the first.
    const fn key(&self) -> &'static str {
        if self.is_rollback { "undone" } else { "done" }
    }

    /// Reports until the hub has answered, or the claim is lost.
    async fn report(&self, report: Report<'_>) -> Result<Execution, ClientError> {
        let (id, key) = (self.claimed.execution_id, Some(self.key()));
        loop {
            let answer = match report {
                Report::Done(report) => self.client.complete_execution(id, report, key).await,
                Report::Failed(report) => self.client.fail_execution(id, report, key).await,
            };
            let error = match answer {
                Err(error) if error.passes() => error,
                answer => return answer,
            };
            tokio::select! {
                _ = self.lost() => return Err(error),
                () = tokio::time::sleep(REPORT_PAUSE) => {}
            }
        }
    }
}

/// What came of the work.
#[derive(Clone, Copy)]
enum Report<'a> {
    Done(&'a CompleteExecution),
    Failed(&'a FailExecution),
}

/// Writes the output of an execution.
#[derive(Clone, Debug)]
pub struct OutputWriter {
    client: Client,
    execution: Uuid,
    /// How much there is, where that is known.
    written: Option<u64>,
}

impl OutputWriter {
    /// Appends at most 256 KiB. If the answer is lost it may be said again: it is not written twice.
    pub async fn write(&mut self, text: &str) -> Result<(), ClientError> {
        let more = AppendOutput { text: text.to_owned(), offset: self.written, progress: None };
        match self.client.append_output(self.execution, &more).await {
            Ok(kept) => self.written = Some(kept.output_size),
            // It is there already.
            Err(error) if self.written.is_some() && is_code(&error, Code::Conflict) => self.written = None,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Says how far the work is. It may be said again: only the last counts.
    pub async fn progress(&self, progress: Progress) -> Result<(), ClientError> {
        let more = AppendOutput { progress: Some(progress), ..AppendOutput::default() };
        self.client.append_output(self.execution, &more).await.map(drop)
    }
}

/// The heartbeats of one execution.
struct Pulse {
    client: Client,
    execution: Uuid,
    interval: Duration,
    /// When the last request that the hub answered was sent: its lease began then or later.
    heard: Instant,
}

impl Pulse {
    /// Beats until the claim is lost; why.
    async fn beat(mut self) -> Lost {
        let mut next = self.heard + self.interval;
        loop {
            let end = self.heard + self.interval * INTERVALS_PER_LEASE;
            tokio::time::sleep_until(next.min(end)).await;
            let sent = Instant::now();
            if sent >= end {
                return Lost::Silence(self.heard.elapsed());
            }
            match tokio::time::timeout_at(end, self.client.heartbeat_execution(self.execution)).await {
                Ok(Ok(heard)) if heard.phase == ExecutionPhase::Ended => {
                    return Lost::Ended("it is over".to_owned());
                }
                Ok(Ok(heard)) => {
                    self.interval = seconds(heard.heartbeat_interval_seconds);
                    self.heard = sent;
                    next = sent + self.interval;
                }
                Ok(Err(error)) if !error.passes() => return Lost::Ended(error.to_string()),
                Ok(Err(_)) | Err(_) => next = sent + self.interval / TRIES_PER_INTERVAL,
            }
        }
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.max(1).into())
}

fn is_code(error: &ClientError, code: Code) -> bool {
    matches!(error, ClientError::Problem(problem) if problem.known_code() == Some(code))
}
