//! Locks: the right to attempt something, a place in line, and a number that only grows.
//!
//! [`Line`] is one key: who holds it and who stands in line. [`Waits`] says who waits for whom, so that a circle is
//! found when it closes. Neither knows of other keys, threads or files; whoever keeps many of them does.

mod key;
mod line;
#[cfg(test)]
mod tests;
mod waits;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use key::{KEY_BYTES_MAX, LockKey};
pub use line::{Line, Refused};
pub use waits::{Edge, Waits, victim};

/// Keys one `acquire-many` may ask for: a task's 100 resources and its own key fit.
pub const KEYS_MAX: usize = 128;
/// Locks one agent may hold (DECISIONS 26).
pub const LOCKS_PER_AGENT_MAX: usize = 10_000;
/// The longest `owner` and `request_id`, in characters.
pub const LABEL_CHARS_MAX: usize = 128;
/// The longest `purpose`, in characters.
pub const PURPOSE_CHARS_MAX: usize = 512;
/// The longest wait with an open connection.
pub const WAIT_SECONDS_MAX: u32 = 60;
/// How long a ticket stands in line (LOCK-20).
pub const TICKET_SECONDS: u32 = 300;

/// The counter's share of a fencing token; above it stands the epoch.
const COUNTER_BITS: u32 = 32;
/// Tokens stay below 2^53, so that JSON keeps them.
const EPOCH_MAX: i64 = (1 << (53 - COUNTER_BITS)) - 1;

/// Numbers of one epoch that are kept back: whoever sees them begin takes another epoch before they are used up.
pub const FENCES_KEPT_BACK: u64 = 1 << 24;

/// The first fencing token of an epoch; none if the epochs are used up.
#[must_use]
pub fn first_fence(epoch: i64) -> Option<u64> {
    (0..=EPOCH_MAX).contains(&epoch).then(|| u64::try_from(epoch).unwrap_or(0) << COUNTER_BITS)
}

/// How many tokens the epoch of this one has left.
#[must_use]
pub const fn fences_left(fence: u64) -> u64 {
    (1 << COUNTER_BITS) - 1 - (fence & ((1 << COUNTER_BITS) - 1))
}

/// Whether others may hold the key too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Mode {
    /// Alone, unless something else is said.
    #[default]
    Exclusive,
    /// With others who share.
    Shared,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 2] = [Self::Exclusive, Self::Shared];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }

    /// Whether two may not hold at once.
    #[must_use]
    pub fn conflicts(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A moment, as locks see it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Milliseconds of monotonic time: these count.
    pub ms: u64,
    /// The clock on the wall: this is shown.
    pub wall: Timestamp,
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

/// Who holds and waits: one piece of an agent's work. Two pieces of one agent wait for each other like anybody's.
#[derive(Debug)]
pub struct Owner {
    /// The tenant.
    pub org: Id<Organization>,
    /// The agent, or whoever acts for itself.
    pub agent: Id<Account>,
    /// Which piece of its work.
    pub name: Box<str>,
    /// When it first held or waited, as a number that grows; no two owners have the same. The greatest is the youngest.
    pub birth: u64,
}

impl Owner {
    /// Whether it is this piece of this agent's work. Keys of different tenants never meet, so the tenant is not asked.
    #[must_use]
    pub fn is(&self, agent: Id<Account>, name: &str) -> bool {
        self.agent == agent && *self.name == *name
    }
}

/// What the asker said about a lock, for readers and repetitions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// The same one again means the same request.
    pub request_id: Option<Box<str>>,
    /// What it is for.
    pub purpose: Option<Box<str>>,
    /// Informational: the line is strictly first come, first served.
    pub priority: Option<i32>,
    /// The ticket it was or will be granted to.
    pub ticket: Option<Id<Waiter>>,
}

/// A lock that is held.
#[derive(Clone, Debug)]
pub struct Hold {
    /// `lock_id`: one per acquisition.
    pub id: Id<Hold>,
    /// Who holds it.
    pub owner: Arc<Owner>,
    /// Alone or with others.
    pub mode: Mode,
    /// The fencing token: greater than that of every earlier holder of the key.
    pub fence: u64,
    /// When it ends unless it is renewed, in milliseconds of monotonic time.
    pub deadline_ms: u64,
    /// The same for display, by the clock on the wall when it was last renewed.
    pub expires_at: Timestamp,
    /// How long it lives from its grant and from each renewal.
    pub ttl_seconds: u32,
    /// When it was granted, for display.
    pub acquired_at: Timestamp,
    /// How often it was renewed by its holder.
    pub heartbeats: u32,
    /// What else is known; boxed, because most locks have nothing.
    pub about: Option<Box<About>>,
}

/// Somebody in line.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Grows from one waiter to the next; no two have the same.
    pub number: u64,
    /// Who waits.
    pub owner: Arc<Owner>,
    /// For what.
    pub mode: Mode,
    /// How long the lock will live.
    pub ttl_seconds: u32,
    /// When it came, for display.
    pub asked_at: Timestamp,
    /// What else is known.
    pub about: Option<Box<About>>,
}

impl Waiter {
    /// Its ticket, if it waits with one.
    #[must_use]
    pub fn ticket(&self) -> Option<Id<Self>> {
        self.about.as_ref().and_then(|about| about.ticket)
    }

    /// The lock it gets.
    #[must_use]
    pub fn granted(self, id: Id<Hold>, fence: u64, now: Now) -> Hold {
        Hold {
            id,
            owner: self.owner,
            mode: self.mode,
            fence,
            deadline_ms: deadline(now.ms, self.ttl_seconds),
            expires_at: now.wall.plus(seconds(self.ttl_seconds)),
            ttl_seconds: self.ttl_seconds,
            acquired_at: now.wall,
            heartbeats: 0,
            about: self.about,
        }
    }
}

impl Hold {
    /// Whether it has ended by itself.
    #[must_use]
    pub const fn is_over(&self, now_ms: u64) -> bool {
        self.deadline_ms <= now_ms
    }

    /// Begins its time anew.
    fn begin(&mut self, now: Now) {
        self.deadline_ms = deadline(now.ms, self.ttl_seconds);
        self.expires_at = now.wall.plus(seconds(self.ttl_seconds));
    }

    /// Its ticket, if it was granted to one.
    #[must_use]
    pub fn ticket(&self) -> Option<Id<Waiter>> {
        self.about.as_ref().and_then(|about| about.ticket)
    }
}

/// When a lock of this length ends that begins at this moment.
#[must_use]
pub fn deadline(now_ms: u64, ttl_seconds: u32) -> u64 {
    now_ms.saturating_add(u64::from(ttl_seconds) * 1000)
}
