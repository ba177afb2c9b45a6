//! Things that somebody is about to take, so that others look further instead of running into them.
//!
//! Whoever finds a thing reserved can wait for what comes of it: only where it is left is there a reason to look again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

type Reserved<K> = Arc<Mutex<HashMap<K, watch::Sender<bool>>>>;

/// What is reserved now, by key.
pub struct Reservations<K: Hash + Eq + Clone> {
    keys: Reserved<K>,
}

/// The right to try first. Dropping it leaves the thing to others, unless it was taken.
pub struct Reservation<K: Hash + Eq + Clone> {
    keys: Reserved<K>,
    key: K,
}

/// What somebody else has reserved.
pub struct Passed {
    is_taken: watch::Receiver<bool>,
}

impl<K: Hash + Eq + Clone> Default for Reservations<K> {
    fn default() -> Self {
        Self { keys: Reserved::default() }
    }
}

impl<K: Hash + Eq + Clone> Reservations<K> {
    /// Reserves it, unless somebody else has.
    ///
    /// # Errors
    /// Somebody else has.
    pub fn reserve(&self, key: K) -> Result<Reservation<K>, Passed> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = keys.get(&key) {
            return Err(Passed { is_taken: taken.subscribe() });
        }
        keys.insert(key.clone(), watch::Sender::new(false));
        Ok(Reservation { keys: Arc::clone(&self.keys), key })
    }

    /// Whether somebody has reserved it.
    #[must_use]
    pub fn has(&self, key: &K) -> bool {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }
}

impl<K: Hash + Eq + Clone> Reservation<K> {
    /// It was taken: nobody needs to look for it again.
    pub fn taken(self) {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = keys.get(&self.key) {
            taken.send_replace(true);
        }
    }
}

impl<K: Hash + Eq + Clone> Drop for Reservation<K> {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl Passed {
    /// Waits until it was left to others; for ever if it was taken.
    pub async fn left(mut self) {
        // The other end goes with the reservation, and says before whether it was taken.
        let taken = self.is_taken.wait_for(|taken| *taken).await.is_ok();
        if taken {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    async fn is_over(waiting: impl Future<Output = ()>) -> bool {
        let mut waiting = pin!(waiting);
        poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn one_tries_and_the_others_hear_only_of_what_is_left() {
        let all = Reservations::default();
        let first = all.reserve("task").ok().unwrap();
        assert!(all.reserve("another").is_ok());
        let (one, two) = (all.reserve("task").err().unwrap(), all.reserve("task").err().unwrap());
        assert!(!is_over(one.left()).await, "nobody knows yet");
        drop(first);
        assert!(is_over(two.left()).await);
        let second = all.reserve("task").ok().unwrap();
        let passed = all.reserve("task").err().unwrap();
        second.taken();
        assert!(!is_over(passed.left()).await);
        assert!(all.reserve("task").is_ok(), "what was taken is reserved no longer");
        assert!(all.keys.lock().unwrap().is_empty());
    }
}
