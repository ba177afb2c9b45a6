//! What people are told.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};

/// As many kinds as a list of them can sensibly name.
const MUTED_MAX: usize = 64;

/// Something the caller was told: an event that was addressed to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// The notification's id.
    pub id: Uuid,
    /// What, such as `review_requested` or `task_approved`.
    pub kind: String,
    /// About which task.
    pub task_id: Uuid,
    /// About which request, if it is about one.
    #[schema(required)]
    pub approval_id: Option<Uuid>,
    /// The type of the event.
    pub event_type: String,
    /// The event's place in the log; null while it has none, and when it is forgotten.
    #[schema(required)]
    pub event_seq: Option<i64>,
    /// Who did it; null: the hub by itself.
    #[schema(required)]
    pub actor_id: Option<Uuid>,
    /// Ids and words that say more, such as `resolution` or `due_at`.
    pub facts: Map<String, Value>,
    /// When.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was first handed to the caller.
    #[schema(required, format = DateTime)]
    pub delivered_at: Option<String>,
    /// When the caller said that it was read.
    #[schema(required, format = DateTime)]
    pub read_at: Option<String>,
}

/// Which notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotificationsQuery {
    /// Only those that are not read, or are.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<bool>,
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

/// What the caller does not want to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationPreferences {
    /// Kinds that are not told.
    pub muted: Vec<String>,
    /// Every kind that can be muted.
    pub mutable: Vec<String>,
    /// Kinds that ask for a decision; they are always told.
    pub always: Vec<String>,
}

/// Mutes these kinds, and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetNotificationPreferences {
    /// Kinds that are not to be told.
    #[garde(length(max = MUTED_MAX), inner(length(bytes, min = 1, max = 64)))]
    pub muted: Vec<String>,
}
