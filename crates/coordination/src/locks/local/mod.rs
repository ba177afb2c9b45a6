//! Locks in this process: in memory, with a journal of its own.
//!
//! Keys are spread over lanes, each under its own mutex; a change of a key is one `Turn` in its lane. What it
//! answers goes out when the journal has it on the disk, to whoever asked and to whoever moved up, directly. Mutexes
//! are taken in this order: the journal's writer, one lane, then agents, index, tickets or waits, one of them at a time.

mod agents;
mod asking;
mod circles;
mod index;
mod journal;
mod lane;
mod restart;
mod tickets;
mod turn;
mod views;
mod waking;
mod wheel;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::accounts::Account;
use domain::locks::{Hold, LockKey, Now, Waiter, Waits, fences_left, first_fence};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

pub use journal::{JournalError, Recovered, State, recover, write_copy};

use super::{
    Acquired, Answer, Counts, Filter, Graph, Grip, Held, Locks, Receipt, Refusal, Renewal, Standing, Ticket,
    Told, Wanted,
};
use agents::Agents;
use index::Index;
use journal::Journal;
use lane::{LANES, Lane, Listener, Place, Reply};
use tickets::Tickets;
use turn::Turn;

/// How often it is looked whether locks have ended.
pub const TICK: Duration = Duration::from_millis(50);
/// A sync that takes longer is not made by whoever asks: it would keep a thread that others wait for, and the time it
/// takes to wake one that nobody waits for is little beside it.
pub const ASKERS_PATIENCE: Duration = Duration::from_millis(1);
/// Numbers of an epoch that are never used: when only these are left, nothing is granted.
const NUMBERS_RESERVED: u64 = 1 << 16;

/// What the engine needs from outside.
pub struct Options {
    /// Where the journal is.
    pub dir: PathBuf,
    /// How long a file of the journal is made before it is used.
    pub log_bytes: u64,
    /// Whether this process may still write: nobody else has taken over.
    pub may_commit: Box<dyn Fn() -> bool + Send>,
    /// How long the last sync may have taken if whoever asks is to make the next one; [`ASKERS_PATIENCE`] but in tests.
    pub askers_patience: Duration,
}

/// Time, ids and ears.
pub struct Ports {
    /// The time.
    pub time: Arc<dyn Time>,
    /// New ids.
    pub fresh: Arc<dyn Fn() -> Uuid + Send + Sync>,
    /// Whoever is told what happens.
    pub told: Arc<dyn Told>,
}

/// Time, as locks need it.
pub trait Time: Send + Sync {
    /// Milliseconds that only grow, whatever is done to the clock on the wall.
    fn monotonic_ms(&self) -> u64;
    /// The clock on the wall, for display.
    fn wall(&self) -> Timestamp;
}

/// The engine. It ends when it is dropped.
pub struct Local {
    inner: Arc<Inner>,
}

/// Who waits for whom, by organization.
type Graphs = HashMap<Id<Organization>, Waits>;

/// Organizations are spread over so many mutexes; only keys with a line touch them.
const GRAPHS: usize = 16;

struct Inner {
    lanes: Vec<Mutex<Lane>>,
    hasher: RandomState,
    agents: Agents,
    index: Index,
    tickets: Tickets,
    waits: Vec<Mutex<Graphs>>,
    /// Circles are broken one after the other.
    breaking: Mutex<()>,
    next: AtomicU64,
    time: Arc<dyn Time>,
    fresh: Arc<dyn Fn() -> Uuid + Send + Sync>,
    told: Arc<dyn Told>,
    journal: Journal,
    stopping: watch::Sender<bool>,
    waiting: AtomicU64,
    expired: AtomicU64,
    deadlocks: AtomicU64,
    changes: AtomicU64,
}

impl Local {
    /// Starts from what was recovered, in an epoch that no token of before is in.
    ///
    /// # Errors
    /// The journal cannot be written, or the epoch is not above all that were.
    pub fn start(found: Recovered, epoch: i64, ports: Ports, options: Options) -> Result<Self, JournalError> {
        let first = first_fence(epoch).filter(|first| *first > found.state.newest);
        let first = first.ok_or(JournalError::NoEpochs)?;
        let inner = Arc::new(Inner::new(first, ports));
        journal::start(&inner, &found, options)?;
        inner.take_over(found.state);
        Ok(Self { inner })
    }

    /// Ends what is over. Somebody must call this every [`TICK`].
    pub fn tick(&self) {
        self.inner.end_due();
    }

