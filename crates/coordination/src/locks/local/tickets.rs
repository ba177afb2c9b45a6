//! Places in line that need no connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::Id;
use domain::accounts::Account;
use domain::locks::{Hold, TICKET_SECONDS, Waiter, deadline};

use super::lane::Place;
use super::wheel::Wheel;

/// How many tickets that have ended are remembered, so that their holders learn what became of them.
const ENDED_MAX: usize = 100_000;

/// Tickets by id.
pub(super) struct Tickets {
    book: Mutex<Book>,
}

struct Book {
    entries: HashMap<Id<Waiter>, Entry>,
    ended: VecDeque<Id<Waiter>>,
    wheel: Wheel<Id<Waiter>>,
}

/// One ticket.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) agent: Id<Account>,
    pub(super) stage: Stage,
    due_ms: u64,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Granted(Id<Hold>),
    Ended(End),
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Expired,
    Cancelled,
}

impl Tickets {
    pub(super) fn new(now_ms: u64) -> Self {
        let (entries, ended) = (HashMap::new(), VecDeque::new());
        Self { book: Mutex::new(Book { entries, ended, wheel: Wheel::new(now_ms) }) }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: Id<Waiter>, place: Place, agent: Id<Account>, now_ms: u64) {
        let due_ms = deadline(now_ms, TICKET_SECONDS);
        let mut book = self.book();
        book.entries.insert(id, Entry { place, agent, stage: Stage::Waiting, due_ms });
        book.wheel.put(id, due_ms, now_ms);
    }

    pub(super) fn granted(&self, id: Id<Waiter>, hold: Id<Hold>) {
        if let Some(entry) = self.book().entries.get_mut(&id) {
            entry.stage = Stage::Granted(hold);
        }
    }

    pub(super) fn ended(&self, id: Id<Waiter>, end: End) {
        let mut book = self.book();
        let Some(entry) = book.entries.get_mut(&id) else { return };
        entry.stage = Stage::Ended(end);
        book.ended.push_back(id);
        if book.ended.len() > ENDED_MAX
            && let Some(oldest) = book.ended.pop_front()
        {
            book.entries.remove(&oldest);
        }
    }

    pub(super) fn find(&self, id: Id<Waiter>) -> Option<Entry> {
        self.book().entries.get(&id).cloned()
    }

    pub(super) fn place(&self, id: Id<Waiter>) -> Option<Place> {
        self.book().entries.get(&id).map(|entry| entry.place.clone())
    }

    /// Those that have stood in line long enough.
    pub(super) fn due(&self, now_ms: u64) -> Vec<(Id<Waiter>, Place)> {
        let mut book = self.book();
        let mut due = Vec::new();
        for id in book.wheel.due(now_ms) {
            let Some(entry) = book.entries.get(&id).filter(|entry| entry.stage == Stage::Waiting) else {
                continue;
            };
            let (due_ms, place) = (entry.due_ms, entry.place.clone());
            if due_ms <= now_ms {
                due.push((id, place));
            } else {
                book.wheel.put(id, due_ms, now_ms);
            }
        }
        due
    }
}
