//! One at a time per key, for a bounded wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Doors<K> = Arc<Mutex<HashMap<K, (Arc<Semaphore>, usize)>>>;

/// Doors by key. A door exists while somebody is in it or waits at it.
pub struct Turns<K: Hash + Eq + Clone> {
    doors: Doors<K>,
}

/// The right to be inside; leaving is dropping it. The permit goes first, so the next one can enter while the door
/// still exists.
pub struct Turn<K: Hash + Eq + Clone> {
    _permit: OwnedSemaphorePermit,
    _place: Place<K>,
}

/// Counts one who is in or waits, also when the wait is cancelled.
struct Place<K: Hash + Eq + Clone> {
    doors: Doors<K>,
    key: K,
}

impl<K: Hash + Eq + Clone> Default for Turns<K> {
    fn default() -> Self {
        Self { doors: Doors::default() }
    }
}

impl<K: Hash + Eq + Clone> Turns<K> {
    /// Waits for the key's turn. None if it did not come in time.
    pub async fn enter(&self, key: K, wait: Duration) -> Option<Turn<K>> {
        let (door, place) = {
            let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
            let (door, users) = doors.entry(key.clone()).or_insert_with(|| (Arc::new(Semaphore::new(1)), 0));
            *users += 1;
            (Arc::clone(door), Place { doors: Arc::clone(&self.doors), key })
        };
        let permit = tokio::time::timeout(wait, door.acquire_owned()).await.ok()?.ok()?;
        Some(Turn { _permit: permit, _place: place })
    }
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, users)) = doors.get_mut(&self.key) {
            *users -= 1;
            if *users == 0 {
                doors.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_is_in_the_next_waits_and_nothing_is_left() {
        let turns = Turns::default();
        let first = turns.enter("k", Duration::ZERO).await.unwrap();
        assert!(turns.enter("k", Duration::from_millis(5)).await.is_none());
        assert!(turns.enter("other", Duration::ZERO).await.is_some());
        drop(first);
        assert!(turns.enter("k", Duration::from_secs(5)).await.is_some());
        assert!(turns.doors.lock().unwrap().is_empty());
    }
}
