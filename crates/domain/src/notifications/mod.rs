//! What people are told, and what they do not want to be told.
//!
//! Told means an event that is addressed to an account, and a notification beside it (DECISIONS.md 32). Whom an event is
//! addressed to follows from the event alone: [`addressed()`] is the one place that says so.

mod addressed;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::accounts::{Account, AccountStatus};
use crate::approvals::{Approval, ApprovalStatus};
use crate::events::Event;
use crate::json::FieldError;
use crate::organizations::Organization;
use crate::policies::Candidate;
use crate::tasks::Task;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use addressed::{About, Recipient, about, addressed};

/// What somebody is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NotificationKind {
    /// You are asked to decide.
    ReviewRequested,
    /// You are asked to decide in somebody's place.
    StandingIn,
    /// You are asked to sign that a review is skipped, or what an approved task waits for.
    OverrideRequested,
    /// What you were asked went to somebody else.
    RequestMoved,
    /// Nobody waits for your answer any more.
    RequestClosed,
    /// Time is over, and you are on call.
    Escalated,
    /// Your task was approved.
    TaskApproved,
    /// Two admins approved your task instead of its reviewers.
    TaskOverridden,
    /// Your task was rejected.
    TaskRejected,
    /// Your task was rejected because nobody answered in time.
    TaskTimedOut,
    /// Your task came back to be changed.
    ChangesRequested,
    /// Your task is done.
    TaskCompleted,
    /// Your task could not be done.
    TaskFailed,
    /// Nobody knows what was done, or it could not be undone.
    NeedsAttention,
    /// Somebody else gave your task up.
    TaskCancelled,
    /// Your task waits for one that will never be done.
    TaskBlocked,
    /// Somebody said something about a task you wrote or are asked about.
    TaskCommented,
    /// A review waits, and nobody was told of it.
    NobodyTold,
}

impl NotificationKind {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::ReviewRequested,
        Self::StandingIn,
        Self::OverrideRequested,
        Self::RequestMoved,
        Self::RequestClosed,
        Self::Escalated,
        Self::TaskApproved,
        Self::TaskOverridden,
        Self::TaskRejected,
        Self::TaskTimedOut,
        Self::ChangesRequested,
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::NeedsAttention,
        Self::TaskCancelled,
        Self::TaskBlocked,
        Self::TaskCommented,
        Self::NobodyTold,
    ];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReviewRequested => "review_requested",
            Self::StandingIn => "standing_in",
            Self::OverrideRequested => "override_requested",
            Self::RequestMoved => "request_moved",
            Self::RequestClosed => "request_closed",
            Self::Escalated => "escalated",
            Self::TaskApproved => "task_approved",
            Self::TaskOverridden => "task_overridden",
            Self::TaskRejected => "task_rejected",
            Self::TaskTimedOut => "task_timed_out",
            Self::ChangesRequested => "changes_requested",
            Self::TaskCompleted => "task_completed",
            Self::TaskFailed => "task_failed",
            Self::NeedsAttention => "needs_attention",
            Self::TaskCancelled => "task_cancelled",
            Self::TaskBlocked => "task_blocked",
            Self::TaskCommented => "task_commented",
            Self::NobodyTold => "nobody_told",
        }
    }

    /// Whether it asks for a decision. Such a request nobody can wish away: somebody waits for the answer.
    #[must_use]
    pub const fn asks(self) -> bool {
        matches!(self, Self::ReviewRequested | Self::StandingIn | Self::OverrideRequested)
    }

    /// Whether a member of this standing, who muted these, is told. Whoever is asked for a decision was looked at by
    /// whoever asks.
    #[must_use]
    pub fn reaches(self, status: AccountStatus, muted: &[Self]) -> bool {
        self.asks() || (status == AccountStatus::Active && !muted.contains(&self))
    }
}

impl FromStr for NotificationKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Something that one account was told.
#[derive(Clone, PartialEq, Debug)]
pub struct Notification {
    /// Its id.
    pub id: Id<Notification>,
    /// Where it happened.
    pub org_id: Id<Organization>,
    /// Who is told.
    pub account_id: Id<Account>,
    /// What.
    pub kind: NotificationKind,
    /// About which task.
    pub task_id: Id<Task>,
    /// About which request, if it is about one.
    pub approval_id: Option<Id<Approval>>,
    /// The event that is addressed to the account.
    pub event_id: Id<Event>,
    /// What that tells.
    pub event_type: String,
    /// Its place in the log; none while it is not numbered, and when it is forgotten.
    pub event_seq: Option<i64>,
    /// Who did it; none: the hub by itself.
    pub actor_id: Option<Uuid>,
    /// Ids and words that say more, for whoever writes the sentence.
    pub facts: Map<String, Value>,
    /// When.
    pub created_at: Timestamp,
    /// When it was first handed to the account.
    pub delivered_at: Option<Timestamp>,
    /// When the account said that it has read it.
    pub read_at: Option<Timestamp>,
}

impl Notification {
    /// As it is once the account has read it; the first time counts.
    #[must_use]
    pub fn read(&self, now: Timestamp) -> Self {
        Self {
            read_at: self.read_at.or(Some(now)),
            delivered_at: self.delivered_at.or(Some(now)),
            ..self.clone()
        }
    }
}

/// What an account does not want to be told in an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preferences {
    /// Where.
    pub org_id: Id<Organization>,
    /// Who.
    pub account_id: Id<Account>,
    /// What, in order.
    pub muted: Vec<NotificationKind>,
    /// Grows with every change; 0 where nothing was ever said.
    pub version: i64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Preferences {
    /// Of somebody who has said nothing: everything is wanted.
    #[must_use]
    pub fn none(org_id: Id<Organization>, account_id: Id<Account>) -> Self {
        let updated_at = Timestamp::from_micros(0);
        Self { org_id, account_id, muted: Vec::new(), version: 0, updated_at }
    }

    /// With these kinds muted, and no others.
    ///
    /// # Errors
    /// Names each kind that cannot be.
    pub fn changed(&self, muted: &[NotificationKind], now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let asking = muted.iter().enumerate().filter(|(_, kind)| kind.asks());
        let errors: Vec<FieldError> = asking
            .map(|(place, kind)| FieldError {
                pointer: format!("/muted/{place}"),
                detail: format!(
                    "{} asks for a decision that others wait for; it cannot be muted",
                    kind.as_str()
                ),
            })
            .collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut muted = muted.to_vec();
        muted.sort_unstable();
        muted.dedup();
        if muted == self.muted {
            return Ok(self.clone());
        }
        Ok(Self { muted, version: self.version + 1, updated_at: now.after(self.updated_at), ..self.clone() })
    }
}

/// Whether somebody who is asked hears of it: whoever may not act here does not.
#[must_use]
pub fn hears(candidate: &Candidate) -> bool {
    candidate.status == AccountStatus::Active && candidate.level.is_some()
}

/// Whether any of these requests tells somebody: one that waits, and not for whoever made it.
#[must_use]
pub fn tells_anybody(requests: &[Approval], actor: Option<Uuid>) -> bool {
    let tells = |request: &Approval| {
        request.status == ApprovalStatus::Pending && Some(request.reviewer_id.raw()) != actor
    };
    requests.iter().any(tells)
}
