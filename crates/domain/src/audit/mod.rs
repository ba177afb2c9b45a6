//! What was done, by whom and why, so that nobody can rewrite it unnoticed.
//!
//! [`AuditEntry`] is everything one row claims; its [`body`](AuditEntry::body) is what gets hashed. [`merkle`] makes
//! one root of many bodies, [`seal`] chains and signs the roots, [`verify`] checks a chain wherever it comes from,
//! and [`export`] is the form in which it travels.
//!
//! **Invariant:** only bodies are sealed. The columns beside them are an index, and some become NULL over time.

mod columns;
mod entry;
pub mod export;
mod finding;
pub mod merkle;
pub mod seal;
#[cfg(test)]
mod testing;
pub mod verify;
pub(crate) mod written;

pub use columns::RowColumns;
pub use entry::{AuditEntry, Chain, NotAChain};
pub use finding::Finding;
pub use merkle::Hash;
pub use seal::{SEAL_LEAVES_MAX, Seal, SealError, SealHead};
pub use verify::{ChainVerifier, Report, VerifyRow};
