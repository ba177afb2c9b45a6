//! What the records promise, on both engines from one text.
//!
//! `support` opens empty records and holds units where a test wants them; the other modules are the contract, one
//! file for each part of it. A function listed in `on_both_engines!` is a test on SQLite and one on PostgreSQL;
//! what only one engine can get wrong is a test of its own beside it.
#![expect(clippy::unwrap_used, reason = "the lints' exception for tests does not cover helpers")]

mod agents;
mod blobs;
mod directory;
mod events;
mod execution_history;
mod idempotency;
mod instances;
mod jobs;
mod many;
mod migrations;
mod outage;
mod people;
mod plans;
mod schema;
mod signals;
mod sqlite_writer;
mod statements;
mod support;
mod task_lists;
mod tasks;
mod units;
mod values;
