//! The binary: configuration, lifecycle, roles, commands. The only place that picks a store.
//!
//! `config` resolves what the operator said, `open` turns it into a hub, `commands` holds one file per command.
//! Data goes to stdout, talk to stderr; [`exit::Exit`] says how the process ends.

pub mod cli;
mod commands;
pub mod config;
mod data_dir;
pub mod exit;
mod logging;
mod open;
mod saved_login;
pub mod terminal;
