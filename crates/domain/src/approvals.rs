//! Approvals: one request to one reviewer, with the answer.

use std::str::FromStr;

use crate::accounts::Account;
use crate::canonical::Sha256Hash;
use crate::delegations::{Chain, Routing};
use crate::organizations::Organization;
use crate::reviews::{Review, VoteRefusal};
use crate::tasks::{Behind, Task};
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalKind {
    /// Whether the task may be applied.
    Review,
    /// Whether its review may be skipped, or what it waits for.
    Override,
}

impl ApprovalKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Review, Self::Override];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Override => "override",
        }
    }
}

impl FromStr for ApprovalKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Where a request stands (APPR-03, X-22).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalStatus {
    /// Not answered.
    Pending,
    /// Yes.
    Approved,
    /// No, or not like this.
    Rejected,
    /// Somebody else was asked instead.
    Delegated,
    /// Not answered in time.
    Expired,
    /// The answer no longer matters.
    Superseded,
}

impl ApprovalStatus {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Approved, Self::Rejected, Self::Delegated, Self::Expired, Self::Superseded];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Delegated => "DELEGATED",
            Self::Expired => "EXPIRED",
            Self::Superseded => "SUPERSEDED",
        }
    }

    /// Whether it is the reviewer's own to change while the review is open.
    #[must_use]
    pub const fn is_changeable(self) -> bool {
        matches!(self, Self::Pending | Self::Approved | Self::Rejected)
    }
}

impl FromStr for ApprovalStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// What a reviewer says (APPR-07).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// Yes.
    Approve,
    /// No.
    Reject,
    /// Not like this.
    RequestChanges,
}

impl Answer {
    /// Every answer.
    pub const ALL: [Self; 3] = [Self::Approve, Self::Reject, Self::RequestChanges];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::RequestChanges => "request_changes",
        }
    }

    /// Where it leaves the request.
    #[must_use]
    pub const fn status(self) -> ApprovalStatus {
        match self {
            Self::Approve => ApprovalStatus::Approved,
            Self::Reject | Self::RequestChanges => ApprovalStatus::Rejected,
        }
    }
}

impl FromStr for Answer {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// How urgent a request is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priority {
    /// It can wait.
    Low,
    /// As usual.
    Normal,
    /// Soon.
    High,
    /// Now.
    Urgent,
}

impl Priority {
    /// Every priority, rising.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Normal => "NORMAL",
            Self::High => "HIGH",
            Self::Urgent => "URGENT",
        }
    }

    /// Of a task's `config.priority` (DECISIONS.md 29).
    #[must_use]
    pub const fn of(config_priority: i64) -> Self {
        match config_priority {
            ..25 => Self::Low,
            25..75 => Self::Normal,
            75..90 => Self::High,
            _ => Self::Urgent,
        }
    }

    /// So many steps more urgent; nothing is more urgent than the last.
    #[must_use]
    pub fn raised(self, steps: u32) -> Self {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        Self::ALL.get(place.saturating_add(steps)).copied().unwrap_or(Self::Urgent)
    }

    /// A place in the queue: the higher, the sooner (APPR-09).
    #[must_use]
    pub const fn score(self, risk_score: u32) -> i64 {
        let bonus = match self {
            Self::Low => 0,
            Self::Normal => 100,
            Self::High => 500,
            Self::Urgent => 1000,
        };
        risk_score as i64 * 10 + bonus
    }
}

impl FromStr for Priority {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// An answer, as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// What was said.
    pub action: Answer,
    /// Why.
    pub reason: Option<String>,
    /// Who said it: the reviewer, or whoever stands in.
    pub by: Id<Account>,
    /// Who stood behind it.
    pub behind: Behind,
    /// When.
    pub at: Timestamp,
}

