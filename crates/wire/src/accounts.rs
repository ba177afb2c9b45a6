//! Accounts as their organization sees them.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::identity::{AccessLevel, Account, AccountStatus};
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};

/// How many roles a member may hold.
pub const ROLES_MAX: usize = 50;
/// How long a text to search by may be.
pub const QUERY_CHARS_MAX: usize = 200;

/// What an account is to one organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MembershipLevel {
    /// Answers for it.
    Owner,
    /// Runs it.
    Admin,
    /// Works in it.
    Member,
}

/// An account and what it is to the caller's organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Member {
    /// The account.
    #[serde(flatten)]
    pub account: Account,
    /// What it is to the organization; null if it has left, or never belonged to it.
    pub membership_level: Option<MembershipLevel>,
    /// Its roles there; `admin` stands for the level.
    pub roles: Vec<String>,
    /// Who gave which of them.
    pub role_grants: Vec<RoleGrant>,
    /// Who decides in its place when it cannot.
    pub manager_id: Option<Uuid>,
    /// Since when it belongs to the organization.
    #[schema(format = DateTime)]
    pub joined_at: Option<String>,
    /// Whether the organization is its home, whose admins may change it.
    pub at_home: bool,
}

/// A role and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleGrant {
    /// Its name.
    pub role: String,
    /// The account that gave it; one that somebody gave himself does not make him eligible.
    pub granted_by: Uuid,
}

/// Makes an account, or invites the one that has the address.
#[derive(Clone, Debug, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    /// Its address.
    #[garde(length(bytes, min = 3, max = 254))]
    #[schema(min_length = 3, max_length = 254)]
    pub email: String,
    /// Its name for people.
    #[garde(length(chars, min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    pub display_name: String,
    /// What kind of account (default: a person).
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub access_level: Option<AccessLevel>,
    /// Its roles in the organization.
    #[garde(length(max = ROLES_MAX))]
    #[serde(default)]
    pub roles: Vec<String>,
    /// Who decides in its place when it cannot.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager_id: Option<Uuid>,
}

/// Changes an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeAccount {
    /// A new address.
    #[garde(inner(length(bytes, min = 3, max = 254)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// A new name for people.
    #[garde(inner(length(chars, min = 1, max = 200)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// A new name in Gitea; null removes it.
    #[garde(skip)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub gitea_username: Option<Option<String>>,
    /// Whether it may authenticate. Suspension ends its logins at once.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub status: Option<AccountStatus>,
    /// What kind of account; for instance admins.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub access_level: Option<AccessLevel>,
}

/// Which accounts to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AccountsQuery {
    /// Whose e-mail, or name from the beginning of any word, begins like this.
    #[garde(inner(length(chars, max = QUERY_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Who has this name in Gitea.
    #[garde(inner(length(chars, max = QUERY_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitea_username: Option<String>,
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

/// Somebody has the address already and was asked to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invited {
    /// The invitation.
    pub invitation_id: Uuid,
}
