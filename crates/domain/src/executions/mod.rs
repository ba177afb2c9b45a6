//! Executions: attempts to apply what was approved, and to undo it, from their start to their end.
//!
//! [`crate::gate`] begins them; [`fn@settle`] says what follows from a report, or from silence. `executor` is what differs
//! between the kinds of action.

mod executor;
mod settle;
#[cfg(test)]
mod tests;
mod undone;
mod words;

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::accounts::Account;
use crate::blobs::Blob;
use crate::grants::Grant;
use crate::organizations::Organization;
use crate::tasks::{Mode, RollbackStrategy, Task, TaskState};
use crate::text::{self, BadText};
use crate::{Id, Timestamp};

pub use executor::{AGENT_LOST, Applicant, ClaimRefusal, Executor, executor};
pub use settle::{FORCE_RELEASED, LOCK_LOST, Matter, Report, Settled, TIMEOUT, settle};
pub use undone::{NotUndone, ROLLBACK_ERROR, ROLLBACK_ERROR_DETAILS};
pub use words::{ExecutionResult, Outcome, Phase, Purpose, Rollback};

/// How much output one report may append.
pub const APPEND_BYTES_MAX: usize = 256 * 1024;
/// How much output an attempt may have.
pub const OUTPUT_BYTES_MAX: i64 = 16 * 1024 * 1024;
/// How much of its end is shown with the attempt itself.
pub const TAIL_BYTES_MAX: usize = 4 * 1024;
/// How large what an agent says about a failure may be, as JSON.
pub const DETAILS_BYTES_MAX: usize = 64 * 1024;

/// How long what an agent says it is doing may be.
pub const PROGRESS_CHARS_MAX: usize = 200;

/// How far an agent says it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Of 100.
    pub percent: Option<u8>,
    /// What it is doing.
    pub message: Option<String>,
}

/// A lock that an attempt was begun under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockTaken {
    /// `task:<id>` or `resource:<type>:<id>`.
    pub key: String,
    /// The lock.
    pub lock_id: Uuid,
    /// Its fencing token.
    pub fence: i64,
    /// Alone or with others.
    pub mode: Mode,
}

/// One attempt to apply a task, or to undo one.
#[derive(Clone, PartialEq, Debug)]
pub struct Execution {
    /// Its id; also the owner of its locks.
    pub id: Id<Execution>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Of which task.
    pub task_id: Id<Task>,
    /// Taken from which Grant.
    pub grant_id: Id<Grant>,
    /// What is done.
    pub purpose: Purpose,
    /// Which attempt it is, from 1; of a rollback, which one it undoes.
    pub attempt: u32,
    /// Who works.
    pub agent_id: Id<Account>,
    /// How the work ended.
    pub result: Option<ExecutionResult>,
    /// Whether that is known.
    pub outcome: Option<Outcome>,
    /// What became of undoing it.
    pub rollback: Rollback,
    /// What went wrong.
    pub error: Option<String>,
    /// What else its agent said about that; and why what it began was not undone.
    pub error_details: Option<Value>,
    /// What it was begun under.
    pub locks: Vec<LockTaken>,
    /// When its agent was last heard.
    pub last_heartbeat: Timestamp,
    /// Without a heartbeat its agent counts as lost soon after this.
    pub lease_until: Timestamp,
    /// When its time is over.
    pub deadline_at: Timestamp,
    /// Where its output is kept.
    pub output_id: Option<Id<Blob>>,
    /// How many bytes that has.
    pub output_size: i64,
    /// The end of it.
    pub output_tail: String,
    /// How far its agent says it is, of 100.
    pub progress_percent: Option<i64>,
    /// What its agent says it is doing.
    pub progress_message: Option<String>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What an attempt begins with.
#[derive(Clone, PartialEq, Debug)]
pub struct Beginning {
    /// Its id.
    pub id: Id<Execution>,
    /// What is done.
    pub purpose: Purpose,
    /// Who works.
    pub agent_id: Id<Account>,
    /// Under which locks.
    pub locks: Vec<LockTaken>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long its agent may be silent.
    pub lease: Duration,
    /// When.
    pub now: Timestamp,
}

/// The attempt is over.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the attempt has ended: {}", error.as_deref().unwrap_or(result))]
pub struct AttemptEnded {
    /// How.
    pub result: &'static str,
    /// Whether that is known.
    pub outcome: Option<&'static str>,
    /// Why.
    pub error: Option<String>,
}

/// Why nothing is undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RollbackRefusal {
    /// The task has not failed.
    #[error("only what has failed is undone; the task is {}", .0.as_str())]
    NotFailed(TaskState),
    /// It is no attempt, or not the last.
    #[error("only the last attempt of a task is undone")]
    NotTheLast,
    /// What was approved has no way back.
    #[error("the approved config says that nothing is undone (rollback_strategy none)")]
    NotApproved,
    /// It was tried.
    #[error("undoing this attempt was tried already; it is tried once")]
    Tried,
}

