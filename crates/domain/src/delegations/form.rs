//! What may be said in a delegation.

use super::{Conditions, Delegation, DelegationKind};
use crate::accounts::Account;
use crate::globs::ResourcePattern;
use crate::json::FieldError;
use crate::tasks::Behind;
use crate::text::NAME_CHARS_MAX;
use crate::{Id, Timestamp};

/// How many delegations of one person are active at most.
pub const DELEGATIONS_MAX: usize = 20;

const TYPES_MAX: usize = 50;
const PATTERNS_MAX: usize = 100;
const SCORE_MAX: u32 = 100;

/// What to change; what is none stays. The inner none removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DelegationChange {
    /// Who decides, or goes before.
    pub delegate_to: Option<Id<Account>>,
    /// Which of the two.
    pub kind: Option<DelegationKind>,
    /// On what; all conditions.
    pub conditions: Option<Conditions>,
    /// Whether the delegate's own delegations are followed.
    pub cascade: Option<bool>,
    /// Whether it holds at all.
    pub active: Option<bool>,
    /// From when on.
    pub starts_at: Option<Option<Timestamp>>,
    /// Until when.
    pub expires_at: Option<Option<Timestamp>>,
}

impl Delegation {
    /// The delegation after a change, as its next version; the same one if nothing is different.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn changed(
        &self,
        change: &DelegationChange,
        behind: &Behind,
        now: Timestamp,
    ) -> Result<Self, Vec<FieldError>> {
        let wanted = change.clone();
        let changed = Self {
            delegate_to: wanted.delegate_to.unwrap_or(self.delegate_to),
            kind: wanted.kind.unwrap_or(self.kind),
            conditions: wanted.conditions.unwrap_or_else(|| self.conditions.clone()),
            cascade: wanted.cascade.unwrap_or(self.cascade),
            active: wanted.active.unwrap_or(self.active),
            starts_at: wanted.starts_at.unwrap_or(self.starts_at),
            expires_at: wanted.expires_at.unwrap_or(self.expires_at),
            ..self.clone()
        };
        changed.check()?;
        if changed == *self {
            return Ok(changed);
        }
        // Whoever had a hand in any version of it stands behind what it says now.
        let behind = self.behind.iter().chain(behind.iter()).collect();
        let updated_at = now.after(self.updated_at);
        Ok(Self { behind, version: self.version + 1, updated_at, ..changed })
    }

    /// The delegation, no longer in force.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> Self {
        let updated_at = now.after(self.updated_at);
        Self { active: false, version: self.version + 1, updated_at, ..self.clone() }
    }

    /// Everything wrong with what it says.
    ///
    /// # Errors
    /// Each by its place.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut errors = self.conditions.wrong();
        let mut wrong = |pointer: &str, detail: &str| {
            errors.push(FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() });
        };
        if self.delegate_to == self.owner_id {
            wrong("/delegate_to", "nobody stands in for themselves");
        }
        if self.starts_at.zip(self.expires_at).is_some_and(|(starts_at, ends_at)| ends_at <= starts_at) {
            wrong("/expires_at", "must be after the beginning");
        }
        if self.kind == DelegationKind::Follow && self.cascade {
            wrong("/cascade", "following ends with the person followed");
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

impl Conditions {
    fn wrong(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut wrong = |pointer: String, detail: String| errors.push(FieldError { pointer, detail });
        let lists = [
            ("task_types", &self.task_types, TYPES_MAX),
            ("resource_patterns", &self.resource_patterns, PATTERNS_MAX),
        ];
        for (name, list, max) in lists {
            let Some(items) = list else { continue };
            let place = format!("/conditions/{name}");
            if items.is_empty() {
                wrong(place, "must name something; leave it out to mean everything".into());
            } else if items.len() > max {
                wrong(place, format!("must have at most {max} members"));
            }
        }
        for (index, task_type) in self.task_types.iter().flatten().enumerate() {
            if task_type.is_empty() || task_type.chars().count() > NAME_CHARS_MAX {
                wrong(format!("/conditions/task_types/{index}"), "is no type of task".into());
            }
        }
        for (index, pattern) in self.resource_patterns.iter().flatten().enumerate() {
            if let Err(bad) = ResourcePattern::new(pattern) {
                wrong(format!("/conditions/resource_patterns/{index}"), bad.to_string());
            }
        }
        if self.risk_above.is_some_and(|risk| risk >= SCORE_MAX) {
            wrong("/conditions/risk_above".into(), "must be 0 to 99".into());
        }
        errors
    }
}
