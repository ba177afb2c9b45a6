//! Tasks: the governed unit of change.

mod change;
pub mod comments;
mod config;
pub mod dependencies;
pub mod diff;
mod fields;
mod freeze;
#[cfg(test)]
mod freeze_tests;
mod machine;
pub mod metadata;
pub mod place;
pub mod preview;
mod provenance;

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::accounts::Account;
use crate::canonical::Sha256Hash;
use crate::organizations::Organization;
use crate::projects::Project;
use crate::reviews::Review;
use crate::risk::Risk;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use change::{OPEN_MAX, TaskChange, check_place};
pub use config::{Action, DeclaredRisk, Mode, Resource, RollbackStrategy, TaskConfig};
pub use freeze::{
    ConfigRefusal, Defaults, Frozen, Unreadable, check_resource_id, check_resource_kind, freeze, is_called,
    thaw,
};
pub use machine::{Actor, Move, MoveRefusal, next};
pub use provenance::{Behind, Provenance};

/// Where a task stands in its life (TASK-01, X-12).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TaskState {
    /// Being written.
    Draft,
    /// Handed in; the hub makes its preview.
    Submitted,
    /// Reviewers are asked.
    Reviewing,
    /// A Grant exists.
    Approved,
    /// An attempt runs.
    Applying,
    /// Done.
    Completed,
    /// Reviewers, or time, said no.
    Rejected,
    /// Given up before it began.
    Cancelled,
    /// It was tried and did not work.
    Failed,
}

impl TaskState {
    /// Every state, in the order of a task's life.
    pub const ALL: [Self; 9] = [
        Self::Draft,
        Self::Submitted,
        Self::Reviewing,
        Self::Approved,
        Self::Applying,
        Self::Completed,
        Self::Rejected,
        Self::Cancelled,
        Self::Failed,
    ];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::Submitted => "SUBMITTED",
            Self::Reviewing => "REVIEWING",
            Self::Approved => "APPROVED",
            Self::Applying => "APPLYING",
            Self::Completed => "COMPLETED",
            Self::Rejected => "REJECTED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }

    /// Whether nothing leads out of it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected | Self::Cancelled | Self::Failed)
    }

    /// Whether its review is still to come, or under way.
    #[must_use]
    pub const fn is_before_approval(self) -> bool {
        matches!(self, Self::Draft | Self::Submitted | Self::Reviewing)
    }

    /// Whether whoever waits for it waits for ever.
    #[must_use]
    pub const fn is_dead(self) -> bool {
        matches!(self, Self::Rejected | Self::Cancelled | Self::Failed)
    }
}

impl FromStr for TaskState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// What a planner sees (PLAN-02).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskStatus {
    /// Not handed in yet.
    Pending,
    /// On its way.
    InProgress,
    /// Done.
    Completed,
    /// It will not happen.
    Failed,
    /// It waits for another task.
    Blocked,
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Completed, Self::Failed, Self::Blocked];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }

    /// The planner's view.
    #[must_use]
    pub const fn of(state: TaskState, has_unfinished_prerequisite: bool) -> Self {
        match state {
            TaskState::Completed => Self::Completed,
            TaskState::Rejected | TaskState::Cancelled | TaskState::Failed => Self::Failed,
            _ if has_unfinished_prerequisite => Self::Blocked,
            TaskState::Draft => Self::Pending,
            TaskState::Submitted | TaskState::Reviewing | TaskState::Approved | TaskState::Applying => {
                Self::InProgress
            }
        }
    }
}

