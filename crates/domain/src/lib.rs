//! What the hub knows, and the only ways it changes. Pure.
//!
//! **Invariant:** nothing here waits, does I/O, reads a clock or makes up an id: time and ids are arguments.
//! **Invariant:** no type here derives `Serialize`; shapes that travel live in `wire`.
//!
//! One file per noun, or a folder once it has several parts; the same noun has the same name in `records`, `hub` and
//! `server`. To add one: a file with plain structs, the errors it can answer with, the functions that decide, and
//! their tests.

pub mod accounts;
pub mod agents;
pub mod api_keys;
pub mod approvals;
pub mod archives;
pub mod audit;
pub mod blobs;
pub mod canonical;
pub mod cursor;
pub mod delegations;
pub mod device_logins;
pub mod events;
pub mod executions;
pub mod external_identities;
pub mod gate;
pub mod globs;
pub mod grants;
pub mod id;
pub mod id_tokens;
pub mod idempotency;
pub mod invitations;
pub mod jobs;
pub mod json;
pub mod limits;
pub mod locks;
pub mod login_links;
pub mod login_sessions;
pub mod members;
pub mod minting;
#[cfg(test)]
mod model;
pub mod notifications;
pub mod oidc_flows;
pub mod organizations;
pub mod passwords;
pub mod permissions;
pub mod policies;
pub mod projects;
pub mod rendering;
pub mod resource_catalogue;
pub mod reviews;
pub mod risk;
pub mod roles;
#[cfg(test)]
mod sample;
pub mod secrets;
pub mod settings;
pub mod standalone_grants;
pub mod subject;
pub mod tasks;
pub mod text;
pub mod time;
pub mod webhooks;
pub mod workspaces;

pub use id::Id;
pub use time::Timestamp;
