//! The ordered log of what happened.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// How many events an answer holds when nobody says.
pub const LIMIT_DEFAULT: u32 = 200;
/// How many events an answer may hold.
pub const LIMIT_MAX: u32 = 1000;
/// The longest wait for something new.
pub const WAIT_SECONDS_MAX: u32 = 50;
/// Room for every type there is, spelled out.
pub const TYPES_CHARS_MAX: usize = 2048;

/// One fact. The payload holds ids, states and hashes, never what an agent wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its place in the log; null for what is only shown live and never replayed.
    pub seq: Option<i64>,
    /// What kind of fact.
    #[serde(rename = "type")]
    #[schema(example = "audit:sealed")]
    pub kind: String,
    /// When it happened.
    #[schema(format = DateTime)]
    pub occurred_at: String,
    /// The account that caused it; null if no account did.
    pub actor: Option<Uuid>,
    /// The part of the hub that recorded it.
    pub source: String,
    /// What it is about.
    pub subject: Subject,
    /// Details that depend on the type.
    #[schema(value_type = Object)]
    pub payload: Value,
}

/// What an event or an audit row is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Subject {
    /// The noun.
    #[serde(rename = "type")]
    #[schema(example = "api_key")]
    pub kind: String,
    /// Its id, or its key where it has no id (locks).
    pub id: String,
}

/// A stretch of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// The events, oldest first.
    pub items: Vec<Event>,
    /// How far the log was searched: pass it as `after` next time.
    pub last_seq: i64,
}

/// Which stretch of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// Only events with a larger `seq` (default 0: from the start of the log).
    #[garde(inner(range(min = 0)))]
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Only these types, separated by commas; `task:*` means all that begin so.
    #[garde(inner(length(bytes, min = 1, max = TYPES_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<String>,
    /// How many at most (default 200).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 1000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Wait this long for something new before answering with nothing.
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[param(maximum = 50)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// What a socket follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SocketQuery {
    /// Events with a larger `seq`, then all that come (default: only those that come).
    #[garde(inner(range(min = 0)))]
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Only these types, separated by commas; `task:*` means all that begin so.
    #[garde(inner(length(bytes, min = 1, max = TYPES_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<String>,
}

/// What a stream follows; where it begins, the header `Last-Event-ID` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Only these types, separated by commas; `task:*` means all that begin so.
    #[garde(inner(length(bytes, min = 1, max = TYPES_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<String>,
}

/// What a socket says besides events: its `type` is `heartbeat`, which no event has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pulse {
    /// Always `heartbeat`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `open` when it begins, `alive` from time to time, `pong` to a `ping`; to an open page, `changed` when it is no
    /// longer fresh.
    pub message: String,
    /// How far the log was searched: what to say as `since` if the socket breaks now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_seq: Option<i64>,
}

impl Pulse {
    /// Its type.
    pub const KIND: &str = "heartbeat";
    /// What a socket understands.
    pub const PING: &str = "ping";

    /// The answer to a ping.
    #[must_use]
    pub fn pong() -> Self {
        Self { kind: Self::KIND.into(), message: "pong".into(), last_seq: None }
    }

    /// How far the log was searched, at the beginning or later.
    #[must_use]
    pub fn at(message: &str, last_seq: i64) -> Self {
        Self { kind: Self::KIND.into(), message: message.into(), last_seq: Some(last_seq) }
    }
}

/// Why a socket was closed: the code of the closing frame. Its reason is a code as problems have.
pub mod closed {
    /// The hub stops; connect again.
    pub const AWAY: u16 = 1001;
    /// Something was sent that a socket does not understand.
    pub const NOT_UNDERSTOOD: u16 = 1003;
    /// The hub made a mistake, or lost its records for a moment; connect again.
    pub const TROUBLE: u16 = 1011;
    /// The key, login, account or membership ended.
    pub const UNAUTHENTICATED: u16 = 4401;
    /// The credential may no longer read events.
    pub const FORBIDDEN: u16 = 4403;
    /// It did not take what it was sent in time; connect again with the last `seq` it has.
    pub const TOO_SLOW: u16 = 4408;
    /// The log no longer goes back to where it was.
    pub const GONE: u16 = 4410;
    /// It says too much.
    pub const TOO_MUCH: u16 = 4429;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_says_type_not_kind() {
        let sent = json!({
            "seq": 7, "type": "audit:sealed", "occurred_at": "2026-03-18T15:30:00.000000Z", "actor": null,
            "source": "hub", "subject": {"type": "audit_seal", "id": "3"}, "payload": {},
        });
        let event: Event = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(event.kind, "audit:sealed");
        assert_eq!(serde_json::to_value(event).unwrap(), sent);
    }

    #[test]
    fn queries_have_bounds() {
        let with = |limit, wait_seconds| EventsQuery { limit, wait_seconds, ..EventsQuery::default() };
        let cases = [
            (with(None, None), true),
            (with(Some(0), None), false),
            (with(Some(1000), Some(50)), true),
            (with(Some(1001), None), false),
            (with(None, Some(51)), false),
            (EventsQuery { after: Some(-1), ..EventsQuery::default() }, false),
        ];
        for (query, valid) in cases {
            assert_eq!(query.validate().is_ok(), valid, "{query:?}");
        }
    }
}
