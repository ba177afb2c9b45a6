//! The time, as a port.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;

/// Tells the time. Records are stamped with it, so it never goes back.
pub trait Clock: Send + Sync {
    /// The time now, never before the last it gave.
    fn now(&self) -> Timestamp;
}

/// The machine's clock, held where it is when it is set back.
#[derive(Default)]
pub struct SystemClock {
    last_micros: AtomicI64,
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock port")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
        let last = self.last_micros.fetch_max(micros, Ordering::AcqRel);
        Timestamp::from_micros(micros.max(last))
    }
}
