//! The event log: numbering, waking, reading.

pub mod feed;
pub mod follow;
pub mod forget;
mod hints;
pub mod read;

use std::time::Duration;

pub use coordination::redis_server::Options as RedisOptions;
pub(crate) use hints::of as hints_of;

/// How the hub notices what other servers append.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often it looks, on PostgreSQL: another server may have appended.
    pub poll_every: Duration,
    /// Where servers tell each other that there is something to look for.
    pub hints: Option<RedisOptions>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { poll_every: Duration::from_millis(100), hints: None }
    }
}
