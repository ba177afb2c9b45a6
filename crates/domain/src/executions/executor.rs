//! What differs between the kinds of action on their way through the same gate.

use std::time::Duration;

use crate::agents::Agent;
use crate::tasks::{Action, Task, TaskConfig};

/// What an attempt's error says when nothing more was heard of its agent.
pub const AGENT_LOST: &str = "AGENT_LOST";
/// How long after the end of a lease the hub waits before it takes an attempt for lost.
const EXTERNAL_GRACE: Duration = Duration::from_secs(5);

/// Whoever carries out tasks of one kind. A kind without one is refused when a task is frozen
/// (`EXECUTOR_DISABLED`), so there is one for every [`Action`].
pub trait Executor: Send + Sync {
    /// Whether this agent may begin an attempt.
    ///
    /// # Errors
    /// It may not; why.
    fn admits(&self, applicant: &Applicant<'_>) -> Result<(), ClaimRefusal>;
    /// How long after its lease somebody who was lost may still be at work.
    fn grace(&self) -> Duration;
    /// The `error` of an attempt whose worker was lost.
    fn lost(&self) -> &'static str;
}

/// An agent that wants to begin, and what it wants to begin.
#[derive(Clone, Copy, Debug)]
pub struct Applicant<'a> {
    /// Who.
    pub agent: &'a Agent,
    /// What.
    pub task: &'a Task,
    /// The approved config.
    pub config: &'a TaskConfig,
    /// Whether the task's author is an agent.
    pub is_author_agent: bool,
}

/// Why an agent may not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClaimRefusal {
    /// Somebody else is to apply it.
    #[error("the task is assigned to another account")]
    AssignedToAnother,
    /// Its author applies it.
    #[error("an agent proposed the task and applies it itself")]
    AuthorApplies,
    /// A label is missing.
    #[error("the task asks for an agent labelled {0}")]
    NotLabelled(String),
    /// It takes nothing new.
    #[error("the agent takes no new work")]
    Draining,
}

/// An agent outside the hub: it claims, works and reports over the API (DECISIONS.md 34).
struct External;

impl Executor for External {
    fn admits(&self, applicant: &Applicant<'_>) -> Result<(), ClaimRefusal> {
        let Applicant { agent, task, config, is_author_agent } = *applicant;
        if agent.draining {
            return Err(ClaimRefusal::Draining);
        }
        match task.assignee {
            Some(assignee) if assignee == agent.id => return Ok(()),
            Some(_) => return Err(ClaimRefusal::AssignedToAnother),
            None if is_author_agent && task.author_id == agent.id => return Ok(()),
            None if is_author_agent => return Err(ClaimRefusal::AuthorApplies),
            None => (),
        }
        let missing =
            config.requires_labels.iter().find(|(key, value)| agent.labels.get(*key) != Some(*value));
        match missing {
            Some((key, value)) => Err(ClaimRefusal::NotLabelled(format!("{key}={value}"))),
            None => Ok(()),
        }
    }

    fn grace(&self) -> Duration {
        EXTERNAL_GRACE
    }

    fn lost(&self) -> &'static str {
        AGENT_LOST
    }
}

/// Whoever carries out this kind.
#[must_use]
pub fn executor(action: Action) -> &'static dyn Executor {
    match action {
        Action::External => &External,
    }
}
