//! Work that waits for its hour.

use std::time::Duration;

use serde_json::Value;

use crate::Timestamp;

const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(10 * 60);
/// Retries are spread this far to either side, so that what failed together does not come back together.
const RETRY_SPREAD: f64 = 0.2;

/// One piece of work. Kind and key together name it: there is at most one of each.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// What to do.
    pub kind: String,
    /// To what.
    pub key: String,
    /// Not before.
    pub run_at: Timestamp,
    /// Until when its runner holds it.
    pub lease_until: Option<Timestamp>,
    /// The runner that holds it.
    pub owner: Option<String>,
    /// How often it was started since it last succeeded.
    pub attempts: i64,
    /// What the work needs to know.
    pub payload: Value,
}

impl Job {
    /// Whether a runner may take it now: its hour has come and nobody holds it.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.run_at <= now && self.lease_until.is_none_or(|lease_until| lease_until <= now)
    }
}

/// When a job that has now failed `attempts` times runs again: after 1 s, 2 s, 4 s … 10 min, each ±20 %.
///
/// `jitter` is chance from 0 to 1; anything outside counts as the nearer end, and no number as the middle.
#[must_use]
pub fn retry_at(attempts: i64, now: Timestamp, jitter: f64) -> Timestamp {
    let doublings = u32::try_from(attempts.saturating_sub(1).max(0)).unwrap_or(u32::MAX);
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    let delay = RETRY_FIRST.saturating_mul(factor).min(RETRY_MAX);
    let chance = if jitter.is_nan() { 0.5 } else { jitter.clamp(0.0, 1.0) };
    now.plus(delay.mul_f64(1.0 + RETRY_SPREAD * (2.0 * chance - 1.0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn delay(attempts: i64, jitter: f64) -> Duration {
        retry_at(attempts, NOW, jitter).since(NOW)
    }

    #[test]
    fn delays_double_to_ten_minutes() {
        let seconds: Vec<u64> = (1..=12).map(|attempts| delay(attempts, 0.5).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(delay(1, 0.0), Duration::from_millis(800));
        assert_eq!(delay(1, 1.0), Duration::from_millis(1200));
    }

    #[test]
    fn a_held_job_is_not_due() {
        let free = Job {
            kind: "seal".to_owned(),
            key: "instance".to_owned(),
            run_at: NOW,
            lease_until: None,
            owner: None,
            attempts: 0,
            payload: Value::Null,
        };
        let later = NOW.plus(Duration::from_secs(1));
        assert!(free.is_due(NOW));
        assert!(!free.is_due(NOW.minus(Duration::from_micros(1))));
        let held = Job { lease_until: Some(later), owner: Some("a".to_owned()), ..free };
        assert!(!held.is_due(NOW));
        assert!(held.is_due(later));
    }

    proptest! {
        #[test]
        fn every_delay_is_within_bounds(attempts in any::<i64>(), jitter in any::<f64>()) {
            let delay = delay(attempts, jitter);
            prop_assert!(delay >= Duration::from_millis(800) && delay <= Duration::from_secs(720), "{:?}", delay);
        }
    }
}
