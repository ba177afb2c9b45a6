//! The truth, in SQL: one text for SQLite and PostgreSQL, one unit of work, one file per noun.
//!
//! Layout: [`db`] (what the hub calls), [`tx`] (what a unit is given), `sqlite` and `postgres` (the two
//! engines), [`mod@statement`], [`value`] and [`mod@row`] (text in, values in, rows out), [`migrate`], then the nouns.
//!
//! To add a statement: write it with [`statement!`] in its noun's file. It is registered by that, and a test
//! PREPAREs it on both engines. To add a column: add a migration, never edit one that was merged.
//!
//! **Invariant:** no rules in SQL; a unit loads, `domain` decides, the unit saves.
//! **Invariant:** every statement over tenant data names its organization.
//! **Invariant:** nothing outside this crate knows which engine is in use.

pub mod db;
pub mod error;
pub mod migrate;
mod postgres;
pub mod row;
mod sqlite;
pub mod statement;
pub mod tx;
pub mod value;

pub mod accounts;
pub mod agents;
pub mod api_keys;
pub mod approvals;
pub mod archives;
pub mod audit;
pub mod blobs;
pub mod bootstrap;
pub mod delegations;
pub mod device_logins;
pub mod directory;
pub mod enrolments;
pub mod events;
pub mod execution_history;
pub mod executions;
pub mod external_identities;
pub mod fence_epochs;
pub mod grants;
pub mod hub_keys;
pub mod idempotency;
pub mod instances;
pub mod invitations;
pub mod jobs;
pub mod login_links;
pub mod login_sessions;
pub mod members;
pub mod notification_preferences;
pub mod notifications;
pub mod oidc_flows;
pub mod organizations;
pub mod passwords;
pub mod policies;
pub mod projects;
pub mod resource_claims;
pub mod reviewers;
pub mod reviews;
pub mod roles;
pub mod rule_sets;
pub mod settings;
pub mod standalone_grants;
pub mod task_comments;
pub mod task_dependencies;
pub mod task_revisions;
pub mod tasks;
pub mod webhook_deliveries;
pub mod webhooks;
pub mod workspaces;

pub use db::{Db, Engine, Signals};
pub use error::{Error, UnitError};
pub use tx::Tx;

/// The result of most things here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A future a unit returns; it borrows the transaction and the unit's input.
pub type Unit<'t, T, E> = futures_util::future::BoxFuture<'t, Result<T, E>>;
