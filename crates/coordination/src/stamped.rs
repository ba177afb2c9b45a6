//! A cache for what carries a stamp: whoever knows the stamp in force knows whether an entry is true.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

struct Entry<S, V> {
    stamp: S,
    value: Arc<V>,
}

/// A bounded map; of each key the entry that was put last.
pub struct StampedCache<K, S, V> {
    entries: RwLock<HashMap<K, Entry<S, V>>>,
    entries_max: usize,
}

impl<K: Hash + Eq, S: PartialEq, V> StampedCache<K, S, V> {
    /// An empty cache of at most `entries_max` entries.
    #[must_use]
    pub fn new(entries_max: usize) -> Self {
        Self { entries: RwLock::default(), entries_max }
    }

    /// The entry, if it has this stamp.
    pub fn get(&self, key: &K, stamp: &S) -> Option<Arc<V>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|entry| entry.stamp == *stamp).map(|entry| Arc::clone(&entry.value))
    }

    /// The entry, of whatever stamp: what the next one is made from.
    pub fn last(&self, key: &K) -> Option<Arc<V>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).map(|entry| Arc::clone(&entry.value))
    }

    /// Keeps an entry.
    pub fn put(&self, key: K, stamp: S, value: V) -> Arc<V> {
        let value = Arc::new(value);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.entries_max && !entries.contains_key(&key) {
            // Half of them, whichever: emptying it all would make the next thousands of lookups miss.
            let mut stays = false;
            entries.retain(|_, _| {
                stays = !stays;
                stays
            });
        }
        entries.insert(key, Entry { stamp, value: Arc::clone(&value) });
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_good_for_its_stamp_alone() {
        let cache = StampedCache::new(4);
        cache.put("a", 1, "first");
        assert_eq!(cache.get(&"a", &1).as_deref(), Some(&"first"));
        assert_eq!(cache.get(&"a", &2), None);
        assert_eq!(cache.last(&"a").as_deref(), Some(&"first"));
        cache.put("a", 2, "second");
        assert_eq!((cache.get(&"a", &1), cache.get(&"a", &2).as_deref()), (None, Some(&"second")));
        assert_eq!(cache.get(&"b", &2), None);
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let cache = StampedCache::new(4);
        for key in 0..100 {
            cache.put(key, (), key);
            assert_eq!(cache.get(&key, &()).as_deref(), Some(&key));
        }
        let kept = (0..100).filter(|key| cache.get(key, &()).is_some()).count();
        assert!((2..=4).contains(&kept), "{kept}");
    }
}
