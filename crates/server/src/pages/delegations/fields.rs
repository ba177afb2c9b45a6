//! What is typed of a delegation, and what it means.

use domain::Timestamp;
use domain::delegations::{Conditions, Delegation, DelegationChange, DelegationKind};
use domain::json::FieldError;
use serde::Deserialize;

use crate::pages::form::{moment, several, some};
use crate::pages::wrong::wrong;

/// What is typed.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelegationFields {
    pub(super) version: String,
    pub(super) delegate_to: String,
    pub(super) kind: String,
    pub(super) task_types: String,
    pub(super) resource_patterns: String,
    pub(super) risk_above: String,
    pub(super) starts_at: String,
    pub(super) expires_at: String,
    /// There where it is ticked.
    pub(super) cascade: Option<String>,
}

/// Fields by where the hub finds them.
pub(super) const PLACES: [(&str, &str); 8] = [
    ("/delegate_to", "delegate_to"),
    ("/kind", "kind"),
    ("/conditions/task_types", "task_types"),
    ("/conditions/resource_patterns", "resource_patterns"),
    ("/conditions/risk_above", "risk_above"),
    ("/starts_at", "starts_at"),
    ("/expires_at", "expires_at"),
    ("/cascade", "cascade"),
];

impl DelegationFields {
    /// As nobody has said otherwise.
    pub(super) fn blank() -> Self {
        let none = String::new;
        Self {
            version: none(),
            delegate_to: none(),
            kind: DelegationKind::Transfer.as_str().to_owned(),
            task_types: none(),
            resource_patterns: none(),
            risk_above: none(),
            starts_at: none(),
            expires_at: none(),
            cascade: None,
        }
    }

    /// As it stands.
    pub(super) fn of(delegation: &Delegation) -> Self {
        let said = &delegation.conditions;
        let listed = |texts: &Option<Vec<String>>| texts.as_deref().unwrap_or_default().join(", ");
        Self {
            version: delegation.version.to_string(),
            delegate_to: delegation.delegate_to.to_string(),
            kind: delegation.kind.as_str().to_owned(),
            task_types: listed(&said.task_types),
            resource_patterns: listed(&said.resource_patterns),
            risk_above: said.risk_above.map(|risk| risk.to_string()).unwrap_or_default(),
            starts_at: local(delegation.starts_at),
            expires_at: local(delegation.expires_at),
            cascade: delegation.cascade.then(|| "on".to_owned()),
        }
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// What it means, for a new one or for this one; or everything that is wrong with it here. What the hub knows better
    /// is left to the hub.
    pub(super) fn wanted(&self, current: Option<&Delegation>) -> Result<DelegationChange, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut read = |pointer, text: &str, before: Option<Timestamp>| {
            // A field shows whole minutes, or seconds; whoever leaves it alone does not round what is there.
            let is_left = current.is_some() && text == local(before);
            (!is_left).then(|| moment(pointer, text, &mut errors))
        };
        let starts_at = read("/starts_at", &self.starts_at, current.and_then(|one| one.starts_at));
        let expires_at = read("/expires_at", &self.expires_at, current.and_then(|one| one.expires_at));
        let delegate_to = match some(&self.delegate_to).map(|text| text.parse()) {
            Some(Ok(id)) => Some(id),
            _ => {
                errors.push(wrong("/delegate_to", "say who decides"));
                None
            }
        };
        let kind = self.kind.parse().map_err(|_| errors.push(wrong("/kind", "is neither of the two"))).ok();
        let risk_above = some(&self.risk_above).and_then(|text| {
            let risk = text.parse();
            risk.map_err(|_| errors.push(wrong("/conditions/risk_above", "must be a whole number"))).ok()
        });
        let named = |text: &str| Some(several(text)).filter(|texts| !texts.is_empty());
        let conditions = Conditions {
            task_types: named(&self.task_types),
            resource_patterns: named(&self.resource_patterns),
            risk_above,
        };
        let change = DelegationChange {
            delegate_to,
            kind,
            conditions: Some(conditions),
            cascade: Some(self.cascade.is_some()),
            active: None,
            starts_at,
            expires_at,
        };
        if errors.is_empty() { Ok(change) } else { Err(errors) }
    }
}

/// A time as the field of a browser takes it: UTC, with seconds where there are some.
fn local(at: Option<Timestamp>) -> String {
    let Some(text) = at.map(|at| at.to_string()) else { return String::new() };
    let to_the_second = text.get(.."2026-03-18T15:30:00".len()).unwrap_or_default();
    to_the_second.strip_suffix(":00").unwrap_or(to_the_second).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARA: &str = "0197a000-0000-7000-8000-000000000001";

    fn typed(change: impl Fn(&mut DelegationFields)) -> DelegationFields {
        let mut typed = DelegationFields::blank();
        typed.delegate_to = MARA.to_owned();
        change(&mut typed);
        typed
    }

    #[test]
    fn what_is_typed_is_a_delegation() {
        let wanted = typed(|typed| {
            typed.kind = "follow".to_owned();
            typed.task_types = "deploy, migration".to_owned();
            typed.risk_above = " 50 ".to_owned();
            typed.starts_at = "2026-03-18T15:30".to_owned();
        });
        let wanted = wanted.wanted(None).unwrap();
        assert_eq!(wanted.delegate_to.map(|id| id.to_string()).as_deref(), Some(MARA));
        assert_eq!((wanted.kind, wanted.cascade), (Some(DelegationKind::Follow), Some(false)));
        let conditions = wanted.conditions.unwrap();
        assert_eq!(
            conditions.task_types.as_deref(),
            Some(&["deploy".to_owned(), "migration".to_owned()][..])
        );
        assert_eq!((conditions.resource_patterns, conditions.risk_above), (None, Some(50)));
        assert_eq!(local(wanted.starts_at.unwrap()), "2026-03-18T15:30");
        assert_eq!(wanted.expires_at, Some(None));
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let wrong = typed(|typed| {
            typed.delegate_to = String::new();
            typed.kind = "both".to_owned();
            typed.risk_above = "high".to_owned();
            typed.expires_at = "soon".to_owned();
        });
        let errors = wrong.wanted(None).unwrap_err();
        let found: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(found, ["/expires_at", "/delegate_to", "/kind", "/conditions/risk_above"]);
        assert!(found.iter().all(|pointer| PLACES.iter().any(|(place, _)| place == pointer)));
    }
}
