//! How often somebody may ask.

/// A window is counted in this many parts.
const PARTS: usize = 60;
/// The per-minute window that most limits speak of, in seconds.
pub const WINDOW_SECONDS: usize = PARTS;

/// One more than the window has parts: a window that begins in the middle of one part ends in the middle of
/// another, and both are counted whole. So a caller may wait up to a part too long, but never gets one too many.
const SLOTS: usize = PARTS + 1;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Counts what one caller was allowed in the last 60 parts of `PART_SECONDS` each: in the last minute, second by
/// second, unless said otherwise.
#[derive(Clone, Debug)]
pub struct SlidingWindow<const PART_SECONDS: i64 = 1> {
    slots: [u32; SLOTS],
    total: u32,
    /// The part the newest slot stands for. It never goes back, even if the clock does.
    part: i64,
}

/// A quarter of an hour, counted in parts of 15 s.
pub const QUARTER_HOUR: i64 = 15;

// Every caller has one, so it must stay small.
const _: () = assert!(size_of::<SlidingWindow>() <= 300);
const _: () = assert!(PARTS as i64 * QUARTER_HOUR == 15 * 60);

/// What a caller is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Whether the request may proceed; only then was it counted.
    pub allowed: bool,
    /// How many more would be allowed right now.
    pub remaining: u32,
    /// Whole seconds until `remaining` grows: `RateLimit-Reset`, and `Retry-After` for a refused request.
    pub reset_seconds: u32,
}

impl<const PART_SECONDS: i64> Default for SlidingWindow<PART_SECONDS> {
    fn default() -> Self {
        Self { slots: [0; SLOTS], total: 0, part: i64::MIN }
    }
}

impl<const PART_SECONDS: i64> SlidingWindow<PART_SECONDS> {
    /// How long the window is, in seconds.
    pub const SECONDS: u32 = (PARTS as i64 * PART_SECONDS) as u32;
    const PART_MICROS: i64 = PART_SECONDS * MICROS_PER_SECOND;

    /// Asks for one request at this time. A limit of 0 allows nothing; "no limit" is for the caller to skip.
    #[must_use]
    pub fn check(&mut self, now_micros: i64, limit: u32) -> Decision {
        self.advance(now_micros.div_euclid(Self::PART_MICROS));
        let allowed = self.total < limit;
        if allowed {
            self.slots[slot(self.part)] += 1;
            self.total += 1;
        }
        Decision {
            allowed,
            remaining: limit.saturating_sub(self.total),
            reset_seconds: self.reset_seconds(now_micros, limit),
        }
    }

    /// Whether a request at this time would be refused; it is not counted.
    #[must_use]
    pub fn is_exhausted(&self, now_micros: i64, limit: u32) -> bool {
        // Time only takes away from what is counted, so whoever is below the limit now needs no closer look.
        self.total >= limit && !self.clone().check(now_micros, limit).allowed
    }

    /// Takes back one request that was allowed at this time, if it still counts.
    pub fn give_back(&mut self, counted_at_micros: i64) {
        let part = counted_at_micros.div_euclid(Self::PART_MICROS);
        let is_counted = (0..SLOTS as i64).contains(&self.part.saturating_sub(part));
        if is_counted && self.slots[slot(part)] > 0 {
            self.slots[slot(part)] -= 1;
            self.total -= 1;
        }
    }

    /// Whether nothing is counted any more, so that the window can be forgotten.
    #[must_use]
    pub fn is_idle(&self, now_micros: i64) -> bool {
        let passed = now_micros.div_euclid(Self::PART_MICROS).saturating_sub(self.part);
        self.total == 0 || passed >= SLOTS as i64
    }

    fn advance(&mut self, part: i64) {
        let passed = part.saturating_sub(self.part).clamp(0, SLOTS as i64);
        for back in 0..passed {
            let emptied = &mut self.slots[slot(part - back)];
            self.total -= std::mem::take(emptied);
        }
        self.part = self.part.max(part);
    }

    fn reset_seconds(&self, now_micros: i64, limit: u32) -> u32 {
        let oldest = self.part - (SLOTS as i64 - 1);
        let now_remaining = limit.saturating_sub(self.total);
        let mut left = self.total;
        for part in oldest..=self.part {
            left -= self.slots[slot(part)];
            if limit.saturating_sub(left) > now_remaining {
                let frees_at = part.saturating_add(SLOTS as i64).saturating_mul(Self::PART_MICROS);
                let wait_micros = frees_at.saturating_sub(now_micros).max(1);
                return u32::try_from(wait_micros.saturating_add(MICROS_PER_SECOND - 1) / MICROS_PER_SECOND)
                    .unwrap_or(u32::MAX);
            }
        }
        // Nothing is counted, or the limit is 0 and waiting does not help.
        Self::SECONDS
    }
}