/// One request to one reviewer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Its id.
    pub id: Id<Approval>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// About which task.
    pub task_id: Id<Task>,
    /// In which round.
    pub review_id: Id<Review>,
    /// What is asked.
    pub kind: ApprovalKind,
    /// Who is asked.
    pub reviewer_id: Id<Account>,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// How urgent it is.
    pub priority: Priority,
    /// Its place in the reviewer's queue.
    pub score: i64,
    /// Which of the review's policies ask this person, by place.
    pub serves: Vec<usize>,
    /// What is to be decided on.
    pub content_hash: Sha256Hash,
    /// Whether an admin asked to take part.
    pub joined: bool,
    /// Who was asked instead.
    pub delegated_to: Option<Id<Account>>,
    /// Through whom the request came, the first asked first.
    pub delegation_chain: Vec<Id<Account>>,
    /// How it was passed on, and whom the reviewer follows.
    pub routing: Routing,
    /// Until when an answer is expected.
    pub due_at: Option<Timestamp>,
    /// When the reviewer said that they had seen it.
    pub acknowledged_at: Option<Timestamp>,
    /// The answer.
    pub response: Option<Response>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Approval {
    /// The request after an answer. A later one replaces an earlier one.
    #[must_use]
    pub fn answered(&self, response: Response) -> Self {
        Self {
            status: response.action.status(),
            updated_at: response.at.after(self.updated_at),
            response: Some(response),
            ..self.clone()
        }
    }

    /// The request after it was passed on to somebody.
    #[must_use]
    pub fn passed_on(&self, chain: &Chain, now: Timestamp) -> Self {
        Self {
            status: ApprovalStatus::Delegated,
            delegated_to: Some(chain.to),
            delegation_chain: chain.links.iter().map(|link| link.from).collect(),
            routing: Routing {
                via: chain.links.iter().map(|link| link.by).collect(),
                ..self.routing.clone()
            },
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }

    /// The request after it came back, or was asked again.
    #[must_use]
    pub fn reopened(&self, now: Timestamp) -> Self {
        Self {
            status: ApprovalStatus::Pending,
            delegated_to: None,
            delegation_chain: Vec::new(),
            routing: Routing { via: Vec::new(), reassigned: false, ..self.routing.clone() },
            response: None,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }

    /// Whether the answer is another's that the reviewer follows.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.by != self.reviewer_id)
    }

    /// Whether it asks to go past what an approved task waits for, and not about the review.
    #[must_use]
    pub fn is_about_skipping(&self) -> bool {
        self.kind == ApprovalKind::Override && !self.routing.skips.is_empty()
    }

    /// The request after its answer ceased to matter. An answer that was given stays on record.
    #[must_use]
    pub fn superseded(&self, now: Timestamp) -> Self {
        Self { status: ApprovalStatus::Superseded, updated_at: now.after(self.updated_at), ..self.clone() }
    }

    /// The request after its reviewer said that they had seen it; the first time counts.
    ///
    /// # Errors
    /// Somebody else is asked.
    pub fn acknowledged(&self, by: Id<Account>, now: Timestamp) -> Result<Self, VoteRefusal> {
        if self.reviewer_id != by {
            return Err(VoteRefusal::NotYours);
        }
        Ok(match self.acknowledged_at {
            Some(_) => self.clone(),
            None => {
                Self { acknowledged_at: Some(now), updated_at: now.after(self.updated_at), ..self.clone() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_of_tasks() {
        use Priority::{High, Low, Normal, Urgent};
        for (config, right) in [
            (0, Low),
            (24, Low),
            (25, Normal),
            (50, Normal),
            (74, Normal),
            (75, High),
            (89, High),
            (90, Urgent),
            (100, Urgent),
        ] {
            assert_eq!(Priority::of(config), right, "{config}");
        }
    }

    #[test]
    fn urgency_rises_to_its_end() {
        use Priority::{High, Low, Normal, Urgent};
        let raised = [Low.raised(1), Normal.raised(1), High.raised(1), Urgent.raised(1), Low.raised(9)];
        assert_eq!(raised, [Normal, High, Urgent, Urgent, Urgent]);
        assert_eq!(Normal.raised(0), Normal);
    }

    #[test]
    fn the_scores_of_the_source_document() {
        assert_eq!(Priority::High.score(35), 850);
        assert_eq!(Priority::Normal.score(35), 450);
        assert_eq!((Priority::Urgent.score(0), Priority::Low.score(100)), (1000, 1000));
    }

    #[test]
    fn an_answer_leaves_the_request_where_it_should() {
        assert_eq!(
            Answer::ALL.map(Answer::status).map(ApprovalStatus::as_str),
            ["APPROVED", "REJECTED", "REJECTED"]
        );
        let open: Vec<&str> = ApprovalStatus::ALL
            .into_iter()
            .filter(|s| s.is_changeable())
            .map(ApprovalStatus::as_str)
            .collect();
        assert_eq!(open, ["PENDING", "APPROVED", "REJECTED"]);
    }
}
