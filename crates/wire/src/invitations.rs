//! Invitations of accounts that are at home elsewhere.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::accounts::MembershipLevel;
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};

/// What became of an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvitationStatus {
    /// Nothing yet.
    Open,
    /// The person joined.
    Accepted,
    /// The person did not want to.
    Declined,
    /// The organization changed its mind.
    Withdrawn,
}

/// An organization asks somebody who is at home elsewhere to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    /// The invitation's id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// Its short name.
    pub organization_slug: String,
    /// Its name for people.
    pub organization_name: String,
    /// Who is asked; shown to the one who is asked.
    pub account_id: Option<Uuid>,
    /// The admin who asks.
    pub invited_by: Uuid,
    /// As what.
    pub membership_level: MembershipLevel,
    /// With which roles.
    pub roles: Vec<String>,
    /// What became of it.
    pub status: InvitationStatus,
    /// Until when it can be accepted.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Which invitations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InvitationsQuery {
    /// Those the organization sent, for its admins, instead of those received.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent: bool,
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
