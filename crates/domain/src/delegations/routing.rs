//! How a request came to whom it is with, as it is stored with it; and who may stand in for another.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Delegation, DelegationKind, Matter};
use crate::accounts::{Account, AccountStatus};
use crate::organizations::MembershipLevel;
use crate::policies::Candidate;
use crate::tasks::{Behind, Provenance, Task};
use crate::{Id, Timestamp, roles};

/// How a request was passed on, and whom its reviewer follows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routing {
    /// By which delegation each step of the chain was taken; none: by hand.
    pub via: Vec<Option<Id<Delegation>>>,
    /// By which delegations the reviewer follows others.
    pub follows: Vec<Id<Delegation>>,
    /// Whether it was passed on because the reviewer left.
    pub reassigned: bool,
    /// Everybody who stands behind asking for the override; nobody, where the policies asked.
    pub asked_by: Vec<Id<Account>>,
    /// Whether the override puts the task at the head of the queue.
    pub puts_first: bool,
    /// What the approved task waits for and shall not wait for any more; nothing, where the review is asked about.
    pub skips: Vec<Id<Task>>,
    /// For which of the policies an escalation list named the reviewer, by place.
    pub escalated: Vec<usize>,
    /// The highest level on which it did.
    pub level: u32,
}

/// Stored bytes that are not what was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not the stored routing of a request")]
pub struct NotRouting;

impl Routing {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Every delegation it names.
    pub fn delegations(&self) -> impl Iterator<Item = Id<Delegation>> {
        self.via.iter().copied().flatten().chain(self.follows.iter().copied())
    }

    /// Whether these are two people: nobody stands behind both asking and signing.
    #[must_use]
    pub fn is_seconded_by(&self, behind: &Behind) -> bool {
        !self.asked_by.is_empty() && behind.iter().all(|signer| !self.asked_by.contains(&signer))
    }

    /// As it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        if self.is_plain() {
            return json!({});
        }
        let via: Vec<Value> = self.via.iter().map(|by| json!(by.map(|id| id.to_string()))).collect();
        let follows: Vec<String> = self.follows.iter().map(ToString::to_string).collect();
        let asked_by: Vec<String> = self.asked_by.iter().map(ToString::to_string).collect();
        let skips: Vec<String> = self.skips.iter().map(ToString::to_string).collect();
        json!({
            "via": via, "follows": follows, "reassigned": self.reassigned, "asked_by": asked_by,
            "puts_first": self.puts_first, "skips": skips, "escalated": self.escalated, "level": self.level,
        })
    }

    /// Reads what [`Routing::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotRouting> {
        let object = value.as_object().ok_or(NotRouting)?;
        if object.is_empty() {
            return Ok(Self::default());
        }
        let list = |name: &str| object.get(name).and_then(Value::as_array).ok_or(NotRouting);
        let flag = |name: &str| object.get(name).and_then(Value::as_bool).ok_or(NotRouting);
        let step = |value: &Value| if value.is_null() { Ok(None) } else { id(value).map(Some) };
        Ok(Self {
            via: list("via")?.iter().map(step).collect::<Result<_, _>>()?,
            follows: list("follows")?.iter().map(id).collect::<Result<_, _>>()?,
            reassigned: flag("reassigned")?,
            asked_by: list("asked_by")?.iter().map(id).collect::<Result<_, _>>()?,
            puts_first: flag("puts_first")?,
            // Requests from before anything could be skipped, or escalated, do not say.
            skips: match object.get("skips") {
                None => Vec::new(),
                Some(_) => list("skips")?.iter().map(id).collect::<Result<_, _>>()?,
            },
            escalated: match object.get("escalated") {
                None => Vec::new(),
                Some(places) => serde_json::from_value(places.clone()).map_err(|_| NotRouting)?,
            },
            level: match object.get("level") {
                None => 0,
                Some(level) => serde_json::from_value(level.clone()).map_err(|_| NotRouting)?,
            },
        })
    }

    /// Whether every step still holds: the very delegations that it was passed on by, for this matter, at this time.
    /// What was revoked does not hold, whenever it was used; what has run out since it was used does.
    #[must_use]
    pub fn holds(
        &self,
        (through, to): (&[Id<Account>], Id<Account>),
        delegations: &BTreeMap<Id<Delegation>, Delegation>,
        matter: Option<&Matter>,
        (provenance, at): (&Provenance, Timestamp),
    ) -> bool {
        let ends = through.iter().skip(1).copied().chain([to]);
        let mut steps = through.iter().zip(ends).zip(&self.via);
        let is_used = |by: &Id<Delegation>, from: Id<Account>, to: Id<Account>| {
            let Some((used, matter)) = delegations.get(by).zip(matter) else { return false };
            used.kind == DelegationKind::Transfer
                && (used.owner_id, used.delegate_to) == (from, to)
                && used.holds_for(matter, provenance, at)
        };
        self.via.len() == through.len()
            && steps.all(|((from, to), by)| by.as_ref().is_none_or(|by| is_used(by, *from, to)))
    }
}

fn id<T>(value: &Value) -> Result<Id<T>, NotRouting> {
    value.as_str().ok_or(NotRouting)?.parse().map_err(|_| NotRouting)
}

/// Whether somebody may decide in another's place: an active person who is a reviewer or an admin here.
#[must_use]
pub fn may_stand_in(candidate: &Candidate) -> bool {
    let is_person = candidate.access_level.is_person() && !candidate.is_agent;
    let is_admin = candidate.level.is_some_and(MembershipLevel::is_admin);
    let reviews = candidate
        .roles
        .iter()
        .any(|held| held.role == roles::REVIEWER && held.counts_for(candidate.account_id));
    let is_here = candidate.status == AccountStatus::Active && candidate.level.is_some();
    is_here && is_person && (is_admin || reviews)
}
