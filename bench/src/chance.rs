//! Numbers that look like chance and are the same in every call of the program.

use std::sync::atomic::{AtomicU64, Ordering};

/// A fixed sequence (xorshift).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of this number.
    pub(crate) fn of(number: u64) -> Self {
        // Neighbours must not begin alike, and zero would stay zero.
        Self(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A sequence that nobody in this process has had: a turn that drew what another drew would find it cached.
    pub(crate) fn fresh() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self::of(MADE.fetch_add(1, Ordering::Relaxed))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// One of them.
    pub(crate) fn one_of<'a, T>(&mut self, them: &'a [T]) -> Option<&'a T> {
        them.get(usize::try_from(self.below(them.len() as u64)).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_sequence_and_a_turn_its_own() {
        let drawn = |mut chance: Chance| [(); 4].map(|()| chance.below(1_000_000));
        assert_eq!(drawn(Chance::of(7)), drawn(Chance::of(7)));
        assert_ne!(drawn(Chance::of(7)), drawn(Chance::of(8)));
        assert_ne!(drawn(Chance::fresh()), drawn(Chance::fresh()));
    }

    #[test]
    fn everything_is_drawn_about_equally_often() {
        let mut counts = [0_u32; 10];
        for number in 0..100 {
            let mut chance = Chance::of(number);
            for _ in 0..100 {
                counts[usize::try_from(chance.below(10)).unwrap()] += 1;
            }
        }
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
        assert_eq!(Chance::of(0).one_of::<u8>(&[]), None);
    }
}
