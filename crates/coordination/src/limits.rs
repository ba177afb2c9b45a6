//! Rate limits, counted in this process.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use domain::Timestamp;
use domain::limits::{Decision, SlidingWindow};

const SHARDS: usize = 16;
/// Callers remembered at once; beyond it those without a recent request are forgotten.
const CALLERS_MAX: usize = 160_000;
const SHARD_CALLERS_MAX: usize = CALLERS_MAX / SHARDS;

type Shard<K, const PART_SECONDS: i64> = Mutex<HashMap<K, SlidingWindow<PART_SECONDS>>>;

/// Sliding windows by caller, of a minute each unless said otherwise.
pub struct Limits<K, const PART_SECONDS: i64 = 1> {
    shards: Vec<Shard<K, PART_SECONDS>>,
    hasher: RandomState,
    limit: u32,
}

impl<K: Hash + Eq, const PART_SECONDS: i64> Limits<K, PART_SECONDS> {
    /// At most `limit` requests in a window for each caller; 0 means no limit.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new(), limit }
    }

    /// Counts a request, or says how long to wait. None where there is no limit.
    pub fn check(&self, caller: K, now: Timestamp) -> Option<Decision> {
        if self.limit == 0 {
            return None;
        }
        let mut shard = self.shard(&caller).lock().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= SHARD_CALLERS_MAX && !shard.contains_key(&caller) {
            shard.retain(|_, window| !window.is_idle(now.micros()));
            if shard.len() >= SHARD_CALLERS_MAX {
                // A flood from more addresses than we remember: forgetting all would free the flood, so the
                // stranger waits.
                return Some(Decision {
                    allowed: false,
                    remaining: 0,
                    reset_seconds: SlidingWindow::<PART_SECONDS>::SECONDS,
                });
            }
        }
        Some(shard.entry(caller).or_default().check(now.micros(), self.limit))
    }

    /// Whether the next request of this caller would be refused; nothing is counted.
    pub fn is_exhausted(&self, caller: &K, now: Timestamp) -> bool {
        if self.limit == 0 {
            return false;
        }
        let shard = self.shard(caller).lock().unwrap_or_else(PoisonError::into_inner);
        shard.get(caller).is_some_and(|window| window.is_exhausted(now.micros(), self.limit))
    }

    /// Takes back one request of this caller that was counted at this time.
    pub fn give_back(&self, caller: &K, counted_at: Timestamp) {
        let mut shard = self.shard(caller).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = shard.get_mut(caller) {
            window.give_back(counted_at.micros());
        }
    }

    fn shard(&self, caller: &K) -> &Shard<K, PART_SECONDS> {
        &self.shards[usize::try_from(self.hasher.hash_one(caller) % SHARDS as u64).unwrap_or(0)]
    }
}