fn slot(part: i64) -> usize {
    usize::try_from(part.rem_euclid(SLOTS as i64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = MICROS_PER_SECOND;
    const WINDOW: i64 = WINDOW_SECONDS as i64 * SECOND;

    #[test]
    fn a_window_can_be_a_quarter_of_an_hour() {
        let mut window = SlidingWindow::<QUARTER_HOUR>::default();
        for at in 0..10 {
            assert!(window.check(at * SECOND, 10).allowed);
        }
        let refused = window.check(10 * SECOND, 10);
        assert_eq!((refused.allowed, refused.reset_seconds), (false, 905));
        assert!(!window.check(914 * SECOND, 10).allowed);
        assert!(window.check(915 * SECOND, 10).allowed, "as promised by reset_seconds");
    }

    #[test]
    fn what_is_given_back_is_free_again_once() {
        let mut window = SlidingWindow::<1>::default();
        assert!(allowed(&mut window, 5 * SECOND, 1));
        window.give_back(4 * SECOND);
        assert!(!allowed(&mut window, 6 * SECOND, 1), "nothing was counted then");
        window.give_back(5 * SECOND);
        window.give_back(5 * SECOND);
        assert!(allowed(&mut window, 6 * SECOND, 1));
        assert!(!allowed(&mut window, 6 * SECOND, 1));
        // Long out of the window; its slot stands for another second by now.
        window.give_back((6 - 61) * SECOND);
        window.give_back((6 + 61) * SECOND);
        assert!(!allowed(&mut window, 6 * SECOND, 1));
    }

    fn allowed(window: &mut SlidingWindow, now: i64, limit: u32) -> bool {
        window.check(now, limit).allowed
    }

    #[test]
    fn a_burst_is_allowed_and_then_nothing_for_a_minute() {
        let mut window = SlidingWindow::<1>::default();
        let first = window.check(500_000, 3);
        assert_eq!(first, Decision { allowed: true, remaining: 2, reset_seconds: 61 });
        assert!(allowed(&mut window, 500_001, 3));
        assert_eq!(window.check(900_000, 3).remaining, 0);
        let refused = window.check(1_500_000, 3);
        assert_eq!(refused, Decision { allowed: false, remaining: 0, reset_seconds: 60 });
        assert!(!allowed(&mut window, 60 * SECOND + 999_999, 3));
        assert!(allowed(&mut window, 61 * SECOND, 3), "as promised by reset_seconds");
    }

    #[test]
    fn waiting_as_told_is_enough() {
        let mut window = SlidingWindow::<1>::default();
        for at in [0, 10, 20, 30] {
            assert!(allowed(&mut window, at * SECOND, 4));
        }
        let refused = window.check(31 * SECOND, 2);
        assert!(!refused.allowed);
        let later = (31 + i64::from(refused.reset_seconds)) * SECOND;
        assert!(!allowed(&mut window, later - 1, 2));
        assert!(allowed(&mut window, later, 2), "the limit was lowered meanwhile");
    }

    #[test]
    fn a_clock_that_goes_back_frees_nothing() {
        let mut window = SlidingWindow::<1>::default();
        assert!(allowed(&mut window, 1000 * SECOND, 1));
        for now in [999 * SECOND, 0, -5, i64::MIN, 1000 * SECOND, 1060 * SECOND] {
            assert!(!allowed(&mut window, now, 1), "{now}");
        }
        assert!(allowed(&mut window, 1061 * SECOND, 1));
        assert!(allowed(&mut window, i64::MAX, 1));
        assert!(!allowed(&mut window, i64::MIN, 1));
    }

    #[test]
    fn zero_allows_nothing() {
        assert_eq!(SlidingWindow::<1>::default().check(0, 0).remaining, 0);
        assert!(!allowed(&mut SlidingWindow::default(), 0, 0));
    }

    #[test]
    fn an_idle_window_can_be_forgotten() {
        let mut window = SlidingWindow::<1>::default();
        assert!(window.is_idle(0));
        assert!(allowed(&mut window, 0, 5));
        assert!(!window.is_idle(60 * SECOND));
        assert!(window.is_idle(61 * SECOND));
    }

    proptest! {
        #[test]
        fn never_more_than_the_limit_and_never_stingier_than_a_second(
            steps in prop::collection::vec(prop_oneof![0..SECOND, 0..20 * SECOND, Just(0), -SECOND..0], 1..200),
            limit in 1..8_u32,
        ) {
            let mut window = SlidingWindow::<1>::default();
            let mut log: Vec<i64> = Vec::new();
            let (mut now, mut latest) = (0, 0);
            for step in steps {
                now += step;
                latest = latest.max(now);
                let since = |span: i64| log.iter().filter(|at| **at > latest - span).count();
                let (in_window, in_wider_window) = (since(WINDOW), since(WINDOW + SECOND));
                let is_exhausted = window.is_exhausted(now, limit);
                let decision = window.check(now, limit);
                prop_assert_eq!(is_exhausted, !decision.allowed, "a look and an attempt see the same");
                if decision.allowed {
                    prop_assert!(in_window < limit as usize, "one too many");
                    log.push(latest);
                } else {
                    prop_assert!(in_wider_window >= limit as usize, "refused without need");
                }
                prop_assert!(decision.remaining < limit);
            }
        }
    }
}
