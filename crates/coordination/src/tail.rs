//! The end of a numbered log, kept in memory for the many who follow it.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// Everything numbered beyond `from`, as far as it was told.
struct Stretch<T> {
    from: i64,
    items: VecDeque<(i64, Arc<T>)>,
}

/// The last items of a log. It knows from where on it has them all, so that nobody takes a gap for silence.
pub struct Tail<T> {
    stretch: RwLock<Option<Stretch<T>>>,
    items_max: usize,
}

/// What came after a number.
pub struct After<T> {
    /// In order.
    pub items: Vec<Arc<T>>,
    /// Continue after this number.
    pub through: i64,
}

impl<T> Tail<T> {
    /// It knows nothing yet, and will keep `items_max`.
    #[must_use]
    pub fn new(items_max: usize) -> Self {
        Self { stretch: RwLock::new(None), items_max }
    }

    /// Forgets what it has: all it is told from here on comes after this number.
    pub fn begin(&self, from: i64) {
        let mut stretch = self.stretch.write().unwrap_or_else(PoisonError::into_inner);
        *stretch = Some(Stretch { from, items: VecDeque::new() });
    }

    /// Takes the next item. Nothing between it and the one before is in the log.
    pub fn append(&self, number: i64, item: Arc<T>) {
        let mut stretch = self.stretch.write().unwrap_or_else(PoisonError::into_inner);
        let Some(stretch) = stretch.as_mut() else { return };
        stretch.items.push_back((number, item));
        if stretch.items.len() > self.items_max
            && let Some((gone, _)) = stretch.items.pop_front()
        {
            stretch.from = gone;
        }
    }

    /// At most `max` items after a number; none if some of them may be missing here.
    pub fn after(&self, number: i64, max: usize) -> Option<After<T>> {
        let stretch = self.stretch.read().unwrap_or_else(PoisonError::into_inner);
        let stretch = stretch.as_ref().filter(|stretch| stretch.from <= number)?;
        let first = stretch.items.partition_point(|(seq, _)| *seq <= number);
        let chosen = stretch.items.range(first..).take(max);
        let through = chosen.clone().next_back().map_or(number, |(seq, _)| *seq);
        Some(After { items: chosen.map(|(_, item)| Arc::clone(item)).collect(), through })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(tail: &Tail<i64>, after: i64, max: usize) -> Option<(Vec<i64>, i64)> {
        tail.after(after, max).map(|found| (found.items.iter().map(|item| **item).collect(), found.through))
    }

    #[test]
    fn it_gives_all_that_follows_or_says_that_it_cannot() {
        let tail = Tail::new(3);
        assert_eq!(numbers(&tail, 0, 9), None, "it was told nothing yet");
        tail.begin(10);
        assert_eq!(numbers(&tail, 10, 9), Some((vec![], 10)));
        assert_eq!(numbers(&tail, 9, 9), None, "10 is not here");
        for number in [11, 14, 15] {
            tail.append(number, Arc::new(number));
        }
        assert_eq!(numbers(&tail, 10, 9), Some((vec![11, 14, 15], 15)));
        assert_eq!(numbers(&tail, 10, 2), Some((vec![11, 14], 14)));
        assert_eq!(numbers(&tail, 12, 9), Some((vec![14, 15], 15)), "a number that nothing has");
        tail.append(16, Arc::new(16));
        assert_eq!(numbers(&tail, 10, 9), None, "11 is gone");
        assert_eq!(numbers(&tail, 11, 9), Some((vec![14, 15, 16], 16)));
        assert_eq!(numbers(&tail, 99, 9), Some((vec![], 99)));
        tail.begin(20);
        assert_eq!(numbers(&tail, 16, 9), None);
    }
}
