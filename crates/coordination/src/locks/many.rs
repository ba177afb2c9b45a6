//! Several locks at once: all of them, or none.

use std::time::{Duration, Instant};

use domain::Id;
use domain::locks::{Hold, LockKey, Mode};

use super::{Acquired, Grip, Held, Locks, Refusal, Renewal, Wait, Wanted};

/// What somebody asks for: several keys on the terms of one.
#[derive(Clone, Debug)]
pub struct Several {
    /// Which keys, and how.
    pub keys: Vec<(LockKey, Mode)>,
    /// Everything else; its key and mode are not looked at.
    pub terms: Wanted,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub struct All {
    /// In the order of their keys.
    pub held: Vec<Held>,
    /// Those that this request has taken. The others it had before: they are not its to give back when something else
    /// fails.
    pub taken: Vec<Id<Hold>>,
}

/// Takes the keys one after the other in their order, waiting in each line as anybody, and keeps what it has; if one
/// cannot be had, those taken are released before the refusal. The time of all begins with the last.
pub async fn acquire_many(locks: &dyn Locks, several: Several) -> Result<All, Refusal> {
    let Several { mut keys, terms } = several;
    // Exclusive sorts first, so the stronger of two wishes for one key stays.
    keys.sort_by(|a, b| a.0.cmp(&b.0).then((a.1 == Mode::Shared).cmp(&(b.1 == Mode::Shared))));
    keys.dedup_by(|later, earlier| later.0 == earlier.0);
    let wait = match terms.wait {
        Wait::For(wait) => wait,
        Wait::No | Wait::Ticket => Duration::ZERO,
    };
    let deadline = Instant::now() + wait;
    let mut taken = Taken { locks, terms: &terms, held: Vec::new(), all: Vec::new() };
    for (key, mode) in keys {
        let left = deadline.saturating_duration_since(Instant::now());
        // None may end while the others are waited for.
        let ttl_seconds = terms.ttl_seconds + u32::try_from(left.as_secs() + 1).unwrap_or(u32::MAX);
        let wait = if wait.is_zero() { Wait::No } else { Wait::For(left) };
        let wanted = Wanted { key, mode, ttl_seconds, wait, ..terms.clone() };
        match locks.acquire(wanted).await {
            Ok(Acquired::Held(held)) => {
                taken.held.push(taken.grip(&held));
                taken.all.push(*held);
            }
            Ok(Acquired::Again(held)) => taken.all.push(*held),
            Ok(Acquired::Queued { .. }) => return Err(Refusal::Unavailable("an unasked ticket".into())),
            Err(refusal) => {
                taken.give_back().await;
                return Err(refusal);
            }
        }
    }
    taken.begin().await
}

/// What is taken so far. If the asker goes away on the way, the locks do too.
struct Taken<'a> {
    locks: &'a dyn Locks,
    terms: &'a Wanted,
    /// Those that this request has taken, and gives back if it does not get all.
    held: Vec<Grip>,
    /// With those that it had before, in the order of their keys.
    all: Vec<Held>,
}

impl Taken<'_> {
    fn grip(&self, held: &Held) -> Grip {
        Grip { org: self.terms.org, agent: self.terms.agent, id: held.hold.id }
    }

    async fn give_back(&mut self) {
        while let Some(grip) = self.held.last() {
            // Whatever ended it in the meantime has done the same.
            drop(self.locks.release(*grip).await);
            self.held.pop();
        }
    }

    /// Starts the time of all. A lock that was lost on the way (to an admin, or to break a circle) loses all.
    async fn begin(mut self) -> Result<All, Refusal> {
        let mut begun = Vec::with_capacity(self.all.len());
        for held in &self.all {
            match self.locks.renew(self.grip(held), Some(self.terms.ttl_seconds), Renewal::Beginning).await {
                Ok(held) => begun.push(held),
                Err(refusal) => {
                    self.give_back().await;
                    return Err(refusal);
                }
            }
        }
        Ok(All { held: begun, taken: self.held.drain(..).map(|grip| grip.id).collect() })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for grip in &self.held {
            self.locks.abandon(*grip);
        }
    }
}
