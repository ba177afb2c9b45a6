//! Webhooks: where an organization wants to be told of its events, and what is sent there.

mod addresses;
mod bodies;
mod secret;

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::accounts::Account;
use crate::events::{FILTER_PATTERNS_MAX, TypeFilter};
use crate::json::FieldError;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use addresses::is_public;
pub use bodies::{slack, standard, test_event};
pub use secret::{NotAWebhookSecret, WebhookSecret, signed_content};

/// Endpoints an organization may have.
pub const WEBHOOKS_MAX: i64 = 100;
/// The longest address.
pub const URL_CHARS_MAX: usize = 2048;
/// How much of an answer is kept.
pub const RESPONSE_BYTES_MAX: usize = 4 * 1024;
/// How long a secret that was replaced is still signed with, unless somebody says otherwise.
pub const OVERLAP_DEFAULT: Duration = Duration::from_secs(24 * 3600);
/// And how long at most.
pub const OVERLAP_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long deliveries that are over are kept.
pub const DELIVERIES_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// What the bodies look like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// As Standard Webhooks has it: type, timestamp, and the event as data.
    Standard,
    /// As Slack's incoming webhooks take it: a text.
    Slack,
}

impl Format {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Slack];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Slack => "slack",
        }
    }
}

impl FromStr for Format {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Where a delivery stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeliveryState {
    /// It is to be sent, or sent again.
    Pending,
    /// The endpoint took it.
    Delivered,
    /// It was tried for a day; somebody may have it sent again.
    Parked,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Parked];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Parked => "parked",
        }
    }
}

impl FromStr for DeliveryState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// An endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Webhook {
    /// Its id.
    pub id: Id<Webhook>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Where it is.
    pub url: String,
    /// The types it wants; none means all.
    pub types: Vec<String>,
    /// What bodies look like.
    pub format: Format,
    /// Whether anything is sent.
    pub active: bool,
    /// What it is signed with, encrypted.
    pub secret: Vec<u8>,
    /// What it was signed with before, encrypted.
    pub previous_secret: Option<Vec<u8>>,
    /// Until when it is signed with that too.
    pub previous_until: Option<Timestamp>,
    /// Only events after this number are sent.
    pub after_seq: i64,
    /// Grows with every change.
    pub version: i64,
    /// Who made it.
    pub created_by: Option<Id<Account>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What somebody wants an endpoint to be; what is absent stays.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WebhookChange {
    /// Where it is.
    pub url: Option<String>,
    /// The types it wants.
    pub types: Option<Vec<String>>,
    /// What bodies look like.
    pub format: Option<Format>,
    /// Whether anything is sent.
    pub active: Option<bool>,
}

impl Webhook {
    /// The endpoint with a change. `head` is where the log ends: an endpoint that is switched on hears of what comes.
    ///
    /// # Errors
    /// Every field that is wrong. The address is for whoever knows the network to judge.
    pub fn changed(
        &self,
        change: &WebhookChange,
        head: i64,
        now: Timestamp,
    ) -> Result<Self, Vec<FieldError>> {
        let mut after = self.clone();
        if let Some(types) = &change.types {
            check_types(types)?;
            after.types.clone_from(types);
        }
        if let Some(url) = &change.url {
            after.url.clone_from(url);
        }
        after.format = change.format.unwrap_or(after.format);
        after.active = change.active.unwrap_or(after.active);
        if after.active && !self.active {
            after.after_seq = head;
        }
        if after != *self {
            after.version += 1;
            after.updated_at = now.after(self.updated_at);
        }
        Ok(after)
    }

    /// Which events it wants. What cannot be read wants nothing.
    #[must_use]
    pub fn wants(&self, event_type: &str) -> bool {
        match self.types.is_empty() {
            true => true,
            false => TypeFilter::parse(&self.types.join(",")).is_ok_and(|filter| filter.matches(event_type)),
        }
    }

    /// What may be said about it: everything but its secrets.
    #[must_use]
    pub fn facts(&self) -> Value {
        json!({
            "url": self.url, "types": self.types, "format": self.format.as_str(), "active": self.active,
        })
    }
}

/// Checks the types of an endpoint.
///
/// # Errors
/// The first that is none.
pub fn check_types(types: &[String]) -> Result<(), Vec<FieldError>> {
    let wrong = |pointer: String, detail: String| Err(vec![FieldError { pointer, detail }]);
    if types.len() > FILTER_PATTERNS_MAX {
        return wrong("/types".into(), format!("at most {FILTER_PATTERNS_MAX} types can be listed"));
    }
    for (place, pattern) in types.iter().enumerate() {
        if pattern.contains(',') {
            return wrong(format!("/types/{place}"), "one type in each place of the list".into());
        }
        if let Err(bad) = TypeFilter::parse(pattern) {
            return wrong(format!("/types/{place}"), bad.to_string());
        }
    }
    Ok(())
}

