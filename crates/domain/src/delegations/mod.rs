//! Delegations: who decides for whom, on what, and how long (DELEG-01 to DELEG-12).

mod book;
mod form;
mod routing;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use serde_json::{Value, json};

use crate::accounts::Account;
use crate::globs::{ResourceName, ResourcePattern};
use crate::organizations::Organization;
use crate::permissions::Standing;
use crate::tasks::{Behind, Provenance, Resource};
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use book::{Book, CHAIN_MAX, Chain, Link, Route};
pub use form::{DELEGATIONS_MAX, DelegationChange};
pub use routing::{NotRouting, Routing, may_stand_in};

/// What a delegation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DelegationKind {
    /// Somebody else is asked instead.
    Transfer,
    /// When somebody else approves, the owner's approval is recorded as following them.
    Follow,
}

impl DelegationKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Transfer, Self::Follow];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Follow => "follow",
        }
    }
}

impl FromStr for DelegationKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// On what somebody else decides. What is said narrows, and nothing said means everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conditions {
    /// Tasks of these types.
    pub task_types: Option<Vec<String>>,
    /// Tasks all of whose resources are like these.
    pub resource_patterns: Option<Vec<String>>,
    /// Tasks with a higher score than this.
    pub risk_above: Option<u32>,
}

/// What the conditions are asked of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matter {
    /// The task's type.
    pub task_type: String,
    /// What it touches.
    pub resources: Vec<ResourceName>,
    /// Its score when the review began.
    pub risk_score: u32,
}

impl Matter {
    /// Of a task that is reviewed.
    #[must_use]
    pub fn new(task_type: &str, resources: &[Resource], risk_score: u32) -> Self {
        let resources = resources.iter().map(ResourceName::from).collect();
        Self { task_type: task_type.to_owned(), resources, risk_score }
    }
}

/// Stored bytes that are not what was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("these are not stored conditions of a delegation")]
pub struct NotConditions;

fn text(value: &Value) -> Result<String, NotConditions> {
    value.as_str().map(ToOwned::to_owned).ok_or(NotConditions)
}

impl Conditions {
    /// As they are stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "task_types": self.task_types,
            "resource_patterns": self.resource_patterns,
            "risk_above": self.risk_above,
        })
    }

    /// Reads what [`Conditions::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotConditions> {
        // Read in place: a chain has many, and most say nothing.
        let member = |name: &str| value.get(name).ok_or(NotConditions);
        let texts = |name: &str| match member(name)? {
            Value::Null => Ok(None),
            list => {
                list.as_array().ok_or(NotConditions)?.iter().map(text).collect::<Result<_, _>>().map(Some)
            }
        };
        let risk = match member("risk_above")? {
            Value::Null => None,
            number => {
                let number = number.as_u64().and_then(|number| u32::try_from(number).ok());
                Some(number.ok_or(NotConditions)?)
            }
        };
        Ok(Self {
            task_types: texts("task_types")?,
            resource_patterns: texts("resource_patterns")?,
            risk_above: risk,
        })
    }

    /// Whether they cover the matter. A pattern that cannot be read covers nothing.
    #[must_use]
    pub fn cover(&self, matter: &Matter) -> bool {
        let types = self.task_types.as_ref();
        let in_types = types.is_none_or(|types| types.contains(&matter.task_type));
        let in_patterns = self.resource_patterns.as_ref().is_none_or(|patterns| {
            let patterns: Vec<ResourcePattern> =
                patterns.iter().filter_map(|pattern| ResourcePattern::new(pattern).ok()).collect();
            let is_meant = |name: &ResourceName| patterns.iter().any(|pattern| pattern.means(name));
            !matter.resources.is_empty() && matter.resources.iter().all(is_meant)
        });
        in_types && in_patterns && self.risk_above.is_none_or(|risk| matter.risk_score > risk)
    }
}

/// One person's word that somebody else decides, or goes before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delegation {
    /// Its id.
    pub id: Id<Delegation>,
    /// Where it holds.
    pub org_id: Id<Organization>,
    /// Whose requests.
    pub owner_id: Id<Account>,
    /// Who decides, or goes before.
    pub delegate_to: Id<Account>,
    /// Which of the two.
    pub kind: DelegationKind,
    /// On what.
    pub conditions: Conditions,
    /// Whether the delegate's own delegations are followed.
    pub cascade: bool,
    /// Whether it holds at all.
    pub active: bool,
    /// From when on.
    pub starts_at: Option<Timestamp>,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// Everybody who stood behind saying so.
    pub behind: Behind,
    /// Grows with every change.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Delegation {
    /// Whether it holds at this time.
    #[must_use]
    pub fn is_in_force(&self, at: Timestamp) -> bool {
        self.active
            && self.starts_at.is_none_or(|starts_at| starts_at <= at)
            && self.expires_at.is_none_or(|expires_at| at < expires_at)
    }

    /// Whether it is this person's to change: nobody delegates for another.
    #[must_use]
    pub fn may_be_changed_by(&self, who: Id<Account>) -> bool {
        self.owner_id == who
    }

    /// Whether this person may end it: its owner, or an admin, who thereby gives the requests back to the owner.
    #[must_use]
    pub fn may_be_ended_by(&self, who: Id<Account>, standing: Standing) -> bool {
        self.owner_id == who || standing.is_org_admin()
    }

    /// Whether it is a leave: open requests move when it begins, and those not answered come back when it ends.
    #[must_use]
    pub const fn is_leave(&self) -> bool {
        self.starts_at.is_some() && self.expires_at.is_some()
    }

    /// When it next begins or ends by itself.
    #[must_use]
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        let boundaries = [self.starts_at, self.expires_at].into_iter().flatten();
        if self.active { boundaries.filter(|boundary| *boundary > now).min() } else { None }
    }

    /// Whether it covers the matter, and nobody who had a hand in the task stood behind saying so.
    #[must_use]
    pub fn holds_for(&self, matter: &Matter, provenance: &Provenance, at: Timestamp) -> bool {
        self.is_in_force(at) && self.conditions.cover(matter) && !provenance.meets(&self.behind)
    }

    /// Whether both hold at some common time.
    fn overlaps(&self, other: &Self) -> bool {
        let start = self.starts_at.max(other.starts_at);
        let ends = [self.expires_at, other.expires_at].into_iter().flatten().min();
        start.zip(ends).is_none_or(|(start, end)| start < end)
    }
}
