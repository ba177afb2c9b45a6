//! What is shared in one moment and forgotten in the next: limits, turns, caches, wake-ups, locks, in this process.
//!
//! **Invariant:** nothing here is the truth. Losing all of it costs time, never a record. Locks keep a journal of
//! their own, so that an answer about them survives the process; losing that frees them and makes their tokens stale.

pub mod bus;
pub mod cache;
pub mod crowds;
pub mod hints;
pub mod limits;
pub mod locks;
pub mod redis_server;
pub mod reservations;
pub mod stamped;
pub mod standalone_grants;
pub mod tail;
pub mod turns;
pub mod wake;
