//! Facts in the ordered log that everything live is fed from.

use serde_json::Value;
use uuid::Uuid;

use crate::organizations::Organization;
use crate::subject::Subject;
use crate::text::BadText;
use crate::{Id, Timestamp};

/// The first part of every event type there is.
pub const NAMESPACES: &[&str] = &[
    "account",
    "agent",
    "api_key",
    "approval",
    "archive",
    "audit",
    "call",
    "detection",
    "grant",
    "lock",
    "message",
    "organization",
    "session",
    "settings",
    "spoke",
    "task",
    "webhook",
];

/// The most patterns one filter can list.
pub const FILTER_PATTERNS_MAX: usize = 32;

/// A fact that is about to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct EventDraft {
    /// Its id.
    pub id: Id<Event>,
    /// Whose it is; none for what concerns the instance.
    pub org: Option<Id<Organization>>,
    /// Such as `task:created`.
    pub event_type: String,
    /// When it became true.
    pub occurred_at: Timestamp,
    /// The account that made it so.
    pub actor: Option<Uuid>,
    /// The service that wrote it.
    pub source: String,
    /// What it is about.
    pub subject: Subject,
    /// Ids, states and hashes; never config, parameters, output or comments.
    pub payload: Value,
}

/// A fact as the log holds it.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Its place in the log; none while the sequencer has not seen it, and for live-only events.
    pub seq: Option<i64>,
    /// Its id.
    pub id: Id<Event>,
    /// Whose it is; none for what concerns the instance.
    pub org_id: Option<Id<Organization>>,
    /// Such as `task:created`.
    pub event_type: String,
    /// When it became true.
    pub occurred_at: Timestamp,
    /// The account that made it so.
    pub actor: Option<Uuid>,
    /// The service that wrote it.
    pub source: String,
    /// The kind of thing it is about.
    pub subject_type: String,
    /// Which one.
    pub subject_id: String,
    /// Ids, states and hashes.
    pub payload: Value,
}

impl EventDraft {
    /// The event as it is read back, with its place in the log if it has one.
    #[must_use]
    pub fn at(self, seq: Option<i64>) -> Event {
        Event {
            seq,
            id: self.id,
            org_id: self.org,
            event_type: self.event_type,
            occurred_at: self.occurred_at,
            actor: self.actor,
            source: self.source,
            subject_type: self.subject.kind,
            subject_id: self.subject.id,
            payload: self.payload,
        }
    }
}

/// Whether this can be the type of an event: `namespace:name`, and the namespace is one of ours.
#[must_use]
pub fn is_event_type(text: &str) -> bool {
    matches!(split(text), Some((_, name)) if name != "*")
}

/// Which types of events somebody wants to hear of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TypeFilter {
    /// None wants everything.
    patterns: Option<Vec<String>>,
}

impl TypeFilter {
    /// Wants everything.
    pub const EVERYTHING: Self = Self { patterns: None };

    /// Wants these types.
    #[must_use]
    pub fn of(types: &[&str]) -> Self {
        debug_assert!(types.iter().all(|wanted| is_event_type(wanted)), "{types:?}");
        Self { patterns: Some(types.iter().map(|wanted| (*wanted).to_owned()).collect()) }
    }

    /// Reads a comma-separated list of types and namespaces: `task:*,approval:requested`.
    ///
    /// # Errors
    /// Names the first pattern that is wrong.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        let patterns: Vec<String> = text.split(',').map(str::to_owned).collect();
        if patterns.len() > FILTER_PATTERNS_MAX {
            return Err(BadText(format!("at most {FILTER_PATTERNS_MAX} types can be listed")));
        }
        match patterns.iter().find(|pattern| split(pattern).is_none()) {
            None => Ok(Self { patterns: Some(patterns) }),
            Some(wrong) => Err(BadText(format!(
                "{wrong:?} is no event type: write namespace:name or namespace:*, the namespace one of {}",
                NAMESPACES.join(", ")
            ))),
        }
    }

    /// Whether an event of this type is wanted.
    #[must_use]
    pub fn matches(&self, event_type: &str) -> bool {
        let wanted = |pattern: &String| match pattern.strip_suffix('*') {
            Some(namespace) => event_type.starts_with(namespace),
            None => event_type == pattern,
        };
        self.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(wanted))
    }

    /// The patterns as they were written; none if everything is wanted.
    #[must_use]
    pub fn patterns(&self) -> Option<&[String]> {
        self.patterns.as_deref()
    }
}

fn split(pattern: &str) -> Option<(&str, &str)> {
    let (namespace, name) = pattern.split_once(':')?;
    let word = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
    ((word || name == "*") && NAMESPACES.contains(&namespace)).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_wants_types_and_namespaces() {
        let filter = TypeFilter::parse("task:*,approval:requested").unwrap();
        for wanted in ["task:created", "task:state_changed", "approval:requested"] {
            assert!(filter.matches(wanted), "{wanted}");
        }
        for unwanted in ["approval:approved", "approval:requested_twice", "tasks:created", "audit:sealed", ""]
        {
            assert!(!filter.matches(unwanted), "{unwanted}");
        }
        assert!(TypeFilter::EVERYTHING.matches("audit:sealed"));
        assert_eq!(TypeFilter::default(), TypeFilter::EVERYTHING);
        assert_eq!(filter.patterns().unwrap().len(), 2);
        let named = TypeFilter::of(&["grant:created", "grant:expired"]);
        assert!(named.matches("grant:expired") && !named.matches("grant:consumed"));
    }

    #[test]
    fn other_texts_are_no_filters() {
        for bad in [
            "",
            "task",
            "task:",
            ":created",
            "*",
            "*:*",
            "task:**",
            "task:cre*",
            "Task:created",
            "task:Created",
            "task:*,",
            "task:*, approval:*",
            "task:a:b",
            "unknown:created",
            "task:1",
        ] {
            assert!(TypeFilter::parse(bad).is_err(), "{bad:?}");
        }
        let many = |count: usize| vec!["task:*"; count].join(",");
        assert!(TypeFilter::parse(&many(32)).is_ok());
        assert!(TypeFilter::parse(&many(33)).is_err());
    }

    #[test]
    fn a_reason_shows_control_characters_as_escapes() {
        let reason = TypeFilter::parse("\u{1b}[2K").unwrap_err().to_string();
        assert!(reason.starts_with("\"\\u{1b}[2K\" is no event type"), "{reason}");
    }

    #[test]
    fn types_are_not_patterns() {
        assert!(is_event_type("lock:force_released"));
        assert!(!is_event_type("lock:*"));
        assert!(!is_event_type("nonsense:happened"));
        assert!(NAMESPACES.is_sorted());
    }
}
