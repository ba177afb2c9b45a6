//! What follows from a report, or from silence: for the attempt, for its task, for what comes next.

use serde_json::Value;

use super::undone::with_rollback_error;
use super::{AttemptEnded, Execution, ExecutionResult, Outcome, Phase, Purpose, Rollback, executor};
use crate::Timestamp;
use crate::gate::undo;
use crate::grants::Grant;
use crate::jobs::retry_at;
use crate::tasks::{Actor, Move, MoveRefusal, RollbackStrategy, Task, TaskConfig, next};

/// What an attempt's error says when its time was over.
pub const TIMEOUT: &str = "TIMEOUT";
/// The same when it lost a lock on the way.
pub const LOCK_LOST: &str = "LOCK_LOST";
/// The same when an admin took one of its locks.
pub const FORCE_RELEASED: &str = "FORCE_RELEASED";

/// What is known about an attempt from now on.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// Its agent says that it is done.
    Completed,
    /// Its agent says that it did not work.
    Failed {
        /// What went wrong.
        error: String,
        /// What else there is to say.
        details: Option<Value>,
    },
    /// Its agent was not heard for too long.
    Lost,
    /// It took too long.
    TimedOut,
    /// It lost a lock on the way (EDGE-02).
    LockLost,
    /// An admin took one of its locks.
    Cancelled,
}

impl Report {
    /// What else its agent said about what went wrong.
    const fn details(&self) -> Option<&Value> {
        match self {
            Self::Failed { details, .. } => details.as_ref(),
            _ => None,
        }
    }

    /// How the work ended, whether that is known, and what to call it.
    fn said(&self, lost: &'static str) -> (ExecutionResult, Outcome, Option<String>) {
        use ExecutionResult::{Cancelled, Failure, Success, Timeout};
        use Outcome::{Known, Unknown};
        match self {
            Self::Completed => (Success, Known, None),
            Self::Failed { error, .. } => (Failure, Known, Some(error.clone())),
            Self::Lost => (Failure, Unknown, Some(lost.to_owned())),
            Self::TimedOut => (Timeout, Unknown, Some(TIMEOUT.to_owned())),
            Self::LockLost => (Failure, Unknown, Some(LOCK_LOST.to_owned())),
            Self::Cancelled => (Cancelled, Unknown, Some(FORCE_RELEASED.to_owned())),
        }
    }
}

/// An attempt, and all that decides what follows from its end.
#[derive(Clone, Copy, Debug)]
pub struct Matter<'a> {
    /// The task.
    pub task: &'a Task,
    /// The attempt.
    pub execution: &'a Execution,
    /// What it was taken from.
    pub grant: &'a Grant,
    /// What was approved.
    pub config: &'a TaskConfig,
    /// Chance from 0 to 1, so that what failed together does not come back together.
    pub jitter: f64,
    /// When.
    pub now: Timestamp,
}

/// What the unit writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Settled {
    /// The task as it is then.
    pub task: Task,
    /// The attempt as it is then. Its claims end with it.
    pub execution: Execution,
}

/// What follows from a report.
///
/// # Errors
/// The attempt is over; nothing is written.
pub fn settle(matter: &Matter<'_>, report: &Report) -> Result<Settled, AttemptEnded> {
    matter.execution.require_running()?;
    Ok(match matter.execution.phase() {
        Phase::Applying => applied(matter, report),
        // An attempt that has ended is none that is reported on.
        Phase::RollingBack | Phase::Ended => undone(matter, report),
    })
}

/// What follows from the work itself.
fn applied(matter: &Matter<'_>, report: &Report) -> Settled {
    let Matter { task, grant, config, now, .. } = *matter;
    let (result, outcome, error) = report.said(executor(config.action).lost());
    let said = Execution {
        result: Some(result),
        outcome: Some(outcome),
        error,
        error_details: report.details().cloned(),
        updated_at: now.after(matter.execution.updated_at),
        ..matter.execution.clone()
    };
    let ended = Execution { ended_at: Some(now), ..said.clone() };
    if result == ExecutionResult::Success {
        return Settled { task: completed(task, now), execution: ended };
    }
    // An admin who ends an attempt has not asked for another one.
    let may_repeat = result != ExecutionResult::Cancelled && (outcome == Outcome::Known || config.idempotent);
    if may_repeat && grant.attempts_left() > 0 {
        let not_before = retry_at(said.attempt.into(), now, matter.jitter);
        return Settled { task: waiting(task, not_before, now), execution: ended };
    }
    // Whoever was lost cannot be asked to undo anything; a person decides then.
    if outcome == Outcome::Known && undo(&said, config.rollback_strategy).is_ok() {
        let deadline_at = now.plus(config.timeout());
        let lease = said.lease_until.since(said.last_heartbeat);
        let rolling = Execution {
            deadline_at,
            last_heartbeat: now,
            lease_until: now.plus(lease).min(deadline_at),
            ..said.rolled_back(Rollback::Running, now)
        };
        return Settled { task: task.touched(now), execution: rolling };
    }
    let is_unclear = outcome == Outcome::Unknown || config.rollback_strategy == RollbackStrategy::Manual;
    Settled { task: failed(task, is_unclear, now), execution: ended }
}

/// What follows from undoing it.
fn undone(matter: &Matter<'_>, report: &Report) -> Settled {
    let Matter { task, execution, config, now, .. } = *matter;
    let (result, outcome, error) = report.said(executor(config.action).lost());
    let is_done = result == ExecutionResult::Success;
    let rollback = if is_done { Rollback::Succeeded } else { Rollback::Failed };
    let ended = Execution { ended_at: Some(now), ..execution.rolled_back(rollback, now) };
    // A rollback that a person asked for is an attempt of its own, beside a task that has failed.
    if execution.purpose == Purpose::Rollback {
        let ended = Execution {
            result: Some(result),
            outcome: Some(outcome),
            error,
            rollback: Rollback::None,
            ..ended
        };
        let task = Task { needs_attention: !is_done, ..task.touched(now) };
        return Settled { task, execution: ended };
    }
    let ended = match is_done {
        true => ended,
        // What the agent said first stays, and why it was not undone stands beside it.
        false => Execution {
            outcome: Some(outcome),
            error_details: with_rollback_error(execution.error_details.as_ref(), error, report.details()),
            ..ended
        },
    };
    Settled { task: failed(task, !is_done, now), execution: ended }
}

fn completed(task: &Task, now: Timestamp) -> Task {
    Task { completed_at: Some(now), ..moved(task, Move::Complete, now) }
}

fn waiting(task: &Task, not_before: Timestamp, now: Timestamp) -> Task {
    Task { not_before: Some(not_before), ..moved(task, Move::Retry, now) }
}

fn failed(task: &Task, needs_attention: bool, now: Timestamp) -> Task {
    Task { needs_attention, ..moved(task, Move::Fail, now) }
}

/// A task whose attempt runs is APPLYING, so each of these moves is open; one that is not is left where it is.
fn moved(task: &Task, wanted: Move, now: Timestamp) -> Task {
    match next(task.state, wanted, Actor::HUB) {
        Ok(state) => task.moved(state, now),
        Err(MoveRefusal::WrongState { .. } | MoveRefusal::NotYours { .. }) => task.touched(now),
    }
}
