//! The rules of locks in the plainest words: one list, looked through from the beginning each time.

use std::collections::{BTreeMap, BTreeSet};

use domain::locks::{Mode, TICKET_SECONDS};

/// How somebody asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Without waiting.
    Now,
    /// Waiting with a connection.
    Open,
    /// With a ticket.
    Ticket,
}

/// Somebody who holds or waits.
#[derive(Clone, Debug)]
pub struct Entry {
    /// In the order in which they came.
    pub number: u64,
    /// Who.
    pub owner: u128,
    /// For which key.
    pub key: u8,
    /// Alone or not.
    pub mode: Mode,
    /// How it asked.
    pub kind: Kind,
    ttl_seconds: u32,
    /// When it ends, if it holds.
    holds_until: Option<u64>,
    leaves_at: u64,
}

impl Entry {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.holds_until.is_some()
    }
}

/// What came of asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It holds.
    Granted(u64),
    /// It waits.
    Waits(u64),
    /// Others hold.
    Busy,
    /// It holds already.
    Already,
}

/// Everybody there is.
#[derive(Default)]
pub struct Model {
    /// In the order in which they came.
    pub entries: Vec<Entry>,
    births: BTreeMap<u128, u64>,
    next: u64,
    now_ms: u64,
}

impl Model {
    /// Somebody asks.
    pub fn ask(&mut self, owner: u128, key: u8, (mode, ttl_seconds): (Mode, u32), kind: Kind) -> Outcome {
        self.next += 1;
        let number = self.next;
        if self.entries.iter().any(|entry| entry.key == key && entry.owner == owner && entry.holds()) {
            return Outcome::Already;
        }
        let leaves_at = match kind {
            Kind::Ticket => self.now_ms + u64::from(TICKET_SECONDS) * 1000,
            Kind::Now | Kind::Open => u64::MAX,
        };
        let born = self.births.contains_key(&owner);
        self.births.entry(owner).or_insert(number);
        let entry = Entry { number, owner, key, mode, kind, ttl_seconds, holds_until: None, leaves_at };
        self.entries.push(entry);
        self.settle();
        let holds = self.entries.iter().any(|entry| entry.number == number && entry.holds());
        if holds {
            return Outcome::Granted(number);
        }
        if kind == Kind::Now {
            self.remove(|entry| entry.number == number);
            if !born {
                self.births.remove(&owner);
            }
            return Outcome::Busy;
        }
        Outcome::Waits(number)
    }

    /// Serves, key by key, the first in line while nobody is in its way.
    fn settle(&mut self) {
        let keys: BTreeSet<u8> = self.entries.iter().map(|entry| entry.key).collect();
        for key in keys {
            while let Some(first) = self.entries.iter().position(|entry| entry.key == key && !entry.holds()) {
                let Entry { owner, mode, ttl_seconds, .. } = self.entries[first];
                let in_the_way = |entry: &Entry| {
                    entry.key == key
                        && entry.holds()
                        && (entry.mode == Mode::Exclusive || mode == Mode::Exclusive)
                };
                if self.entries.iter().any(in_the_way) {
                    break;
                }
                self.entries[first].holds_until = Some(self.now_ms + u64::from(ttl_seconds) * 1000);
                self.entries.retain(|entry| entry.holds() || entry.key != key || entry.owner != owner);
            }
        }
        let there: BTreeSet<u128> = self.entries.iter().map(|entry| entry.owner).collect();
        self.births.retain(|owner, _| there.contains(owner));
    }

    /// Those go, and others are served.
    pub fn remove(&mut self, goes: impl Fn(&Entry) -> bool) {
        self.entries.retain(|entry| !goes(entry));
        self.settle();
    }

    /// The time of a lock begins anew.
    pub fn renew(&mut self, number: u64) {
        for entry in self.entries.iter_mut().filter(|entry| entry.number == number) {
            entry.holds_until = Some(self.now_ms + u64::from(entry.ttl_seconds) * 1000);
        }
    }

    /// Time goes by.
    pub fn advance(&mut self, seconds: u64) {
        self.now_ms += seconds * 1000;
        let now_ms = self.now_ms;
        self.remove(|entry| entry.holds_until.is_some_and(|until| until <= now_ms));
        self.remove(|entry| !entry.holds() && entry.leaves_at < now_ms);
    }

    /// Connections are gone; everything else gets its whole time.
    pub fn restart(&mut self) {
        let now_ms = self.now_ms;
        for entry in &mut self.entries {
            entry.leaves_at = entry.leaves_at.max(now_ms.saturating_add(u64::from(TICKET_SECONDS) * 1000));
            if entry.holds() {
                entry.holds_until = Some(now_ms + u64::from(entry.ttl_seconds) * 1000);
            }
        }
        self.remove(|entry| !entry.holds() && entry.kind == Kind::Open);
    }

    /// Those of one key, holders or waiters, in their order.
    #[must_use]
    pub fn line(&self, key: u8, holds: bool) -> Vec<(u128, Mode)> {
        let those = self.entries.iter().filter(|entry| entry.key == key && entry.holds() == holds);
        those.map(|entry| (entry.owner, entry.mode)).collect()
    }

    /// Whether `waiter` waits for `blocker`, for this key.
    #[must_use]
    pub fn waits_for(&self, waiter: u128, key: u8, blocker: u128) -> bool {
        let here: Vec<&Entry> = self.entries.iter().filter(|entry| entry.key == key).collect();
        let waits = here.iter().filter(|entry| !entry.holds() && entry.owner == waiter);
        waits.into_iter().any(|mine| {
            here.iter().any(|other| {
                other.owner == blocker
                    && (other.holds() || other.number < mine.number)
                    && (other.mode == Mode::Exclusive || mine.mode == Mode::Exclusive)
            })
        })
    }

    /// Whether this owner waits for itself, over others.
    #[must_use]
    pub fn is_in_a_circle(&self, owner: u128) -> bool {
        let owners: Vec<u128> = self.births.keys().copied().collect();
        let keys: BTreeSet<u8> = self.entries.iter().map(|entry| entry.key).collect();
        let mut reached = BTreeSet::new();
        let mut open = vec![owner];
        while let Some(at) = open.pop() {
            for other in owners.iter().filter(|other| **other != at) {
                if keys.iter().any(|key| self.waits_for(at, *key, *other)) && reached.insert(*other) {
                    open.push(*other);
                }
            }
        }
        reached.contains(&owner)
    }

    /// When an owner came, as a number.
    #[must_use]
    pub fn birth(&self, owner: u128) -> u64 {
        self.births.get(&owner).copied().unwrap_or(0)
    }
}