impl Execution {
    /// An attempt that begins.
    #[must_use]
    pub fn begun(task: &Task, grant: &Grant, attempt: u32, beginning: Beginning) -> Self {
        let Beginning { id, purpose, agent_id, locks, timeout, lease, now } = beginning;
        let deadline_at = now.plus(timeout);
        Self {
            id,
            org_id: task.org_id,
            task_id: task.id,
            grant_id: grant.id,
            purpose,
            attempt,
            agent_id,
            result: None,
            outcome: None,
            rollback: Rollback::None,
            error: None,
            error_details: None,
            locks,
            last_heartbeat: now,
            lease_until: now.plus(lease).min(deadline_at),
            deadline_at,
            output_id: None,
            output_size: 0,
            output_tail: String::new(),
            progress_percent: None,
            progress_message: None,
            ended_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// How far it is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        let is_undone = matches!(self.rollback, Rollback::Asked | Rollback::Running);
        match self.ended_at {
            Some(_) if !is_undone => Phase::Ended,
            None if !is_undone && self.purpose == Purpose::Apply => Phase::Applying,
            _ => Phase::RollingBack,
        }
    }

    /// When it failed, as long as the agent that failed undoes it: the time there is for that began then.
    #[must_use]
    pub fn failed_and_undone_since(&self, timeout: Duration) -> Option<Timestamp> {
        let is_undone = self.purpose == Purpose::Apply && self.rollback == Rollback::Running;
        (is_undone && self.ended_at.is_none()).then(|| self.deadline_at.minus(timeout))
    }

    /// Refuses whatever is said about an attempt that is over.
    ///
    /// # Errors
    /// It is over; how.
    pub fn require_running(&self) -> Result<(), AttemptEnded> {
        if self.ended_at.is_none() {
            return Ok(());
        }
        Err(AttemptEnded {
            result: self.result.map_or("ended", ExecutionResult::as_str),
            outcome: self.outcome.map(Outcome::as_str),
            error: self.error.clone(),
        })
    }

    /// The attempt after its agent was heard. Its time does not grow by that.
    ///
    /// # Errors
    /// It is over, or its time is.
    pub fn heard(&self, lease: Duration, now: Timestamp) -> Result<Self, AttemptEnded> {
        self.require_running()?;
        if self.deadline_at <= now {
            let result = ExecutionResult::Timeout.as_str();
            return Err(AttemptEnded { result, outcome: None, error: Some("its time is over".into()) });
        }
        Ok(Self {
            last_heartbeat: now,
            lease_until: now.plus(lease).min(self.deadline_at),
            updated_at: now.after(self.updated_at),
            ..self.clone()
        })
    }

    /// What silence means, if it has lasted too long: the hub waits a little longer than the agent was told, so that
    /// an agent that has given up is not at work any more.
    #[must_use]
    pub fn silence(&self, executor: &dyn Executor, now: Timestamp) -> Option<Report> {
        let is_over = self.ended_at.is_none() && self.lease_until.plus(executor.grace()) <= now;
        is_over.then(|| if self.deadline_at <= now { Report::TimedOut } else { Report::Lost })
    }

    /// The attempt with more output.
    #[must_use]
    pub fn written(&self, output: Id<Blob>, text: &str, now: Timestamp) -> Self {
        let mut tail = format!("{}{text}", self.output_tail);
        let mut from = tail.len().saturating_sub(TAIL_BYTES_MAX);
        while !tail.is_char_boundary(from) {
            from += 1;
        }
        tail.drain(..from);
        let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
        Self {
            output_id: Some(output),
            output_size: self.output_size.saturating_add(size),
            output_tail: tail,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }

    /// The attempt as far as its agent says it is.
    ///
    /// # Errors
    /// The name of a member that is not right, and why.
    pub fn progressed(&self, progress: Progress, now: Timestamp) -> Result<Self, (&'static str, BadText)> {
        if progress.percent.is_some_and(|percent| percent > 100) {
            return Err(("percent", BadText("must be 0 to 100".to_owned())));
        }
        if let Some(message) = &progress.message {
            text::name(message, PROGRESS_CHARS_MAX).map_err(|bad| ("message", bad))?;
        }
        Ok(Self {
            progress_percent: progress.percent.map(i64::from),
            progress_message: progress.message,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        })
    }

    /// The attempt after a person asked for it to be undone. `last` is the newest attempt of the task.
    ///
    /// # Errors
    /// It is not undone, or not again.
    pub fn rollback_asked(
        &self,
        task: &Task,
        (last, strategy): (Id<Self>, RollbackStrategy),
        now: Timestamp,
    ) -> Result<Self, RollbackRefusal> {
        if task.state != TaskState::Failed {
            return Err(RollbackRefusal::NotFailed(task.state));
        }
        if self.purpose != Purpose::Apply || self.id != last {
            return Err(RollbackRefusal::NotTheLast);
        }
        if strategy == RollbackStrategy::None {
            return Err(RollbackRefusal::NotApproved);
        }
        if self.rollback != Rollback::None {
            return Err(RollbackRefusal::Tried);
        }
        Ok(self.rolled_back(Rollback::Asked, now))
    }

    /// The attempt with what became of undoing it.
    #[must_use]
    pub(crate) fn rolled_back(&self, rollback: Rollback, now: Timestamp) -> Self {
        Self { rollback, updated_at: now.after(self.updated_at), ..self.clone() }
    }

    /// The attempt that this rollback undoes, after the rollback has ended.
    #[must_use]
    pub fn undoes(&self, undone: &Self, now: Timestamp) -> Self {
        let is_done = self.result == Some(ExecutionResult::Success);
        undone.rolled_back(if is_done { Rollback::Succeeded } else { Rollback::Failed }, now)
    }
}

/// What an agent says about a failure, if it may be kept.
#[must_use]
pub fn fits_details(details: &Map<String, Value>) -> bool {
    serde_json::to_vec(details).is_ok_and(|bytes| bytes.len() <= DETAILS_BYTES_MAX)
}
