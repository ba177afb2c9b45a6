//! What is sent.

use serde_json::{Value, json};

use super::Webhook;
use crate::events::Event;
use crate::{Id, Timestamp};

/// A message of Standard Webhooks. `event` is the event as everybody gets it.
#[must_use]
pub fn standard(event_type: &str, occurred_at: Timestamp, event: &Value) -> Vec<u8> {
    json!({"type": event_type, "timestamp": occurred_at.to_string(), "data": event}).to_string().into_bytes()
}

/// A text for people in a channel: what happened, to what.
#[must_use]
pub fn slack(event: &Event) -> Vec<u8> {
    let mut text = format!(
        "*{}* {} `{}`",
        escaped(&event.event_type),
        escaped(&event.subject_type),
        escaped(&event.subject_id)
    );
    let word = |name: &str| event.payload[name].as_str().map(escaped);
    if let (Some(from), Some(to)) = (word("from"), word("to")) {
        text = format!("{text}: {from} → {to}");
    }
    json!({"text": text}).to_string().into_bytes()
}

/// Slack's own marks, as text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('`', "'")
}

/// What a test tells.
#[must_use]
pub fn test_event(id: Id<Event>, webhook: &Webhook, now: Timestamp) -> Event {
    Event {
        seq: None,
        id,
        org_id: Some(webhook.org_id),
        event_type: "webhook:test".into(),
        occurred_at: now,
        actor: None,
        source: "webhooks".into(),
        subject_type: "webhook".into(),
        subject_id: webhook.id.to_string(),
        payload: json!({}),
    }
}
