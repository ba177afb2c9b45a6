//! Webhooks: where an organization is told of its events.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::not_null;

/// The longest address.
pub const URL_CHARS_MAX: usize = 2048;
/// The longest time for which an old secret is still signed with.
pub const OVERLAP_SECONDS_MAX: u32 = 30 * 24 * 3600;

/// What the bodies look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// As Standard Webhooks has it: `{"type", "timestamp", "data"}`, the event as `data`.
    Standard,
    /// As incoming webhooks of Slack take it: `{"text"}`.
    Slack,
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is to be sent, or sent again.
    Pending,
    /// The endpoint took it.
    Delivered,
    /// It was tried for a day; it can be sent again.
    Parked,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// Its id.
    pub id: Uuid,
    /// Where it is.
    pub url: String,
    /// The types it wants; none: all.
    pub types: Vec<String>,
    /// What bodies look like.
    pub format: WebhookFormat,
    /// Whether anything is sent.
    pub active: bool,
    /// Until when messages are signed with the secret before this one too.
    #[schema(required, format = DateTime)]
    pub previous_secret_until: Option<String>,
    /// Who made it.
    #[schema(required)]
    pub created_by: Option<Uuid>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// An endpoint with its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedWebhook {
    /// The endpoint.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What messages are signed with; null when this answer was given before.
    #[schema(required)]
    pub secret: Option<String>,
    /// Whether this answer was given before.
    pub replayed: bool,
}

/// An endpoint that is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    /// Where it is: http or https.
    #[garde(length(bytes, min = 1, max = URL_CHARS_MAX))]
    pub url: String,
    /// The types it wants, such as `task:*`; none: all.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub types: Option<Vec<String>>,
    /// What messages are signed with (`whsec_…`); a new secret if nobody says.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<String>,
    /// What bodies look like (default `standard`).
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub format: Option<WebhookFormat>,
    /// Whether anything is sent (default true).
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub active: Option<bool>,
}

/// What is to be different; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhook {
    /// Where it is.
    #[garde(inner(length(bytes, min = 1, max = URL_CHARS_MAX)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// The types it wants; an empty list: all.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub types: Option<Vec<String>>,
    /// What bodies look like.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub format: Option<WebhookFormat>,
    /// Whether anything is sent. Of what happens while it is off nothing is sent later.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub active: Option<bool>,
}

/// Another secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateWebhookSecret {
    /// The new one (`whsec_…`); made if nobody says.
    #[garde(skip)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<String>,
    /// How long messages are signed with the old one too (default a day).
    #[garde(inner(range(max = OVERLAP_SECONDS_MAX)))]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, maximum = 2_592_000)]
    pub overlap_seconds: Option<u32>,
}

/// Something that was sent, or is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its id, which the message carries as `webhook-id`.
    pub id: Uuid,
    /// Where it goes.
    pub webhook_id: Uuid,
    /// The event's number; null for a test.
    #[schema(required)]
    pub event_seq: Option<i64>,
    /// The event's type.
    pub event_type: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried since it was last put in line.
    pub attempts: i64,
    /// When it is tried next.
    #[schema(required, format = DateTime)]
    pub next_attempt_at: Option<String>,
    /// When it was last tried.
    #[schema(required, format = DateTime)]
    pub last_attempt_at: Option<String>,
    /// What is sent, and what it was last sent with.
    pub request: DeliveryRequest,
    /// What was last answered; null without an answer.
    #[schema(required)]
    pub response: Option<DeliveryResponse>,
    /// Why it was not taken.
    #[schema(required)]
    pub error: Option<String>,
    /// How long the last attempt took.
    #[schema(required)]
    pub took_ms: Option<i64>,
    /// When it was put in line first.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryRequest {
    /// Id, time and signature of the last attempt.
    #[schema(required, value_type = Option<Object>)]
    pub headers: Option<Value>,
    /// The body.
    pub body: String,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryResponse {
    /// The status.
    pub status: i64,
    /// The beginning of the body, at most 4 KiB.
    pub body: String,
}

/// Which deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveriesQuery {
    /// Only those that stand so.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<DeliveryState>,
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
