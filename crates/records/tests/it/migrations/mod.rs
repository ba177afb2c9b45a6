//! Migrations: once each, never over damage, never over a schema from the future.

mod postgres;
mod sqlite;