impl FromStr for TaskStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A task, without the bytes of its revisions.
#[derive(Clone, PartialEq, Debug)]
pub struct Task {
    /// Its id.
    pub id: Id<Task>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Where it lives.
    pub project_id: Id<Project>,
    /// Who proposed it.
    pub author_id: Id<Account>,
    /// Its short name, unique in the project.
    pub slug: Option<String>,
    /// Its place in the plan, such as `implementation/database`.
    pub path: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// What a planner sees.
    pub status: TaskStatus,
    /// The current revision, from 1.
    pub revision: i64,
    /// The hash of the current revision's bytes.
    pub content_hash: Sha256Hash,
    /// Grows with every decision about the task.
    pub version: i64,
    /// `config.type` of the current revision.
    pub task_type: String,
    /// `config.priority` of the current revision.
    pub priority: i64,
    /// Who shall apply it.
    pub assignee: Option<Id<Account>>,
    /// Until when it should be done.
    pub due_at: Option<Timestamp>,
    /// Labels to find it by; each once.
    pub tags: Vec<String>,
    /// What else the author says about it (`team`, `ticket_ref`, …); not part of what is approved.
    pub metadata: Map<String, Value>,
    /// How dangerous it is.
    pub risk: Risk,
    /// What it would change: `{changes[], warnings[], errors[], made_by}`.
    pub preview: Option<Value>,
    /// The hash of a hub-made preview's changes.
    pub effect_hash: Option<Sha256Hash>,
    /// The current or last review.
    pub review_id: Option<Id<Review>>,
    /// Its place among those that wait for an agent, the lowest first.
    pub queue_rank: i64,
    /// Its next attempt begins at this time at the earliest.
    pub not_before: Option<Timestamp>,
    /// Whether a person has to look at how it ended.
    pub needs_attention: bool,
    /// The task this one replaces.
    pub resubmitted_from: Option<Id<Task>>,
    /// When it was last handed in.
    pub submitted_at: Option<Timestamp>,
    /// When its review last ended with yes.
    pub approved_at: Option<Timestamp>,
    /// When an attempt last began.
    pub applying_at: Option<Timestamp>,
    /// When it was done.
    pub completed_at: Option<Timestamp>,
    /// When it reached a final state.
    pub ended_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Where a task of this priority stands among those that wait for an agent: below zero is the head of the queue.
#[must_use]
pub const fn queue_rank(priority: i64) -> i64 {
    PRIORITY_MAX - priority
}

const PRIORITY_MAX: i64 = 100;
/// Before every priority. Who stands there is served by the age of the approval.
const HEAD_OF_QUEUE: i64 = -1;

impl Task {
    /// Whether it waits for another.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.status == TaskStatus::Blocked
    }

    /// Whether its risk is what reviewers are told. That of a draft is foreseen: it is assessed again when the draft is
    /// handed in, with what a preview finds by then.
    #[must_use]
    pub fn is_scored(&self) -> bool {
        self.submitted_at.is_some() && self.state != TaskState::Draft
    }

    /// The task after something was decided about it that moves it nowhere (DECISIONS.md 14).
    #[must_use]
    pub fn touched(&self, now: Timestamp) -> Self {
        self.next_version(self.is_blocked(), now)
    }

    /// The task at the head of the queue, before all that nobody put there. An edit takes it away again.
    ///
    /// # Errors
    /// It is not approved, or they are no admin.
    pub fn put_first(&self, actor: Actor, now: Timestamp) -> Result<Self, MoveRefusal> {
        next(self.state, Move::PutFirst, actor)?;
        Ok(Self { queue_rank: HEAD_OF_QUEUE, ..self.touched(now) })
    }

    /// The task after it was handed in.
    ///
    /// # Errors
    /// It is no draft, or not theirs.
    pub fn submitted(&self, actor: Actor, now: Timestamp) -> Result<Self, MoveRefusal> {
        let state = next(self.state, Move::Submit, actor)?;
        Ok(Self { submitted_at: Some(now), ..self.moved(state, now) })
    }

    /// The task after it was given up.
    ///
    /// # Errors
    /// It is too late, or not theirs.
    pub fn cancelled(&self, actor: Actor, now: Timestamp) -> Result<Self, MoveRefusal> {
        let state = next(self.state, Move::Cancel, actor)?;
        Ok(self.moved(state, now))
    }

    /// The task in this state, as of now: planner's view, version and times follow.
    #[must_use]
    pub(crate) fn moved(&self, state: TaskState, now: Timestamp) -> Self {
        Self {
            state,
            status: TaskStatus::of(state, self.is_blocked()),
            version: self.version + 1,
            ended_at: state.is_final().then_some(now),
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }
}

/// One immutable version of what a task will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revision {
    /// Its id.
    pub id: Id<Revision>,
    /// Of which task.
    pub task_id: Id<Task>,
    /// From 1.
    pub number: i64,
    /// The RFC 8785 bytes of the config.
    pub config: Vec<u8>,
    /// Their hash.
    pub content_hash: Sha256Hash,
    /// Who wrote it.
    pub edited_by: Id<Account>,
    /// Everybody who may not decide on it.
    pub provenance: Provenance,
    /// When it was written.
    pub created_at: Timestamp,
}
