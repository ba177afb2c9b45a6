//! A typed client of the hub, for the command line and the tests.
//!
//! `transport.rs` is the only place that sends a request and judges the answer; the files named after nouns say which
//! path each call uses. To add a call, add a method there; it needs no status check of its own.
//!
//! **Invariant:** an API key or token is never part of a `Debug` or an error text.
//! **Invariant:** no redirect is followed, and nothing is sent twice, but for what keeps a claim (`claims.rs`), which the
//! hub takes once.

mod accounts;
mod agents;
mod approvals;
mod archives;
mod audit;
mod claims;
mod delegations;
mod error;
mod events;
mod executions;
mod health;
mod identity;
mod locks;
mod login_sessions;
mod notifications;
mod organizations;
mod policies;
mod projects;
mod settings;
mod standalone_grants;
mod tasks;
mod transport;
mod webhooks;

pub use accounts::CreatedAccount;
pub use audit::Export;
pub use claims::{Claim, Failed, Lost, OutputWriter};
pub use error::ClientError;
pub use locks::AcquiredLock;
pub use login_sessions::Token;
pub use reqwest::Url;
pub use transport::Client;