/// Something that is sent to an endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivery {
    /// Its id, which is also the message's.
    pub id: Id<Delivery>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Where it goes.
    pub webhook_id: Id<Webhook>,
    /// The event it tells of; none for a test.
    pub event_seq: Option<i64>,
    /// The event's type.
    pub event_type: String,
    /// What is sent, to the byte, however often.
    pub body: Vec<u8>,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried since it was last put in line.
    pub attempts: i64,
    /// When it is tried next.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was first tried since it was put in line.
    pub first_attempt_at: Option<Timestamp>,
    /// When it was last tried.
    pub last_attempt_at: Option<Timestamp>,
    /// How long that took.
    pub took_ms: Option<i64>,
    /// What it was sent with.
    pub request_headers: Option<Value>,
    /// What the endpoint answered.
    pub response_status: Option<i64>,
    /// The beginning of what it said.
    pub response_body: Option<String>,
    /// Why it was not taken.
    pub error: Option<String>,
    /// When it was put in line first.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What came of an attempt.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attempt {
    /// What it was sent with.
    pub request_headers: Option<Value>,
    /// What the endpoint answered.
    pub status: Option<u16>,
    /// The beginning of what it said.
    pub body: Option<String>,
    /// Why there is no answer, or why it is not good enough.
    pub error: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Attempt {
    /// Whether the endpoint took it: it said so with a 2xx.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.error.is_none() && self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl Delivery {
    /// One that is to be sent now.
    #[must_use]
    pub fn due(
        id: Id<Self>,
        webhook: &Webhook,
        (event_type, event_seq): (&str, Option<i64>),
        body: Vec<u8>,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            org_id: webhook.org_id,
            webhook_id: webhook.id,
            event_seq,
            event_type: event_type.to_owned(),
            body,
            state: DeliveryState::Pending,
            attempts: 0,
            next_attempt_at: Some(now),
            first_attempt_at: None,
            last_attempt_at: None,
            took_ms: None,
            request_headers: None,
            response_status: None,
            response_body: None,
            error: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// After an attempt that began at `began`. `jitter` is chance from 0 to 1.
    #[must_use]
    pub fn after(&self, attempt: &Attempt, began: Timestamp, now: Timestamp, jitter: f64) -> Self {
        let attempts = self.attempts + 1;
        let first = self.first_attempt_at.unwrap_or(began);
        let next = if attempt.is_taken() { None } else { next_attempt(attempts, first, now, jitter) };
        let state = match (attempt.is_taken(), next) {
            (true, _) => DeliveryState::Delivered,
            (false, Some(_)) => DeliveryState::Pending,
            (false, None) => DeliveryState::Parked,
        };
        Self {
            state,
            attempts,
            next_attempt_at: next,
            first_attempt_at: Some(first),
            last_attempt_at: Some(began),
            took_ms: i64::try_from(attempt.took.as_millis()).ok(),
            request_headers: attempt.request_headers.clone(),
            response_status: attempt.status.map(i64::from),
            response_body: attempt.body.clone(),
            error: attempt.error.clone(),
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }

    /// In line again, from the beginning, with the same id and body.
    #[must_use]
    pub fn again(&self, now: Timestamp) -> Self {
        Self {
            state: DeliveryState::Pending,
            attempts: 0,
            next_attempt_at: Some(now),
            first_attempt_at: None,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }
}

const RETRY_AFTER: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(3600),
];
const RETRY_LATER: Duration = Duration::from_secs(3600);
/// From the first attempt on; then it is parked.
const TRIED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Retries are spread this far to either side, so that what failed together does not come back together.
const RETRY_SPREAD: f64 = 0.2;

/// When a delivery that has failed `attempts` times is tried again: after 1 s, 5 s, 30 s, 2 min, 10 min, 1 h, then
/// hourly for a day from the first attempt, each ±20 %; none after that.
fn next_attempt(attempts: i64, first: Timestamp, now: Timestamp, jitter: f64) -> Option<Timestamp> {
    let place = usize::try_from(attempts.saturating_sub(1).max(0)).unwrap_or(usize::MAX);
    let delay = RETRY_AFTER.get(place).copied().unwrap_or(RETRY_LATER);
    let chance = if jitter.is_nan() { 0.5 } else { jitter.clamp(0.0, 1.0) };
    let next = now.plus(delay.mul_f64(1.0 + RETRY_SPREAD * (2.0 * chance - 1.0)));
    (next <= first.plus(TRIED_FOR)).then_some(next)
}

#[cfg(test)]
mod tests;
