//! The event log: numbering, waking, reading.

pub mod feed;
pub mod follow;
pub mod forget;
pub mod read;
