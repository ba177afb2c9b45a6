//! Policies: who must decide on what.

pub mod backtest;
pub mod conditions;
mod eligibility;
mod form;
pub mod hours;
mod json;
mod rule_set;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use eligibility::{
    Because, Candidate, Ineligible, eligible, eligible_by_escalation, eligible_by_joining,
};
pub use form::{DEFAULT_NAME, PolicyChange};
pub use hours::Hours;
pub use json::NotRules;
pub use rule_set::{Author, MissingDefault, POLICIES_MAX, Question, RuleSet, Zones};

/// What one rejection does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RejectOn {
    /// It rejects the task.
    Any,
    /// The task is rejected once the quorum cannot be reached any more.
    Unreachable,
}

impl RejectOn {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Any, Self::Unreachable];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Unreachable => "unreachable",
        }
    }
}

impl FromStr for RejectOn {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// What happens when nobody answers at the last level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnTimeout {
    /// The task is rejected.
    Deny,
    /// It waits.
    Park,
}

impl OnTimeout {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Deny, Self::Park];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Park => "park",
        }
    }
}

impl FromStr for OnTimeout {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Who must agree before a policy is content. What a review pins of a policy, beside its name and version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quorum {
    /// How many different people must say yes.
    pub min_approvers: u32,
    /// Whoever holds one of these roles may be asked.
    pub required_roles: Vec<String>,
    /// These people may be asked too.
    pub reviewers: Vec<Id<Account>>,
    /// What one rejection does.
    pub reject_on: RejectOn,
    /// Whether an admin who joined the review counts.
    pub admins_count: bool,
    /// Whether an approval that follows another counts as an act.
    pub following_counts: bool,
    /// Whether services may vote.
    pub allow_service_reviewers: bool,
}

/// What must hold for a task to pass without a person. Each list present and not empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AutoApproveIf {
    /// The score is below this.
    pub risk_below: u32,
    /// The author holds one of these roles.
    pub author_has_role: Vec<String>,
    /// Every resource matches one of these patterns.
    pub resources_in_scope: Vec<String>,
}

/// One version of what a policy says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyRules {
    /// Matches tasks of these types; empty: all.
    pub task_types: Vec<String>,
    /// Matches tasks with a resource like these; empty: all.
    pub resource_patterns: Vec<String>,
    /// Matches at or above this score.
    pub risk_threshold: u32,
    /// Narrows it further (CEL); in doubt it applies.
    pub when: Option<String>,
    /// Narrows it to some hours; in doubt it applies.
    pub hours: Option<Hours>,
    /// Who must agree.
    pub quorum: Quorum,
    /// How long people have; none: the organization's setting.
    pub timeout_seconds: Option<u32>,
    /// Who is asked after a timeout, level by level.
    pub escalate_to: Vec<Vec<Id<Account>>>,
    /// What happens at the end of the last level.
    pub on_timeout: OnTimeout,
    /// When it lets a task pass by itself.
    pub auto_approve_if: Option<AutoApproveIf>,
}

/// A policy, as of its current version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Its id.
    pub id: Id<Policy>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// What people call it; unique in the organization.
    pub name: String,
    /// Whether it stands in where none matches.
    pub is_default: bool,
    /// Whether it is asked at all.
    pub active: bool,
    /// Grows with every change.
    pub version: i64,
    /// What it says.
    pub rules: PolicyRules,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A version of a policy that applies to a task, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// The policy.
    pub policy_id: Id<Policy>,
    /// The version.
    pub version: i64,
    /// What people call it.
    pub name: String,
    /// Why it applies, in words for a reviewer.
    pub because: Vec<String>,
    /// Who must agree.
    pub quorum: Quorum,
    /// How long people have; none: the organization's setting.
    pub timeout_seconds: Option<u32>,
}
