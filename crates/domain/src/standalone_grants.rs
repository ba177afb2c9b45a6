//! Standalone grants: single-use tokens for one tenant and one hash (S002 calls them approvals).
//!
//! A task's own Grant is another thing ([`crate::grants`]): it has no token, and only the gate takes from it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use crate::canonical::Sha256Hash;
use crate::json::FieldError;
use crate::organizations::Organization;
use crate::text::{UnknownWord, name, one_of};
use crate::{Id, Timestamp};

/// How long a grant answers that it has ended, after it has.
pub const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// The longest life of a token: a week.
pub const TTL_SECONDS_MAX: u32 = 604_800;
/// The longest hash. What it is a hash of, and how it is written, is the caller's business.
pub const IR_HASH_CHARS_MAX: usize = 256;
/// The longest label such as `created_by`.
pub const LABEL_CHARS_MAX: usize = 200;
/// An organization's counts are kept in so many parts, so that those who mint at once do not wait for each other.
pub const COUNT_SHARDS: u8 = 16;

/// What became of a grant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GrantStatus {
    /// Its token can be used.
    Pending,
    /// Its token was used.
    Consumed,
    /// Nobody used it in time.
    Expired,
}

impl GrantStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Consumed, Self::Expired];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Consumed => "consumed",
            Self::Expired => "expired",
        }
    }
}

impl FromStr for GrantStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Which store has a grant besides the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreKind {
    /// None: the records are the store.
    Records,
    /// The memory of one process.
    Memory,
    /// Redis.
    Redis,
}

impl StoreKind {
    /// Every store.
    pub const ALL: [Self; 3] = [Self::Records, Self::Memory, Self::Redis];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Memory => "memory",
            Self::Redis => "redis",
        }
    }
}

impl FromStr for StoreKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A grant. The token itself is nowhere in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StandaloneGrant {
    /// Its id, which opens nothing.
    pub id: Id<StandaloneGrant>,
    /// Whose it is; S002's `tenant_id`.
    pub org_id: Id<Organization>,
    /// Which store has it.
    pub store: StoreKind,
    /// What the token is good for.
    pub ir_hash: String,
    /// The hash of the token.
    pub token_hash: Sha256Hash,
    /// What became of it, as far as somebody has looked: see [`StandaloneGrant::status_at`].
    pub status: GrantStatus,
    /// When the token ends by itself.
    pub expires_at: Timestamp,
    /// When the token was used.
    pub consumed_at: Option<Timestamp>,
    /// Who made it, in the words of whoever asked for it.
    pub created_by: String,
    /// Who used it, in the words of whoever did.
    pub consumed_by: Option<String>,
    /// When somebody last said that they have seen it.
    pub acknowledged_at: Option<Timestamp>,
    /// Who, in their own words.
    pub acknowledged_by: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Why a token opens nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GrantRefusal {
    /// The request names another organization than the caller's.
    #[error("tenant_id must be your own organization, by its id or its slug")]
    TenantMismatch,
    /// Nobody here has such a token, or its store lost it.
    #[error("there is no such token in your organization")]
    Unknown,
    /// It was used.
    #[error("this token was used at {0}; it works once")]
    AlreadyConsumed(Timestamp),
    /// It came too late.
    #[error("this token ended at {0}")]
    Expired(Timestamp),
    /// It is for something else.
    #[error("this token is for another ir_hash")]
    HashMismatch,
}

impl StandaloneGrant {
    /// What it is now: a pending one whose time is over has expired, whether or not somebody has noted it.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> GrantStatus {
        match self.status {
            GrantStatus::Pending if self.expires_at <= now => GrantStatus::Expired,
            status => status,
        }
    }

    /// Whether anybody may still ask about it.
    #[must_use]
    pub fn is_remembered(&self, now: Timestamp) -> bool {
        now < self.expires_at.plus(REMEMBERED)
    }

    /// The grant after its token was used for this.
    ///
    /// # Errors
    /// The reason, the most final one first.
    pub fn consumed(&self, ir_hash: &str, by: &str, now: Timestamp) -> Result<Self, GrantRefusal> {
        match (self.status_at(now), self.consumed_at) {
            (GrantStatus::Consumed, at) => {
                return Err(GrantRefusal::AlreadyConsumed(at.unwrap_or(self.updated_at)));
            }
            (GrantStatus::Expired, _) => return Err(GrantRefusal::Expired(self.expires_at)),
            (GrantStatus::Pending, _) => {}
        }
        if self.ir_hash != ir_hash {
            return Err(GrantRefusal::HashMismatch);
        }
        Ok(Self {
            status: GrantStatus::Consumed,
            consumed_at: Some(now),
            consumed_by: Some(by.to_owned()),
            updated_at: now.after(self.updated_at),
            ..self.clone()
        })
    }

