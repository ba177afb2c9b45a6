//! Locks as a port: what every engine can do, and how it answers.
//!
//! [`local`] keeps them in this process, with a journal of its own. Every engine passes the same contract, which is
//! in the test equipment; what it promises is written there as tests.

pub mod local;
mod many;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::accounts::Account;
use domain::locks::{About, Edge, Hold, LockKey, Mode, Owner, Waiter};
use domain::organizations::Organization;
use domain::{Id, Timestamp};

pub use many::{All, Several, acquire_many};

/// An answer that is on its way. Dropping it takes the question back: a waiter leaves the line, and a lock that was
/// granted to nobody who listens is released.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// An engine of locks. What it answers is durable.
pub trait Locks: Send + Sync {
    /// Takes a lock, or waits for it, or leaves a ticket in the line.
    fn acquire(&self, wanted: Wanted) -> Answer<'_, Acquired>;
    /// Begins the time of a lock anew, at its own length or at another from now on.
    fn renew(&self, of: Grip, ttl_seconds: Option<u32>, why: Renewal) -> Answer<'_, Held>;
    /// Gives a lock back.
    fn release(&self, of: Grip) -> Answer<'_, Held>;
    /// Gives a lock back for somebody who is not there any more to hear of it.
    fn abandon(&self, of: Grip);
    /// Whether this token is that of a lock that is held.
    fn is_current(&self, org: Id<Organization>, key: LockKey, fence: u64) -> Answer<'_, bool>;
    /// Ends those of these locks that still hold the key; those who wait move up. Whoever has taken it since is not
    /// whom somebody decided about.
    fn force_release(
        &self,
        org: Id<Organization>,
        key: LockKey,
        which: Vec<Id<Hold>>,
    ) -> Answer<'_, Vec<Held>>;
    /// Ends everything an agent holds and waits for.
    fn release_all(&self, org: Id<Organization>, agent: Id<Account>) -> Answer<'_, usize>;
    /// How a ticket stands.
    fn ticket(&self, org: Id<Organization>, id: Id<Waiter>) -> Answer<'_, Ticket>;
    /// Takes a ticket out of the line; how it then stands.
    fn leave(&self, org: Id<Organization>, id: Id<Waiter>) -> Answer<'_, Ticket>;
    /// Locks of an organization, newest first.
    fn list(&self, filter: Filter) -> Answer<'_, Vec<Held>>;
    /// One key: who holds it, who waits.
    fn queue(&self, org: Id<Organization>, key: LockKey) -> Answer<'_, Standing>;
    /// Who waits for whom, and the circles among them.
    fn graph(&self, org: Id<Organization>) -> Answer<'_, Graph>;
    /// The organizations in which somebody waits.
    fn waiting_in(&self) -> Vec<Id<Organization>>;
    /// Breaks the circles of an organization. A new wait is looked at when it is made; these were closed while nobody
    /// looked, or in an earlier run.
    fn break_circles(&self, org: Id<Organization>);
    /// How much there is.
    fn counts(&self) -> Counts;
    /// Another number whenever anything may be otherwise than it was, except that time has passed.
    fn changes(&self) -> u64;
    /// Says that these happenings are on record elsewhere.
    fn noted(&self, receipts: &[Receipt]);
    /// Answers everybody who waits as if their time were over, and takes no more questions.
    fn close(&self);
}

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The tenant.
    pub org: Id<Organization>,
    /// Who will hold it.
    pub agent: Id<Account>,
    /// For which piece of its work.
    pub owner: Box<str>,
    /// What.
    pub key: LockKey,
    /// Alone or with others.
    pub mode: Mode,
    /// How long it lives without a heartbeat.
    pub ttl_seconds: u32,
    /// What to do if it is held.
    pub wait: Wait,
    /// For readers and repetitions; its ticket is the engine's to fill in.
    pub about: Option<Box<About>>,
    /// The organization's rules.
    pub rules: Rules,
}

/// What an organization has set.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How many may wait for one key.
    pub queue_max: usize,
    /// Whether circles are searched.
    pub detects_deadlocks: bool,
}

/// What to do when a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Say so.
    No,
    /// Wait so long, then say so.
    For(Duration),
    /// Leave a ticket.
    Ticket,
}

/// Why the time of a lock begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// Its holder says that it is alive.
    Heartbeat,
    /// The last of several was taken; this counts as no heartbeat.
    Beginning,
}

/// A lock in somebody's hand.
#[derive(Clone, Copy, Debug)]
pub struct Grip {
    /// The tenant.
    pub org: Id<Organization>,
    /// Who holds it.
    pub agent: Id<Account>,
    /// Which.
    pub id: Id<Hold>,
}

/// A lock that is held, as readers see it.
#[derive(Clone, Debug)]
pub struct Held {
    /// What.
    pub key: LockKey,
    /// By whom and how.
    pub hold: Hold,
}

/// What came of asking.
#[derive(Clone, Debug)]
pub enum Acquired {
    /// The lock.
    Held(Box<Held>),
    /// The lock that the same request has got before: whoever asked again has not taken it, so it is not its to give
    /// back when something else fails.
    Again(Box<Held>),
    /// A place in the line.
    Queued {
        /// The ticket.
        ticket: Id<Waiter>,
        /// Its place; the first is 1.
        position: usize,
    },
}

