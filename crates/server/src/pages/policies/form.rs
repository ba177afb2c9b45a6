//! The form of a policy. What it does not have a field for stays as it is.

use domain::json::FieldError;
use domain::policies::{OnTimeout, Policy, PolicyChange, PolicyRules, RejectOn};
use serde::Deserialize;

use crate::pages::form::several;
use crate::pages::wrong::wrong;

/// Where the form has what the hub finds wrong. Whoever decides is asked for by role here.
pub(super) const PLACES: [(&str, &str); 11] = [
    ("/name", "name"),
    ("/task_types", "task_types"),
    ("/resource_patterns", "resource_patterns"),
    ("/risk_threshold", "risk_threshold"),
    ("/when", "when"),
    ("/min_approvers", "min_approvers"),
    ("/required_roles", "required_roles"),
    ("/reviewers", "required_roles"),
    ("/reject_on", "reject_on"),
    ("/timeout_seconds", "timeout_hours"),
    ("/on_timeout", "on_timeout"),
];

/// What is typed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFields {
    pub(super) version: String,
    name: String,
    task_types: String,
    resource_patterns: String,
    risk_threshold: String,
    when: String,
    min_approvers: String,
    required_roles: String,
    reject_on: String,
    timeout_hours: String,
    on_timeout: String,
}

/// What the form begins with.
pub(super) struct Values {
    pub(super) version: String,
    pub(super) name: String,
    pub(super) task_types: String,
    pub(super) resource_patterns: String,
    pub(super) risk_threshold: String,
    pub(super) when: String,
    pub(super) min_approvers: String,
    pub(super) required_roles: String,
    pub(super) rejects_at_once: bool,
    pub(super) timeout_hours: String,
    pub(super) denies: bool,
}

impl Values {
    /// As the policy is; of a new one as nobody has said otherwise.
    pub(super) fn of(policy: Option<&Policy>) -> Self {
        let blank = PolicyRules::blank();
        let rules = policy.map_or(&blank, |policy| &policy.rules);
        let hours = rules.timeout_seconds.map(|seconds| (f64::from(seconds) / 3600.0).to_string());
        Self {
            version: policy.map(|policy| policy.version.to_string()).unwrap_or_default(),
            name: policy.map(|policy| policy.name.clone()).unwrap_or_default(),
            task_types: rules.task_types.join(", "),
            resource_patterns: rules.resource_patterns.join(", "),
            risk_threshold: rules.risk_threshold.to_string(),
            when: rules.when.clone().unwrap_or_default(),
            min_approvers: rules.quorum.min_approvers.max(1).to_string(),
            required_roles: rules.quorum.required_roles.join(", "),
            rejects_at_once: rules.quorum.reject_on == RejectOn::Any,
            timeout_hours: hours.unwrap_or_default(),
            denies: rules.on_timeout == OnTimeout::Deny,
        }
    }
}

impl From<PolicyFields> for Values {
    /// As it was typed, so that nobody types it again.
    fn from(fields: PolicyFields) -> Self {
        Self {
            rejects_at_once: fields.reject_on != "unreachable",
            denies: fields.on_timeout != "park",
            version: fields.version,
            name: fields.name,
            task_types: fields.task_types,
            resource_patterns: fields.resource_patterns,
            risk_threshold: fields.risk_threshold,
            when: fields.when,
            min_approvers: fields.min_approvers,
            required_roles: fields.required_roles,
            timeout_hours: fields.timeout_hours,
        }
    }
}

impl PolicyFields {
    /// What it means, or what is wrong with it.
    pub(super) fn change(&self) -> Result<PolicyChange, Vec<FieldError>> {
        let when = self.when.trim();
        let mut errors = Vec::new();
        let mut note = |pointer: &str, detail: &str| errors.push(wrong(pointer, detail));
        let mut whole = |pointer: &str, text: &str| {
            text.trim().parse().map_err(|_| note(pointer, "must be a whole number")).ok()
        };
        let risk_threshold = whole("/risk_threshold", &self.risk_threshold);
        let min_approvers = whole("/min_approvers", &self.min_approvers);
        let (reject_on, on_timeout) = (self.reject_on.parse().ok(), self.on_timeout.parse().ok());
        for (pointer, is_known) in
            [("/reject_on", reject_on.is_some()), ("/on_timeout", on_timeout.is_some())]
        {
            if !is_known {
                errors.push(wrong(pointer, "must be one of the answers"));
            }
        }
        let timeout_seconds = hours(&self.timeout_hours).map_err(|error| errors.push(error)).ok();
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(PolicyChange {
            name: Some(self.name.clone()),
            task_types: Some(several(&self.task_types)),
            resource_patterns: Some(several(&self.resource_patterns)),
            risk_threshold,
            when: Some((!when.is_empty()).then(|| when.to_owned())),
            min_approvers,
            required_roles: Some(several(&self.required_roles)),
            reject_on,
            timeout_seconds,
            on_timeout,
            ..PolicyChange::default()
        })
    }
}

/// Hours, as seconds; none where nothing is typed.
fn hours(text: &str) -> Result<Option<u32>, FieldError> {
    const HOURS_MAX: f64 = 100_000.0;
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let hours: f64 = text.parse().unwrap_or(-1.0);
    if !(hours > 0.0 && hours <= HOURS_MAX) {
        return Err(wrong("/timeout_seconds", "must be a number of hours, or nothing"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 360,000,000"
    )]
    let seconds = (hours * 3600.0).round() as u32;
    Ok(Some(seconds.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_seconds_and_nothing_is_the_organizations() {
        assert_eq!([hours(""), hours("4"), hours(" 0.5 ")], [Ok(None), Ok(Some(14_400)), Ok(Some(1800))]);
        for wrong in ["x", "-1", "0", "NaN", "inf", "1e99"] {
            assert!(hours(wrong).is_err(), "{wrong}");
        }
    }
}
