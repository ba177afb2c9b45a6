//! Grants: permission to start a counted number of attempts of exactly what was approved.

use std::str::FromStr;

use crate::accounts::Account;
use crate::approvals::Approval;
use crate::canonical::Sha256Hash;
use crate::organizations::Organization;
use crate::policies::Policy;
use crate::reviews::Review;
use crate::tasks::Task;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// What a Grant rests on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Basis {
    /// People agreed.
    Quorum,
    /// Every policy let it pass.
    Auto,
    /// Two admins signed.
    Override,
}

impl Basis {
    /// Every basis.
    pub const ALL: [Self; 3] = [Self::Quorum, Self::Auto, Self::Override];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quorum => "quorum",
            Self::Auto => "auto",
            Self::Override => "override",
        }
    }
}

impl FromStr for Basis {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A version of a policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyVersion {
    /// The policy.
    pub policy_id: Id<Policy>,
    /// The version.
    pub version: i64,
}

/// Two admins' word that an approved task need not wait for others (DECISIONS.md 30).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skip {
    /// For which: those that were not done when it was asked for.
    pub prerequisites: Vec<Id<Task>>,
    /// The request that was signed; it says who asked.
    pub approval_id: Id<Approval>,
    /// Who signed it.
    pub signed_by: Id<Account>,
    /// When.
    pub signed_at: Timestamp,
}

/// Permission to start attempts. A record, no secret; only the resolution of a review makes one, only the gate takes
/// from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Its id.
    pub id: Id<Grant>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// For which task.
    pub task_id: Id<Task>,
    /// From which review.
    pub review_id: Id<Review>,
    /// For which revision.
    pub revision: i64,
    /// For which bytes.
    pub content_hash: Sha256Hash,
    /// For which effect, if the hub knows it.
    pub effect_hash: Option<Sha256Hash>,
    /// Under which policies.
    pub policy_versions: Vec<PolicyVersion>,
    /// On what it rests.
    pub basis: Basis,
    /// How many attempts were approved.
    pub attempts: u32,
    /// How many began.
    pub attempts_started: u32,
    /// Until when the first must begin.
    pub valid_until: Timestamp,
    /// Which prerequisites it need not wait for; none: it waits for all.
    pub skip: Option<Skip>,
    /// When it was taken back.
    pub voided_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Grant {
    /// How many attempts may still begin.
    #[must_use]
    pub const fn attempts_left(&self) -> u32 {
        self.attempts.saturating_sub(self.attempts_started)
    }

    /// Whether it was never used and is too old to be (DECISIONS.md 30).
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.attempts_started == 0 && self.valid_until <= now
    }

    /// The Grant after a second admin signed.
    #[must_use]
    pub fn skipping(&self, skip: Skip) -> Self {
        Self { updated_at: skip.signed_at.after(self.updated_at), skip: Some(skip), ..self.clone() }
    }

    /// The Grant after it was taken back.
    #[must_use]
    pub fn voided(&self, now: Timestamp) -> Self {
        Self { voided_at: Some(now), updated_at: now.after(self.updated_at), ..self.clone() }
    }
}
