//! A clock that runs like the real one and can be moved forward.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::Timestamp;
use hub::clock::{Clock, SystemClock};

/// The machine's time plus what the test has added.
#[derive(Default)]
pub struct TestClock {
    real: SystemClock,
    ahead_micros: AtomicI64,
}

impl TestClock {
    /// Moves the time forward.
    pub fn advance(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.ahead_micros.fetch_add(micros, Ordering::AcqRel);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let ahead = u64::try_from(self.ahead_micros.load(Ordering::Acquire)).unwrap_or(0);
        self.real.now().plus(Duration::from_micros(ahead))
    }
}
