//! One row: everything it claims, and the bytes that are sealed.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::accounts::Account;
use crate::api_keys::ApiKey;
use crate::canonical::canonical;
use crate::organizations::Organization;
use crate::subject::Subject;
use crate::{Id, Timestamp};

const BODY_VERSION: u64 = 1;
const INSTANCE: &str = "instance";

/// Rows and seals that hang together: one chain per organization, and one for the instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Chain {
    /// What concerns no single organization.
    Instance,
    /// What was done in this organization.
    Organization(Id<Organization>),
}

/// The text names no chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a chain is named by the id of its organization or by the word instance")]
pub struct NotAChain;

impl Chain {
    /// As a column, and inside the hash of a seal: the organization's id, or nil.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        match self {
            Self::Instance => Uuid::nil(),
            Self::Organization(id) => id.raw(),
        }
    }

    /// The chain that a column names.
    #[must_use]
    pub const fn from_uuid(raw: Uuid) -> Self {
        if raw.is_nil() { Self::Instance } else { Self::Organization(Id::new(raw)) }
    }

    /// The organization, if it is one's.
    #[must_use]
    pub const fn organization(self) -> Option<Id<Organization>> {
        match self {
            Self::Instance => None,
            Self::Organization(id) => Some(id),
        }
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance => f.write_str(INSTANCE),
            Self::Organization(id) => id.fmt(f),
        }
    }
}

impl FromStr for Chain {
    type Err = NotAChain;

    fn from_str(text: &str) -> Result<Self, NotAChain> {
        match text {
            INSTANCE => Ok(Self::Instance),
            id => match Uuid::parse_str(id) {
                Ok(raw) if !raw.is_nil() => Ok(Self::Organization(Id::new(raw))),
                _ => Err(NotAChain),
            },
        }
    }
}

/// Everything one audit row claims.
#[derive(Clone, PartialEq, Debug)]
pub struct AuditEntry {
    /// The row's id.
    pub id: Id<AuditEntry>,
    /// The chain it belongs to.
    pub chain: Chain,
    /// Who did it.
    pub actor: Id<Account>,
    /// With which key.
    pub key_id: Option<Id<ApiKey>>,
    /// In which login.
    pub login_session_id: Option<String>,
    /// In which agent session.
    pub session_id: Option<Uuid>,
    /// What was done, such as `api_key:minted`.
    pub action: String,
    /// To what.
    pub subject: Subject,
    /// The state it was in.
    pub from_state: Option<String>,
    /// The state it is in now.
    pub to_state: Option<String>,
    /// When.
    pub occurred_at: Timestamp,
    /// From which address.
    pub ip: Option<String>,
    /// With which program.
    pub user_agent: Option<String>,
    /// Through which service.
    pub service: Option<String>,
    /// Why, in the actor's words.
    pub reason: Option<String>,
    /// Why, by reference.
    pub ticket_ref: Option<String>,
    /// Further facts of this action.
    pub details: Map<String, Value>,
}