    /// The grant after nobody can use it any more: its time is over, or its store has lost it.
    #[must_use]
    pub fn expired(&self, now: Timestamp) -> Option<Self> {
        let is_pending = self.status == GrantStatus::Pending;
        is_pending.then(|| Self {
            status: GrantStatus::Expired,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        })
    }

    /// The grant after somebody has said that they have seen it; the last one counts, all are on record.
    ///
    /// # Errors
    /// It has expired.
    pub fn acknowledged(&self, by: &str, now: Timestamp) -> Result<Self, GrantRefusal> {
        if self.status_at(now) == GrantStatus::Expired {
            return Err(GrantRefusal::Expired(self.expires_at));
        }
        Ok(Self {
            acknowledged_at: Some(now),
            acknowledged_by: Some(by.to_owned()),
            updated_at: now.after(self.updated_at),
            ..self.clone()
        })
    }

    /// In which part of its organization's counts it is.
    #[must_use]
    pub fn shard(&self) -> u8 {
        // The last byte of a UUIDv7 is random.
        self.id.raw().as_bytes()[15] % COUNT_SHARDS
    }
}

/// How many grants of an organization there are: those that are pending, and those that ended since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GrantCounts {
    /// Waiting to be used.
    pub pending: i64,
    /// Used.
    pub consumed: i64,
    /// Not used in time.
    pub expired: i64,
}

impl GrantCounts {
    /// One that was made.
    pub const MADE: Self = Self { pending: 1, consumed: 0, expired: 0 };
    /// One that was used.
    pub const USED: Self = Self { pending: -1, consumed: 1, expired: 0 };
    /// One that nobody used in time.
    pub const LOST: Self = Self { pending: -1, consumed: 0, expired: 1 };

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            pending: self.pending + other.pending,
            consumed: self.consumed + other.consumed,
            expired: self.expired + other.expired,
        }
    }

    /// The same, with so many of the pending ones that nobody has noted yet to have expired.
    #[must_use]
    pub const fn with_overdue(self, overdue: i64) -> Self {
        Self { pending: self.pending - overdue, consumed: self.consumed, expired: self.expired + overdue }
    }

    /// All of them.
    #[must_use]
    pub const fn total(self) -> i64 {
        self.pending + self.consumed + self.expired
    }
}

/// Whether a tenant that somebody names is this organization.
#[must_use]
pub fn is_tenant(organization: &Organization, named: &str) -> bool {
    named == organization.slug || named.parse::<Uuid>().is_ok_and(|id| id == organization.id.raw())
}

