//! Executions: claimed by agents, kept alive, reported on, recovered when nobody reports.
//!
//! `claim` and `next` find work, `keys` takes its locks, `start` is the unit that asks the gate. From then on the records
//! are the truth: `settle` writes what follows from a report (`report`), from silence (`recover`), from a lost lock
//! (`heartbeat`) or from an admin (`end_by_admin`). Locks are given back after the commit; what is missed there ends by
//! itself.
//!
//! **Locks of rows.** Task, then agent, then what `reread` reads, then Grant, attempt and claims.

mod claim;
mod heartbeat;
mod keys;
mod list;
mod look;
mod next;
mod output;
mod recover;
mod report;
mod rollback;
mod settle;
mod start;

use domain::accounts::Account;
use domain::agents::{Agent, AgentAct};
use domain::executions::{AttemptEnded, ClaimRefusal, Execution};
use domain::gate::GateRefusal;
use domain::permissions::Capability;
use domain::tasks::dependencies::BlockedBy;
use domain::tasks::{Task, TaskState};
use domain::{Id, Timestamp};
use records::{Tx, agents, executions};

pub use claim::{ClaimTask, claim};
pub use heartbeat::{Heard, heartbeat};
pub use list::{get, list};
pub use next::next;
pub use output::{More, Part, append, read};
pub(crate) use recover::recover;
pub use report::{Said, complete, fail};
pub use rollback::ask_rollback;
pub(crate) use rollback::{rollback, rollback_refused};
pub(crate) use settle::{end_by_admin, let_go};
pub use start::Claimed;

use crate::HubError;
use crate::act::Act;
use crate::agents::admitted;

const MISSING: HubError = HubError::NotFound("execution");

/// Counts attempts that began, by purpose.
pub const STARTED: &str = "countersign_executions_started_total";
/// Counts attempts that ended, by result and outcome.
pub const ENDED: &str = "countersign_executions_ended_total";

/// Why an attempt does not begin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotBegun {
    /// The task may not be applied.
    #[error("{detail}")]
    NotApproved {
        /// Where it stands.
        state: TaskState,
        /// Why that does not do.
        detail: String,
    },
    /// It waits for others.
    #[error("a task that this one depends on is not completed")]
    Blocked(Vec<BlockedBy>),
    /// It waits for its hour.
    #[error("the last attempt failed; the next one begins at {0} at the earliest")]
    TooSoon(Timestamp),
    /// The agent has enough to do.
    #[error("the agent works on as many tasks as it may")]
    AtCapacity,
    /// The agent takes nothing new.
    #[error("the agent takes no new work")]
    Draining,
    /// Another attempt works on what it touches.
    #[error("another task works on {0}")]
    Claimed(String),
}

impl NotBegun {
    /// Whether waiting may help.
    fn passes(&self) -> bool {
        match self {
            Self::Blocked(by) => !by.iter().any(|by| by.dead),
            Self::TooSoon(_) | Self::Claimed(_) => true,
            Self::NotApproved { .. } | Self::AtCapacity | Self::Draining => false,
        }
    }
}

fn refused(refusal: GateRefusal, state: TaskState) -> HubError {
    HubError::NotBegun(Box::new(match refusal {
        GateRefusal::Blocked => NotBegun::Blocked(Vec::new()),
        GateRefusal::AtCapacity => NotBegun::AtCapacity,
        GateRefusal::Claimed(resource) | GateRefusal::OldFence(resource) => NotBegun::Claimed(resource),
        GateRefusal::TooSoon(not_before) => NotBegun::TooSoon(not_before),
        other => NotBegun::NotApproved { state, detail: other.to_string() },
    }))
}

fn not_admitted(refusal: &ClaimRefusal) -> HubError {
    match refusal {
        ClaimRefusal::Draining => HubError::NotBegun(Box::new(NotBegun::Draining)),
        other => HubError::Forbidden(other.to_string()),
    }
}

fn over(ended: AttemptEnded) -> HubError {
    HubError::AttemptEnded(ended)
}

/// The agent, which nobody else begins something with until this unit ends, if the caller may speak for it.
async fn worker<T>(tx: &mut Tx, act: &Act<T>, id: Id<Account>) -> Result<Agent, HubError> {
    let agent = agents::get_locked(tx, act.org(), id).await?;
    let current = act.reread_with(tx, Capability::ExecutionsWrite).await?;
    admitted(&current, agent, AgentAct::Work)
}

/// The attempt that is reported on, with its task; neither changes until this unit ends.
async fn reported<T>(
    tx: &mut Tx,
    act: &Act<T>,
    id: Id<Execution>,
) -> Result<(Task, Execution, Agent), HubError> {
    let known = executions::get(tx, act.org(), id).await?.ok_or(MISSING)?;
    let task = crate::tasks::locked(tx, act, known.task_id).await?;
    let agent = worker(tx, act, known.agent_id).await?;
    let execution = executions::get_locked(tx, act.org(), id).await?.ok_or(MISSING)?;
    Ok((task, execution, agent))
}