/// Why not.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    /// Others hold it.
    #[error("the lock is held")]
    Busy {
        /// By these.
        holders: Vec<Held>,
        /// So many wait.
        queue_length: usize,
    },
    /// Others still held it when the wait was over.
    #[error("the lock did not become free in time")]
    TimedOut,
    /// The same owner holds it already.
    #[error("this owner holds the lock already")]
    AlreadyHeld(Box<Held>),
    /// It would wait for itself, over others.
    #[error("waiting for this lock closed a circle")]
    Deadlock(Arc<[Edge]>),
    /// Too many wait already.
    #[error("too many wait for this lock already")]
    QueueFull,
    /// The agent has as many as it may.
    #[error("this agent holds or waits for as many locks as it may")]
    TooMany,
    /// It has ended.
    #[error("this lock is not held any more")]
    Expired,
    /// It is somebody else's.
    #[error("this lock is held by somebody else")]
    NotHolder,
    /// There is no such ticket.
    #[error("there is no such ticket")]
    NoTicket,
    /// The engine cannot say whether it happened.
    #[error("the lock may or may not have been taken")]
    OutcomeUnknown,
    /// The engine cannot work.
    #[error("locks are not available: {0}")]
    Unavailable(Arc<str>),
}

/// How a ticket stands.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The ticket.
    pub id: Id<Waiter>,
    /// For what.
    pub key: LockKey,
    /// Whose.
    pub agent: Id<Account>,
    /// What became of it.
    pub status: TicketStatus,
}

/// What became of a ticket.
#[derive(Clone, Debug)]
pub enum TicketStatus {
    /// In line, at this place; the first is 1.
    Waiting(usize),
    /// It is this lock.
    Granted(Box<Held>),
    /// Its time in the line is over, or the lock it got has ended.
    Expired,
    /// It was taken out of the line.
    Cancelled,
}

/// Which locks.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The tenant.
    pub org: Id<Organization>,
    /// Only those of this agent.
    pub agent: Option<Id<Account>>,
    /// Only resources of this type.
    pub resource_type: Option<Box<str>>,
    /// Only this key.
    pub key: Option<LockKey>,
    /// Only those older than this one.
    pub before: Option<(Timestamp, Id<Hold>)>,
    /// At most so many.
    pub limit: usize,
}

/// One key, as readers see it.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Who holds it.
    pub holders: Vec<Held>,
    /// Who waits, in order.
    pub waiters: Vec<Waiter>,
}

/// Who waits for whom.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Every wait.
    pub edges: Vec<Edge>,
    /// Those that wait for themselves.
    pub circles: Vec<Vec<Edge>>,
}

/// How much there is, and what has happened since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Locks held.
    pub held: u64,
    /// In line.
    pub waiting: u64,
    /// Ended by themselves.
    pub expired: u64,
    /// Circles that were broken.
    pub deadlocks: u64,
}

/// Something others may want to hear of.
#[derive(Clone, Debug)]
pub struct Happening {
    /// What.
    pub what: What,
    /// When, for display.
    pub at: Timestamp,
    /// The key.
    pub key: LockKey,
    /// Whose.
    pub owner: Arc<Owner>,
    /// The lock, where there is one.
    pub lock: Option<Id<Hold>>,
    /// Its token.
    pub fence: Option<u64>,
    /// The ticket, where there is one.
    pub ticket: Option<Id<Waiter>>,
    /// Of a deadlock: who waited for whom, as `agent/owner key agent/owner`.
    pub circle: Vec<[String; 5]>,
    /// Set where somebody must not miss it: it is told again, after a restart too, until it is noted.
    pub receipt: Option<Receipt>,
}

/// Names a happening to its engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Which part of the engine keeps it.
    pub lane: u8,
    /// Which it is there.
    pub number: u64,
}

/// What happened to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Somebody got it at once, or after waiting with an open connection.
    Acquired,
    /// Its holder gave it back.
    Released,
    /// It ended by itself.
    Expired,
    /// Somebody stands in line.
    Queued,
    /// A ticket got it.
    Promoted,
    /// Its owner lost it to break a circle.
    Deadlock,
}

impl What {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Acquired, Self::Released, Self::Expired, Self::Queued, Self::Promoted, Self::Deadlock];

    /// The type of its event.
    #[must_use]
    pub const fn event_type(self) -> &'static str {
        match self {
            Self::Acquired => "lock:acquired",
            Self::Released => "lock:released",
            Self::Expired => "lock:expired",
            Self::Queued => "lock:queued",
            Self::Promoted => "lock:promoted",
            Self::Deadlock => "lock:deadlock",
        }
    }

    /// Whether somebody must not miss it.
    #[must_use]
    pub const fn must_be_noted(self) -> bool {
        matches!(self, Self::Expired | Self::Promoted | Self::Deadlock)
    }
}

/// Whoever is told what happens.
pub trait Told: Send + Sync {
    /// Whether anybody wants to hear of what need not be noted.
    fn listens(&self) -> bool;
    /// Tells it. Called in the order of one key's changes, once they are durable; it must not wait.
    fn tell(&self, happening: Happening);
}
