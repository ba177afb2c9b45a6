//! Waking those who wait for news of one key, without a database connection and without polling.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// Numbers that only grow, one per key, with those who wait for them.
pub struct Wakers<K> {
    keys: Mutex<HashMap<K, watch::Sender<i64>>>,
}

impl<K> Default for Wakers<K> {
    fn default() -> Self {
        Self { keys: Mutex::default() }
    }
}

impl<K: Hash + Eq> Wakers<K> {
    /// Listens to a key. What was told before is not told again: look first, then wait.
    pub fn listen(&self, key: K) -> watch::Receiver<i64> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Keys nobody listens to any more go when somebody new comes, so the map follows the listeners.
        if keys.len() > 64 && keys.len().is_power_of_two() {
            keys.retain(|_, sender| sender.receiver_count() > 0);
        }
        keys.entry(key).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Tells those who listen to the key.
    pub fn tell(&self, key: &K, number: i64) {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = keys.get(key) {
            sender.send_replace(number);
        }
    }

    /// Tells everybody, whatever the key.
    pub fn tell_all(&self, number: i64) {
        for sender in self.keys.lock().unwrap_or_else(PoisonError::into_inner).values() {
            sender.send_replace(number);
        }
    }
}
