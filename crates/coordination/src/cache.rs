//! A cache that is exact within one process.
//!
//! An entry is valid only in the epoch it was loaded in. The epoch moves before the answer of the change that
//! moved it, so whoever got that answer can no longer see the old entry. A loader reads the epoch *before* it
//! loads: a change during the load leaves an entry that is already stale.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use domain::Timestamp;

const SHARDS: usize = 16;

struct Entry<V> {
    value: Arc<V>,
    epoch: u64,
    loaded_at: Timestamp,
}

/// Where a lookup stands in time.
#[derive(Clone, Copy)]
pub struct Moment {
    /// The epoch now, or before the load.
    pub epoch: u64,
    /// The time now.
    pub now: Timestamp,
    /// How old an entry may be. With several processes nobody tells us of their changes: entries then end by age as well.
    pub max_age: Option<Duration>,
}

/// A bounded map whose entries end with their epoch.
pub struct ExactCache<K, V> {
    shards: Vec<RwLock<HashMap<K, Entry<V>>>>,
    hasher: RandomState,
    shard_entries_max: usize,
}

impl<K: Hash + Eq, V> ExactCache<K, V> {
    /// An empty cache of about `entries_max` entries.
    #[must_use]
    pub fn new(entries_max: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
            shard_entries_max: (entries_max / SHARDS).max(1),
        }
    }

    /// The entry, if it is still true.
    pub fn get(&self, key: &K, at: Moment) -> Option<Arc<V>> {
        let shard = self.shard(key).read().unwrap_or_else(PoisonError::into_inner);
        let entry = shard.get(key)?;
        is_true(entry, at).then(|| Arc::clone(&entry.value))
    }

    /// Whether there is an entry at all, true or not any more.
    pub fn has(&self, key: &K) -> bool {
        self.shard(key).read().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }

    /// Keeps what was loaded; `at.epoch` is from before the load.
    pub fn put(&self, key: K, value: V, at: Moment) -> Arc<V> {
        let value = Arc::new(value);
        let entry = Entry { value: Arc::clone(&value), epoch: at.epoch, loaded_at: at.now };
        let mut shard = self.shard(&key).write().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= self.shard_entries_max {
            shard.retain(|_, entry| is_true(entry, at));
            if shard.len() >= self.shard_entries_max {
                // Half of them, whichever: emptying it all would make the next thousands of lookups miss.
                let mut stays = false;
                shard.retain(|_, _| {
                    stays = !stays;
                    stays
                });
            }
        }
        shard.insert(key, entry);
        value
    }

    fn shard(&self, key: &K) -> &RwLock<HashMap<K, Entry<V>>> {
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        &self.shards[hash]
    }
}

fn is_true<V>(entry: &Entry<V>, at: Moment) -> bool {
    entry.epoch == at.epoch && at.max_age.is_none_or(|max| at.now.since(entry.loaded_at) < max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, second: i64) -> Moment {
        Moment { epoch, now: Timestamp::from_micros(second * 1_000_000), max_age: None }
    }

    #[test]
    fn an_entry_ends_with_its_epoch_and_its_age() {
        let cache = ExactCache::new(100);
        cache.put("k", 1, at(7, 0));
        assert_eq!(cache.get(&"k", at(7, 0)).as_deref(), Some(&1));
        assert_eq!(cache.get(&"k", at(8, 0)), None, "something was changed");
        assert_eq!(cache.get(&"k", at(7, 1)).as_deref(), Some(&1), "nobody else can have changed it");
        let among_others = Moment { max_age: Some(Duration::from_secs(1)), ..at(7, 1) };
        assert_eq!(cache.get(&"k", among_others), None, "another process may have changed it");
    }

    #[test]
    fn a_change_during_the_load_leaves_nothing_behind() {
        let cache = ExactCache::new(100);
        let before_load = at(7, 0);
        // … the load reads the old row, then the change commits and moves the epoch …
        cache.put("k", "old", before_load);
        assert_eq!(cache.get(&"k", at(8, 0)), None);
    }

    #[test]
    fn it_stays_bounded() {
        let cache = ExactCache::new(160);
        for key in 0..10_000 {
            cache.put(key, (), at(0, 0));
        }
        let held: usize = cache.shards.iter().map(|shard| shard.read().unwrap().len()).sum();
        assert!(held <= 160, "{held}");
    }
}
