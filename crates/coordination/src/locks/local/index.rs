//! Where a lock is, by its id, and when to look whether it has ended.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::Id;
use domain::locks::Hold;

use super::lane::Place;
use super::wheel::Wheel;

const SHARDS: usize = 16;

/// Locks by id.
pub(super) struct Index {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
}

struct Shard {
    places: HashMap<Id<Hold>, (Place, Look)>,
    wheel: Wheel<(Id<Hold>, Look)>,
}

/// Which look at a lock is the next one. A renewal makes another; those before it are looked at in vain.
type Look = u32;

impl Index {
    pub(super) fn new(now_ms: u64) -> Self {
        let shard = || Mutex::new(Shard { places: HashMap::new(), wheel: Wheel::new(now_ms) });
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), hasher: RandomState::new() }
    }

    fn shard(&self, id: Id<Hold>) -> MutexGuard<'_, Shard> {
        let shard = usize::try_from(self.hasher.hash_one(id) % SHARDS as u64).unwrap_or(0);
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, hold: &Hold, place: Place, now_ms: u64) {
        let mut shard = self.shard(hold.id);
        shard.places.insert(hold.id, (place, 0));
        shard.wheel.put((hold.id, 0), hold.deadline_ms, now_ms);
    }

    pub(super) fn remove(&self, id: Id<Hold>) {
        self.shard(id).places.remove(&id);
    }

    pub(super) fn find(&self, id: Id<Hold>) -> Option<Place> {
        self.shard(id).places.get(&id).map(|(place, _)| place.clone())
    }

    /// Has the lock looked at when it ends now, and not when it would have before.
    pub(super) fn look_again(&self, hold: &Hold, now_ms: u64) {
        let mut shard = self.shard(hold.id);
        let Some((_, look)) = shard.places.get_mut(&hold.id) else { return };
        *look = look.wrapping_add(1);
        let look = *look;
        shard.wheel.put((hold.id, look), hold.deadline_ms, now_ms);
    }

    /// Locks that may have ended by now. Those that were released are forgotten here.
    pub(super) fn due(&self, now_ms: u64) -> Vec<(Id<Hold>, Place)> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for (id, look) in shard.wheel.due(now_ms) {
                let place = shard.places.get(&id).filter(|(_, next)| *next == look);
                found.extend(place.map(|(place, _)| (id, place.clone())));
            }
        }
        found
    }

    pub(super) fn len(&self) -> usize {
        let len = |shard: &Mutex<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).places.len();
        self.shards.iter().map(len).sum()
    }
}