/// Checks a hash: printable ASCII without spaces.
#[must_use]
pub fn wrong_ir_hash(text: &str) -> Option<FieldError> {
    let fits =
        (1..=IR_HASH_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    let detail = format!("must be 1 to {IR_HASH_CHARS_MAX} printable ASCII characters without spaces");
    (!fits).then(|| FieldError { pointer: "/ir_hash".into(), detail })
}

/// Checks a label, if there is one.
#[must_use]
pub fn wrong_label(field: &str, text: Option<&str>) -> Option<FieldError> {
    let wrong = text.and_then(|text| name(text, LABEL_CHARS_MAX).err())?;
    Some(FieldError { pointer: format!("/{field}"), detail: wrong.0 })
}

/// Checks how long a token shall live, if somebody says.
#[must_use]
pub fn wrong_ttl(seconds: Option<u32>) -> Option<FieldError> {
    let wrong = seconds.is_some_and(|seconds| !(1..=TTL_SECONDS_MAX).contains(&seconds));
    let detail = format!("must be a whole number from 1 to {TTL_SECONDS_MAX}");
    wrong.then(|| FieldError { pointer: "/ttl_seconds".into(), detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: Timestamp = Timestamp::from_micros(1_000_000_000);
    const END: Timestamp = Timestamp::from_micros(2_000_000_000);
    const TICK: Duration = Duration::from_micros(1);

    fn grant() -> StandaloneGrant {
        StandaloneGrant {
            id: Id::new(Uuid::from_u128(7)),
            org_id: Id::new(Uuid::from_u128(8)),
            store: StoreKind::Records,
            ir_hash: "sha256:abc".into(),
            token_hash: Sha256Hash::of(b"token"),
            status: GrantStatus::Pending,
            expires_at: END,
            consumed_at: None,
            created_by: "system".into(),
            consumed_by: None,
            acknowledged_at: None,
            acknowledged_by: None,
            created_at: MADE,
            updated_at: MADE,
        }
    }

    #[test]
    fn a_token_works_once_in_time_and_for_its_hash() {
        let last = END.minus(TICK);
        let used = grant().consumed("sha256:abc", "ci", last).unwrap();
        assert_eq!((used.status, used.consumed_at), (GrantStatus::Consumed, Some(last)));
        assert_eq!(used.consumed_by.as_deref(), Some("ci"));
        assert_eq!(used.consumed("sha256:abc", "ci", last), Err(GrantRefusal::AlreadyConsumed(last)));
        assert_eq!(grant().consumed("sha256:abc", "ci", END), Err(GrantRefusal::Expired(END)));
        assert_eq!(grant().consumed("sha256:abd", "ci", last), Err(GrantRefusal::HashMismatch));
        assert_eq!(grant().consumed("SHA256:abc", "ci", last), Err(GrantRefusal::HashMismatch));
        // What is final is said, whatever the hash.
        assert_eq!(used.consumed("other", "ci", END), Err(GrantRefusal::AlreadyConsumed(last)));
        assert_eq!(grant().consumed("other", "ci", END), Err(GrantRefusal::Expired(END)));
    }

    #[test]
    fn what_nobody_used_in_time_has_expired_before_anybody_notes_it() {
        assert_eq!(grant().status_at(END.minus(TICK)), GrantStatus::Pending);
        assert_eq!(grant().status_at(END), GrantStatus::Expired);
        let noted = grant().expired(END).unwrap();
        assert_eq!(noted.status, GrantStatus::Expired);
        assert_eq!(noted.expired(END), None, "once");
        let used = grant().consumed("sha256:abc", "ci", MADE).unwrap();
        assert_eq!((used.status_at(END), used.expired(END)), (GrantStatus::Consumed, None));
        assert!(grant().is_remembered(END.plus(REMEMBERED).minus(TICK)));
        assert!(!grant().is_remembered(END.plus(REMEMBERED)));
    }

    #[test]
    fn seeing_a_grant_does_not_use_it() {
        let seen = grant().acknowledged("ada", MADE).unwrap();
        assert_eq!((seen.status, seen.acknowledged_by.as_deref()), (GrantStatus::Pending, Some("ada")));
        assert_eq!(grant().acknowledged("ada", END), Err(GrantRefusal::Expired(END)));
    }

    #[test]
    fn counts_add_up() {
        let counts = GrantCounts::MADE.plus(GrantCounts::MADE).plus(GrantCounts::MADE);
        let counts = counts.plus(GrantCounts::USED).plus(GrantCounts::LOST);
        assert_eq!(counts, GrantCounts { pending: 1, consumed: 1, expired: 1 });
        assert_eq!(counts.with_overdue(1), GrantCounts { pending: 0, consumed: 1, expired: 2 });
        assert_eq!((counts.total(), counts.with_overdue(1).total()), (3, 3));
    }

    #[test]
    fn what_is_sent_has_a_form() {
        for good in ["a", "sha256:0f", &"x".repeat(256)] {
            assert_eq!(wrong_ir_hash(good), None);
        }
        for bad in ["", " ", "a b", "é", "a\n", &"x".repeat(257)] {
            assert_eq!(wrong_ir_hash(bad).unwrap().pointer, "/ir_hash", "{bad:?}");
        }
        assert_eq!(wrong_label("created_by", None), None);
        assert_eq!(wrong_label("created_by", Some("system")), None);
        assert_eq!(wrong_label("consumed_by", Some("\u{1b}[2K")).unwrap().pointer, "/consumed_by");
        assert_eq!(
            (wrong_ttl(None), wrong_ttl(Some(1)), wrong_ttl(Some(TTL_SECONDS_MAX))),
            (None, None, None)
        );
        assert!(wrong_ttl(Some(0)).is_some() && wrong_ttl(Some(TTL_SECONDS_MAX + 1)).is_some());
    }

    #[test]
    fn words_come_back() {
        assert!(GrantStatus::ALL.iter().all(|status| status.as_str().parse() == Ok(*status)));
        assert!(StoreKind::ALL.iter().all(|store| store.as_str().parse() == Ok(*store)));
    }
}
