//! What is shared in one moment and forgotten in the next: limits, turns, caches, wake-ups, in this process.
//!
//! **Invariant:** nothing here is the truth. Losing all of it costs time, never a record.

pub mod cache;
pub mod crowds;
pub mod limits;
pub mod locks;
pub mod turns;
pub mod wake;
