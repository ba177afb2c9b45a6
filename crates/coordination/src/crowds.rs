//! How many of one caller's requests may wait at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

type Counts<K> = Arc<Mutex<HashMap<K, usize>>>;

/// Counts those who wait, by key.
pub struct Crowds<K: Hash + Eq + Clone> {
    counts: Counts<K>,
    max: usize,
}

/// One who waits; leaving is dropping it, also when the client hangs up.
pub struct Place<K: Hash + Eq + Clone> {
    counts: Counts<K>,
    key: K,
}

impl<K: Hash + Eq + Clone> Crowds<K> {
    /// At most `max` wait for each key.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { counts: Counts::default(), max }
    }

    /// A place to wait, unless too many of this key wait already.
    pub fn enter(&self, key: K) -> Option<Place<K>> {
        self.enter_below(key, self.max)
    }

    /// How many of this key there are.
    #[must_use]
    pub fn count(&self, key: &K) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied().unwrap_or(0)
    }

    /// A place, unless there are `max` of this key already.
    pub fn enter_below(&self, key: K, max: usize) -> Option<Place<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.clone()).or_default();
        if *count >= max.min(self.max) {
            return None;
        }
        *count += 1;
        Some(Place { counts: Arc::clone(&self.counts), key })
    }
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_bounded_by_key_and_nothing_is_left() {
        let crowds = Crowds::new(2);
        let first = crowds.enter("a").unwrap();
        let second = crowds.enter("a").unwrap();
        assert!(crowds.enter("a").is_none());
        assert!(crowds.enter("b").is_some(), "another key has its own crowd");
        drop(first);
        assert!(crowds.enter("a").is_some());
        drop(second);
        assert!(crowds.counts.lock().unwrap().is_empty());
    }
}
