//! How often somebody may ask.

/// The window that limits speak of, in seconds.
pub const WINDOW_SECONDS: usize = 60;

/// One more than the window has seconds: a window that begins in the middle of one second ends in the middle of
/// another, and both are counted whole. So a caller may wait up to a second too long, but never gets one too many.
const SLOTS: usize = WINDOW_SECONDS + 1;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Counts what one caller was allowed in the last minute, second by second.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    slots: [u32; SLOTS],
    total: u32,
    /// The second the newest slot stands for. It never goes back, even if the clock does.
    second: i64,
}

// Every caller has one, so it must stay small.
const _: () = assert!(size_of::<SlidingWindow>() <= 300);

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

impl Default for SlidingWindow {
    fn default() -> Self {
        Self { slots: [0; SLOTS], total: 0, second: i64::MIN }
    }
}

impl SlidingWindow {
    /// Asks for one request at this time. A limit of 0 allows nothing; "no limit" is for the caller to skip.
    #[must_use]
    pub fn check(&mut self, now_micros: i64, limit: u32) -> Decision {
        self.advance(now_micros.div_euclid(MICROS_PER_SECOND));
        let allowed = self.total < limit;
        if allowed {
            self.slots[slot(self.second)] += 1;
            self.total += 1;
        }
        Decision {
            allowed,
            remaining: limit.saturating_sub(self.total),
            reset_seconds: self.reset_seconds(now_micros, limit),
        }
    }

    /// Whether nothing is counted any more, so that the window can be forgotten.
    #[must_use]
    pub fn is_idle(&self, now_micros: i64) -> bool {
        let passed = now_micros.div_euclid(MICROS_PER_SECOND).saturating_sub(self.second);
        self.total == 0 || passed >= SLOTS as i64
    }

    fn advance(&mut self, second: i64) {
        let passed = second.saturating_sub(self.second).clamp(0, SLOTS as i64);
        for back in 0..passed {
            let emptied = &mut self.slots[slot(second - back)];
            self.total -= std::mem::take(emptied);
        }
        self.second = self.second.max(second);
    }

    fn reset_seconds(&self, now_micros: i64, limit: u32) -> u32 {
        let oldest = self.second - (SLOTS as i64 - 1);
        let now_remaining = limit.saturating_sub(self.total);
        let mut left = self.total;
        for second in oldest..=self.second {
            left -= self.slots[slot(second)];
            if limit.saturating_sub(left) > now_remaining {
                let frees_at = second.saturating_add(SLOTS as i64).saturating_mul(MICROS_PER_SECOND);
                let wait_micros = frees_at.saturating_sub(now_micros).max(1);
                return u32::try_from(wait_micros.saturating_add(MICROS_PER_SECOND - 1) / MICROS_PER_SECOND)
                    .unwrap_or(u32::MAX);
            }
        }
        // Nothing is counted, or the limit is 0 and waiting does not help.
        WINDOW_SECONDS as u32
    }
}

fn slot(second: i64) -> usize {
    usize::try_from(second.rem_euclid(SLOTS as i64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = MICROS_PER_SECOND;
    const WINDOW: i64 = WINDOW_SECONDS as i64 * SECOND;

    fn allowed(window: &mut SlidingWindow, now: i64, limit: u32) -> bool {
        window.check(now, limit).allowed
    }

    #[test]
    fn a_burst_is_allowed_and_then_nothing_for_a_minute() {
        let mut window = SlidingWindow::default();
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
        let mut window = SlidingWindow::default();
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
        let mut window = SlidingWindow::default();
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
        assert_eq!(SlidingWindow::default().check(0, 0).remaining, 0);
        assert!(!allowed(&mut SlidingWindow::default(), 0, 0));
    }

    #[test]
    fn an_idle_window_can_be_forgotten() {
        let mut window = SlidingWindow::default();
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
            let mut window = SlidingWindow::default();
            let mut log: Vec<i64> = Vec::new();
            let (mut now, mut latest) = (0, 0);
            for step in steps {
                now += step;
                latest = latest.max(now);
                let since = |span: i64| log.iter().filter(|at| **at > latest - span).count();
                let (in_window, in_wider_window) = (since(WINDOW), since(WINDOW + SECOND));
                let decision = window.check(now, limit);
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