    /// How many tokens the epoch has left. Below `domain::locks::FENCES_KEPT_BACK` it should get another one.
    #[must_use]
    pub fn fences_left(&self) -> u64 {
        fences_left(self.inner.next.load(Ordering::Relaxed))
    }

    /// Why it cannot work, if it cannot.
    #[must_use]
    pub fn failure(&self) -> Option<Refusal> {
        self.inner.check_open().err()
    }

    /// Goes on in a later epoch.
    pub fn begin_epoch(&self, epoch: i64) {
        if let Some(first) = first_fence(epoch) {
            self.inner.next.fetch_max(first + 1, Ordering::AcqRel);
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    fn new(first: u64, ports: Ports) -> Self {
        let now_ms = ports.time.monotonic_ms();
        let lane = |number| Mutex::new(Lane::new(u8::try_from(number).unwrap_or(0)));
        Self {
            lanes: (0..LANES).map(lane).collect(),
            hasher: RandomState::new(),
            agents: Agents::new(),
            index: Index::new(now_ms),
            tickets: Tickets::new(now_ms),
            waits: (0..GRAPHS).map(|_| Mutex::default()).collect(),
            breaking: Mutex::default(),
            next: AtomicU64::new(first + 1),
            time: ports.time,
            fresh: ports.fresh,
            told: ports.told,
            journal: Journal::new(),
            stopping: watch::Sender::new(false),
            waiting: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            changes: AtomicU64::new(0),
        }
    }

    fn lane(&self, number: usize) -> MutexGuard<'_, Lane> {
        self.lanes[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane_of(&self, place: &Place) -> usize {
        usize::try_from(self.hasher.hash_one(place) % LANES as u64).unwrap_or(0)
    }

    fn waits(&self, org: Id<Organization>) -> MutexGuard<'_, Graphs> {
        let graphs = usize::try_from(self.hasher.hash_one(org) % GRAPHS as u64).unwrap_or(0);
        self.waits[graphs].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Now {
        Now { ms: self.time.monotonic_ms(), wall: self.time.wall() }
    }

    /// The next number: for tokens, waiters and happenings.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// No number that was given is greater.
    fn newest(&self) -> u64 {
        self.next.load(Ordering::Acquire) - 1
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if let Some(failure) = self.journal.failure() {
            return Err(match failure {
                // That was said to those who waited for it. What comes later has surely not happened.
                Refusal::OutcomeUnknown => Refusal::Unavailable("the journal cannot be written".into()),
                other => other.clone(),
            });
        }
        if *self.stopping.borrow() {
            return Err(Refusal::Unavailable("the hub is stopping".into()));
        }
        if fences_left(self.next.load(Ordering::Relaxed)) < NUMBERS_RESERVED {
            return Err(Refusal::Unavailable("the fencing tokens of this epoch are used up".into()));
        }
        Ok(())
    }

    /// What to say to somebody whose answer will never come.
    fn broken(&self) -> Refusal {
        self.journal.failure().cloned().unwrap_or(Refusal::OutcomeUnknown)
    }

    fn end_due(&self) {
        let now_ms = self.time.monotonic_ms();
        for (id, place) in self.index.due(now_ms) {
            let turn = Turn::at(self, place);
            // Whatever was over ended when the turn began.
            if let Some(hold) = turn.line.holders().iter().find(|hold| hold.id == id) {
                self.index.look_again(hold, now_ms);
            }
        }
        for (id, place) in self.tickets.due(now_ms) {
            let whom = |waiter: &Waiter| waiter.ticket() == Some(id);
            Turn::at(self, place).end_tickets(whom, tickets::End::Expired);
        }
    }

    /// Ends what was granted to somebody who is gone.
    fn take_back(&self, reply: Reply) {
        match reply {
            Reply::Acquired(Acquired::Held(held)) => {
                let (org, id) = (held.hold.owner.org, held.hold.id);
                Turn::at(self, Place { org, key: held.key }).take_back(id);
            }
            Reply::Acquired(Acquired::Queued { ticket, .. }) => {
                if let Some(place) = self.tickets.place(ticket) {
                    Turn::at(self, place).take_ticket_back(ticket);
                }
            }
            Reply::Acquired(Acquired::Again(_))
            | Reply::Again(_)
            | Reply::Refused(_)
            | Reply::Held(_)
            | Reply::Nothing => {}
        }
    }

    fn abandon(&self, of: Grip) {
        let Some(place) = self.index.find(of.id) else { return };
        let mut turn = Turn::at(self, place);
        if turn.line.holders().iter().any(|hold| hold.id == of.id && hold.owner.agent == of.agent) {
            turn.give_back(of.id);
        }
    }

    /// Nobody who waits will be answered any more.
    fn refuse_all(&self) {
        (0..LANES).for_each(|number| self.lane(number).open.clear());
    }

    /// What will never be written. Turns that end later see the failure and forget it themselves.
    fn forget_unwritten(&self) {
        (0..LANES).for_each(|number| drop(self.lane(number).take_out()));
    }

    /// A change of one lock by its holder, answered when it is durable.
    async fn by_holder(
        &self,
        of: Grip,
        change: impl FnOnce(&mut Turn<'_>, Listener) -> Result<(), Refusal>,
    ) -> Result<Held, Refusal> {
        self.check_open()?;
        let place = self.index.find(of.id).filter(|place| place.org == of.org).ok_or(Refusal::Expired)?;
        let (listener, answer) = oneshot::channel();
        change(&mut Turn::of_asker(self, place), listener)?;
        match answer.await.map(|reply| *reply) {
            Ok(Reply::Held(held)) => Ok(held),
            _ => Err(self.broken()),
        }
    }
}

impl Locks for Local {
    fn acquire(&self, wanted: Wanted) -> Answer<'_, Acquired> {
        Box::pin(asking::acquire(&self.inner, wanted))
    }

    fn renew(&self, of: Grip, ttl_seconds: Option<u32>, why: Renewal) -> Answer<'_, Held> {
        let change = move |turn: &mut Turn<'_>, listener| turn.renew(of, ttl_seconds, why, listener);
        Box::pin(self.inner.by_holder(of, change))
    }

    fn release(&self, of: Grip) -> Answer<'_, Held> {
        Box::pin(self.inner.by_holder(of, move |turn, listener| turn.release(of, listener)))
    }

    fn abandon(&self, of: Grip) {
        self.inner.abandon(of);
    }

    fn is_current(&self, org: Id<Organization>, key: LockKey, fence: u64) -> Answer<'_, bool> {
        Box::pin(views::is_current(&self.inner, Place { org, key }, fence))
    }

