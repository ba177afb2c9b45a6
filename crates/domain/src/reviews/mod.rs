//! Reviews: one round of asking people about one revision of a task.

mod aging;
mod clocks;
mod escalate;
#[cfg(test)]
mod escalate_tests;
mod moves;
mod open;
mod overrides;
mod panel;
mod resolve;
mod seats;
mod summary;
mod tally;
#[cfg(test)]
mod tests;
mod votes;

use std::str::FromStr;

use serde_json::json;

use crate::accounts::Account;
use crate::canonical::Sha256Hash;
use crate::organizations::Organization;
use crate::policies::Matched;
use crate::tasks::Task;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use clocks::{Escalation, NotAClock, Outcome, PolicyClock, Times};
pub use escalate::{Due, Ladder, Step};
pub use moves::{Moved, PassRefusal};
pub use open::{Opening, Request, open};
pub use overrides::{Signing, may_sign};
pub use panel::{Asked, Placed, REQUESTS_MAX, Routed, counts_for, left_out, panel, routed};
pub use resolve::{Ended, Ending, Terms, end, withdraw};
pub use seats::{Hall, seats};
pub use summary::{Summary, summary, wanting};
pub use tally::{PolicyTally, Seat, Verdict, tally, verdict};
pub use votes::{Ballot, Case, Counted, VoteRefusal};

/// How a review ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resolution {
    /// Every policy has its quorum.
    Quorum,
    /// Every policy let it pass by itself.
    Auto,
    /// Two admins said so.
    Override,
    /// Somebody said no.
    Rejected,
    /// Somebody wants it changed.
    ChangesRequested,
    /// Nobody answered in time.
    Timeout,
    /// A yes was taken back.
    Withdrawn,
    /// The task was edited or cancelled meanwhile.
    Superseded,
}

impl Resolution {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Quorum,
        Self::Auto,
        Self::Override,
        Self::Rejected,
        Self::ChangesRequested,
        Self::Timeout,
        Self::Withdrawn,
        Self::Superseded,
    ];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quorum => "quorum",
            Self::Auto => "auto",
            Self::Override => "override",
            Self::Rejected => "rejected",
            Self::ChangesRequested => "changes_requested",
            Self::Timeout => "timeout",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
        }
    }
}

impl FromStr for Resolution {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// One round.
#[derive(Clone, PartialEq, Debug)]
pub struct Review {
    /// Its id.
    pub id: Id<Review>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Of which task.
    pub task_id: Id<Task>,
    /// Of which revision of it.
    pub revision: i64,
    /// The hash of that revision's bytes.
    pub content_hash: Sha256Hash,
    /// The hash of what the hub's preview says it changes.
    pub effect_hash: Option<Sha256Hash>,
    /// The score at its beginning.
    pub risk_score: u32,
    /// The hash of all a reviewer is shown.
    pub review_hash: Sha256Hash,
    /// What was matched, pinned.
    pub policies: Vec<Matched>,
    /// Where each of them stands in time, in their order.
    pub clocks: Vec<PolicyClock>,
    /// Every time that was over, the first first.
    pub escalations: Vec<Escalation>,
    /// How it ended.
    pub resolution: Option<Resolution>,
    /// When.
    pub resolved_at: Option<Timestamp>,
    /// By whose answer.
    pub resolved_by: Option<Id<Account>>,
    /// When it began.
    pub created_at: Timestamp,
}

impl Review {
    /// The hash of all that a reviewer is shown and so signs (DECISIONS.md 25).
    #[must_use]
    pub fn hash(
        content_hash: Sha256Hash,
        revision: i64,
        effect_hash: Option<Sha256Hash>,
        risk_score: u32,
        policies: &[Matched],
    ) -> Sha256Hash {
        let versions: Vec<serde_json::Value> = policies
            .iter()
            .map(|matched| json!({"policy_id": matched.policy_id.to_string(), "version": matched.version}))
            .collect();
        Sha256Hash::of_value(&json!({
            "content_hash": content_hash.to_string(),
            "revision": revision,
            "effect_hash": effect_hash.map(|hash| hash.to_string()),
            "risk_score": risk_score,
            "policy_versions": versions,
        }))
    }
}
