//! Delegations: who decides for whom.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::approvals::REASON_BYTES_MAX;
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};

/// What a delegation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationKind {
    /// Somebody else is asked instead.
    Transfer,
    /// When somebody else approves, the owner's approval is recorded as following them.
    Follow,
}

/// On what. What is left out means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegationConditions {
    /// Tasks of these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_types: Option<Vec<String>>,
    /// Tasks all of whose resources are like these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_patterns: Option<Vec<String>>,
    /// Tasks with a higher score than this, 0 to 99.
    #[schema(maximum = 99)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_above: Option<u32>,
}

/// One person's word that somebody else decides, or goes before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delegation {
    /// The delegation's id.
    pub id: Uuid,
    /// Whose requests.
    pub owner_id: Uuid,
    /// Who decides, or goes before.
    pub delegate_to: Uuid,
    /// Which of the two.
    pub kind: DelegationKind,
    /// On what.
    pub conditions: DelegationConditions,
    /// Whether the delegate's own delegations are followed.
    pub cascade: bool,
    /// Whether it holds at all.
    pub active: bool,
    /// From when on.
    #[schema(required, format = DateTime)]
    pub starts_at: Option<String>,
    /// Until when.
    #[schema(required, format = DateTime)]
    pub expires_at: Option<String>,
    /// Grows with every change.
    pub version: i64,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Makes or changes a delegation. One with both dates is a leave: open requests move when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegationForm {
    /// Who decides, or goes before; required of a new one.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub delegate_to: Option<Uuid>,
    /// Which of the two (default transfer).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub kind: Option<DelegationKind>,
    /// On what (default: everything).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub conditions: Option<DelegationConditions>,
    /// Whether the delegate's own delegations are followed (default false).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub cascade: Option<bool>,
    /// Whether it holds at all (default true).
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// From when on.
    #[garde(skip)]
    #[schema(format = DateTime)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Option<String>>,
    /// Until when.
    #[garde(skip)]
    #[schema(format = DateTime)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Option<String>>,
}

/// Which delegations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DelegationsQuery {
    /// Only those of this account; `me` is the caller.
    #[garde(inner(length(bytes, min = 1, max = 36)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only those that are, or are not, active.
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

/// Passes a request on to somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassOn {
    /// Who decides instead: an active person who is a reviewer or an admin.
    #[garde(skip)]
    pub to: Uuid,
    /// Why.
    #[garde(inner(length(bytes, min = 1, max = REASON_BYTES_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
