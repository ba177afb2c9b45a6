//! Tenants and their members.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::accounts::{MembershipLevel, QUERY_CHARS_MAX, ROLES_MAX};
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};

/// Makes an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOrganization {
    /// Its name for people, unique in the hub.
    #[garde(length(chars, min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// Its short name, unique in the hub.
    #[garde(length(bytes, min = 1, max = 64))]
    #[schema(min_length = 1, max_length = 64)]
    pub slug: String,
    /// Its name in Gitea.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitea_org_name: Option<String>,
}

/// Changes an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeOrganization {
    /// A new name; for instance admins, because names are unique in the hub.
    #[garde(inner(length(chars, min = 1, max = 200)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A new short name; for instance admins.
    #[garde(inner(length(bytes, min = 1, max = 64)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// A new name in Gitea; null removes it.
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub gitea_org_name: Option<Option<String>>,
    /// Whether it is closed; for instance admins, from another organization.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Which organizations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OrganizationsQuery {
    /// Only the one with this short name.
    #[garde(inner(length(chars, max = QUERY_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Only those with this name in Gitea.
    #[garde(inner(length(chars, max = QUERY_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitea_org_name: Option<String>,
    /// How many to list (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Continue a list: its `next_cursor`.
    #[garde(inner(length(bytes, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Adds an account that exists to the organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// Whom.
    #[garde(skip)]
    pub account_id: Uuid,
    /// As what (default: member).
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub membership_level: Option<MembershipLevel>,
    /// With which roles.
    #[garde(length(max = ROLES_MAX))]
    #[serde(default)]
    pub roles: Vec<String>,
    /// Who decides in its place when it cannot.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager_id: Option<Uuid>,
}

/// Changes what a member is to the organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    /// Admin or member.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub membership_level: Option<MembershipLevel>,
    /// All roles, new.
    #[garde(inner(length(max = ROLES_MAX)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Another manager; null removes the one there is.
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub manager_id: Option<Option<Uuid>>,
}

/// Gives the organization another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferOwnership {
    /// The owner from now on.
    #[garde(skip)]
    pub account_id: Uuid,
}