    fn force_release(
        &self,
        org: Id<Organization>,
        key: LockKey,
        which: Vec<Id<Hold>>,
    ) -> Answer<'_, Vec<Held>> {
        Box::pin(async move { views::force_release(&self.inner, Place { org, key }, &which).await })
    }

    fn release_all(&self, org: Id<Organization>, agent: Id<Account>) -> Answer<'_, usize> {
        Box::pin(views::release_all(&self.inner, org, agent))
    }

    fn ticket(&self, org: Id<Organization>, id: Id<Waiter>) -> Answer<'_, Ticket> {
        Box::pin(views::ticket(&self.inner, org, id, false))
    }

    fn leave(&self, org: Id<Organization>, id: Id<Waiter>) -> Answer<'_, Ticket> {
        Box::pin(views::ticket(&self.inner, org, id, true))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Held>> {
        Box::pin(async move { views::list(&self.inner, &filter) })
    }

    fn queue(&self, org: Id<Organization>, key: LockKey) -> Answer<'_, Standing> {
        Box::pin(async move { views::queue(&self.inner, Place { org, key }) })
    }

    fn graph(&self, org: Id<Organization>) -> Answer<'_, Graph> {
        Box::pin(async move { views::graph(&self.inner, org) })
    }

    fn waiting_in(&self) -> Vec<Id<Organization>> {
        let graphs = |graphs: &Mutex<Graphs>| -> Vec<_> {
            graphs.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
        };
        self.inner.waits.iter().flat_map(graphs).collect()
    }

    fn break_circles(&self, org: Id<Organization>) {
        circles::break_all(&self.inner, org);
    }

    fn counts(&self) -> Counts {
        Counts {
            held: self.inner.index.len() as u64,
            waiting: self.inner.waiting.load(Ordering::Relaxed),
            expired: self.inner.expired.load(Ordering::Relaxed),
            deadlocks: self.inner.deadlocks.load(Ordering::Relaxed),
        }
    }

    fn changes(&self) -> u64 {
        self.inner.changes.load(Ordering::Acquire)
    }

    fn noted(&self, receipts: &[Receipt]) {
        for receipt in receipts {
            self.inner.lane(usize::from(receipt.lane) % LANES).noted(receipt.number);
            self.inner.journal.poke(receipt.lane);
        }
    }

    fn close(&self) {
        self.inner.stopping.send_replace(true);
        self.inner.journal.close();
    }
}
