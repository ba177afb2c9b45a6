//! Policies, and what an organization says about its resources.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};

/// How long the name of a policy may be.
pub const NAME_CHARS_MAX: usize = 200;

/// What one rejection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectOn {
    /// It rejects the task.
    Any,
    /// The task is rejected once the quorum cannot be reached any more.
    Unreachable,
}

/// What happens when nobody answers at the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// The task is rejected.
    Deny,
    /// It waits.
    Park,
}

/// Some hours of some days; where they end before they begin, they end on the next day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// On which days they begin: `mon` to `sun`, or dates such as `2026-12-24`.
    pub days: Vec<String>,
    /// When they begin, such as `09:00`.
    pub from: String,
    /// When they are over, such as `17:30`; at most `24:00`.
    pub to: String,
}

/// At which hours a policy applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Hours {
    /// Whose hours they are, such as `Europe/Berlin`.
    pub time_zone: String,
    /// In any of these, at most 50.
    pub windows: Vec<Window>,
}

/// What must hold for a task to pass without a person; each of it, and `feature:auto_approve_low_risk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoApproveIf {
    /// The score is below this (1 to 100).
    pub risk_below: u32,
    /// The author holds one of these roles.
    pub author_has_role: Vec<String>,
    /// Every resource is like one of these patterns.
    pub resources_in_scope: Vec<String>,
}

/// Who must decide on what, as of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Policy {
    /// The policy's id.
    pub id: Uuid,
    /// What people call it, unique in the organization.
    pub name: String,
    /// Whether it stands in where no other applies.
    pub is_default: bool,
    /// Whether it is asked at all.
    pub active: bool,
    /// From 1; each change makes the next.
    pub version: i64,
    /// Applies to tasks of these types; none: of all.
    pub task_types: Vec<String>,
    /// Applies to tasks with a resource like these; none: to all.
    pub resource_patterns: Vec<String>,
    /// Applies at or above this score.
    pub risk_threshold: u32,
    /// Narrows it further (CEL).
    #[schema(required)]
    pub when: Option<String>,
    /// Applies to what comes into review in these hours; null: at any.
    #[schema(required)]
    pub hours: Option<Hours>,
    /// How many different people must agree.
    pub min_approvers: u32,
    /// Whoever holds one of these roles is asked.
    pub required_roles: Vec<String>,
    /// These accounts are asked too.
    pub reviewers: Vec<Uuid>,
    /// What one rejection does.
    pub reject_on: RejectOn,
    /// How long people have; null: the organization's setting.
    #[schema(required)]
    pub timeout_seconds: Option<u32>,
    /// Who is asked after a timeout, level by level.
    pub escalate_to: Vec<Vec<Uuid>>,
    /// What happens at the end of the last level.
    pub on_timeout: OnTimeout,
    /// Whether an admin who joined the review counts.
    pub admins_count: bool,
    /// Whether an approval that follows another counts as an act.
    pub following_counts: bool,
    /// Whether services may decide.
    pub allow_service_reviewers: bool,
    /// When a task passes by itself; null: never.
    #[schema(required)]
    pub auto_approve_if: Option<AutoApproveIf>,
    /// When the policy was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When this version was made.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// What to say in a policy. One that is made says what is absent here by its default; one that is changed keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyForm {
    /// What people call it; needed to make one.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is asked at all (default true).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Applies to tasks of these types, at most 50 (default: of all).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub task_types: Option<Vec<String>>,
    /// Applies to tasks with a resource like these (`prod-*`, `database:prod-*`), at most 100 (default: to all).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub resource_patterns: Option<Vec<String>>,
    /// Applies at or above this score, 0 to 100 (default 0).
    #[garde(skip)]
    #[schema(nullable = false, maximum = 100)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub risk_threshold: Option<u32>,
    /// Narrows it further: a CEL expression over `config`, `resources`, `risk`, `author`, at most 1024 bytes. In doubt
    /// the policy applies.
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub when: Option<Option<String>>,
    /// How many different people must agree, 1 to 50 (default 1).
    #[garde(skip)]
    #[schema(nullable = false, minimum = 1, maximum = 50)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub min_approvers: Option<u32>,
    /// Whoever holds one of these roles is asked; `admin` means the organization's admins.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub required_roles: Option<Vec<String>>,
    /// These members are asked too, at most 100.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<Uuid>>,
    /// What one rejection does (default any).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub reject_on: Option<RejectOn>,
    /// How long people have, from 60 to `approval:max_timeout` (default: `approval:default_timeout`).
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Option<u32>>,
    /// Who is asked after a timeout, at most 10 levels.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub escalate_to: Option<Vec<Vec<Uuid>>>,
    /// What happens at the end of the last level (default deny).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<OnTimeout>,
    /// Whether an admin who joined the review counts (default true).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub admins_count: Option<bool>,
    /// Whether an approval that follows another counts as an act (default false).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub following_counts: Option<bool>,
    /// Whether services may decide (default false).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub allow_service_reviewers: Option<bool>,
    /// Applies to what comes into review in these hours (default: at any). Where the time zone cannot be read, it applies.
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub hours: Option<Option<Hours>>,
    /// When a task passes by itself (default: never).
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub auto_approve_if: Option<Option<AutoApproveIf>>,
}

/// Which policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PoliciesQuery {
    /// Only the one of this name.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only those that are, or are not, in force.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// How many items at most (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[garde(inner(length(bytes, min = 1, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which version of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PolicyQuery {
    /// As it was in this version (default: as it is).
    #[garde(inner(range(min = 1)))]
    #[param(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// What is said about the resources a pattern means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CatalogueRule {
    /// Which resources: `prod-*` means ids, `database:prod-*` means `type:id`.
    pub pattern: String,
    /// How much depends on them, 0 to 100.
    #[schema(maximum = 100)]
    pub criticality: u32,
    /// How many points of blast radius each of them counts (default: what any resource counts).
    #[schema(maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<u32>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_tells_absent_from_null() {
        let read = |value| serde_json::from_value::<PolicyForm>(value);
        assert_eq!(read(json!({})).unwrap(), PolicyForm::default());
        let removal = read(json!({"when": null, "timeout_seconds": null, "auto_approve_if": null})).unwrap();
        assert_eq!(removal.when, Some(None));
        assert_eq!((removal.timeout_seconds, removal.auto_approve_if), (Some(None), Some(None)));
        for fixed in
            ["name", "active", "task_types", "reviewers", "reject_on", "escalate_to", "min_approvers"]
        {
            assert!(read(json!({fixed: null})).is_err(), "{fixed}");
        }
        assert!(read(json!({"hours": {}})).is_err(), "hours of nowhere");
        assert_eq!(read(json!({"hours": null})).unwrap().hours, Some(None));
        assert!(read(json!({"reject_on": "some"})).is_err());
        assert!(read(json!({"auto_approve_if": {"risk_below": 1}})).is_err(), "every condition is named");
    }
}