impl AuditEntry {
    /// The RFC 8785 bytes of everything claimed. What is absent is `null`, so that absence is claimed too.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        canonical(&json!({
            "v": BODY_VERSION,
            "id": self.id.to_string(),
            "chain": self.chain.to_string(),
            "actor": self.actor.to_string(),
            "key_id": self.key_id.map(|id| id.to_string()),
            "login_session_id": self.login_session_id,
            "session_id": self.session_id.map(|id| id.to_string()),
            "action": self.action,
            "subject": { "type": self.subject.kind, "id": self.subject.id },
            "from_state": self.from_state,
            "to_state": self.to_state,
            "occurred_at": self.occurred_at.to_string(),
            "ip": self.ip,
            "user_agent": self.user_agent,
            "service": self.service,
            "reason": self.reason,
            "ticket_ref": self.ticket_ref,
            "details": self.details,
        }))
    }

    /// Reads a body back; `None` for bytes that [`AuditEntry::body`] cannot have written.
    #[must_use]
    pub fn from_body(body: &[u8]) -> Option<Self> {
        let claims: Value = serde_json::from_slice(body).ok()?;
        let text = |name: &str| claims[name].as_str();
        let owned = |name: &str| text(name).map(str::to_owned);
        let subject = &claims["subject"];
        let entry = Self {
            id: text("id")?.parse().ok()?,
            chain: text("chain")?.parse().ok()?,
            actor: text("actor")?.parse().ok()?,
            key_id: text("key_id").and_then(|id| id.parse().ok()),
            login_session_id: owned("login_session_id"),
            session_id: text("session_id").and_then(|id| id.parse().ok()),
            action: owned("action")?,
            subject: Subject::new(subject["type"].as_str()?, subject["id"].as_str()?),
            from_state: owned("from_state"),
            to_state: owned("to_state"),
            occurred_at: text("occurred_at")?.parse().ok()?,
            ip: owned("ip"),
            user_agent: owned("user_agent"),
            service: owned("service"),
            reason: owned("reason"),
            ticket_ref: owned("ticket_ref"),
            details: claims["details"].as_object()?.clone(),
        };
        // Whatever was skipped, misread or spelled differently above makes the two differ.
        (entry.body() == body).then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::entry;
    use super::*;

    #[test]
    fn a_body_is_written_in_one_way() {
        let entry = entry(1);
        let expected = concat!(
            r#"{"action":"api_key:minted","actor":"00000000-0000-0000-0000-00000000000a","#,
            r#""chain":"00000000-0000-0000-0000-0000000000c1","#,
            r#""details":{"prefix":"csk_1"},"from_state":null,"id":"00000000-0000-0000-0000-000000000001","#,
            r#""ip":"192.0.2.1","key_id":"00000000-0000-0000-0000-00000000000b","login_session_id":null,"#,
            r#""occurred_at":"2026-03-18T15:30:00.000001Z","reason":"because \"ö\"","service":"api","#,
            r#""session_id":null,"subject":{"id":"00000000-0000-0000-0000-00000000000b","type":"api_key"},"#,
            r#""ticket_ref":null,"to_state":"active","user_agent":"curl/8","v":1}"#,
        );
        assert_eq!(String::from_utf8(entry.body()).unwrap(), expected);
    }

    #[test]
    fn a_body_comes_back() {
        let mut entry = entry(7);
        assert_eq!(AuditEntry::from_body(&entry.body()), Some(entry.clone()));
        entry.chain = Chain::Instance;
        entry.session_id = Some(Uuid::from_u128(5));
        entry.login_session_id = Some("login".to_owned());
        entry.reason = Some("\0\u{1b}\u{202e}😀".to_owned());
        let _previous =
            entry.details.insert("n".to_owned(), json!([1.5, -0.001, 1e300, {"deep": [null, true]}]));
        assert_eq!(AuditEntry::from_body(&entry.body()), Some(entry));
    }

    #[test]
    fn numbers_no_double_holds_stay_readable() {
        let mut entry = entry(7);
        let _previous = entry.details.insert("n".to_owned(), json!([u64::MAX, i64::MIN, (1_u64 << 53) + 1]));
        let body = entry.body();
        assert_eq!(AuditEntry::from_body(&body).unwrap().body(), body);
    }

    #[test]
    fn other_bytes_are_no_bodies() {
        let good = String::from_utf8(entry(1).body()).unwrap();
        for bad in [
            String::new(),
            "{}".to_owned(),
            good.replace("\"v\":1", "\"v\":2"),
            good.replace("\"v\":1", "\"v\":1,\"w\":1"),
            good.replace("\"ticket_ref\":null,", ""),
            good.replace("\"ticket_ref\":null", "\"ticket_ref\":5"),
            good.replace(".000001Z", ".0000010Z"),
            good.replace("00000000000a\"", "00000000000A\""),
            good.replace(":{\"prefix\":\"csk_1\"}", ":[]"),
            format!("{good} "),
        ] {
            assert_ne!(bad, good);
            assert_eq!(AuditEntry::from_body(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn chains_are_named() {
        let organization = entry(1).chain;
        for chain in [Chain::Instance, organization] {
            assert_eq!(chain.to_string().parse(), Ok(chain));
            assert_eq!(Chain::from_uuid(chain.uuid()), chain);
        }
        assert_eq!(Chain::Instance.to_string(), "instance");
        assert_eq!(Chain::Instance.organization(), None);
        for bad in ["", "Instance", "default", &Uuid::nil().to_string()] {
            assert_eq!(bad.parse::<Chain>(), Err(NotAChain), "{bad}");
        }
    }
}
