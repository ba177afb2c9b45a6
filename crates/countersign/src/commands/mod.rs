//! One file per command.

pub(crate) mod account;
pub(crate) mod admin;
pub(crate) mod agents;
mod answer;
pub(crate) mod approvals;
pub(crate) mod archives;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod config_check;
mod documents;
pub(crate) mod events;
pub(crate) mod key;
mod lock_run;
pub(crate) mod locks;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod me;
pub(crate) mod migrate;
pub(crate) mod org;
pub(crate) mod policies;
pub(crate) mod projects;
pub(crate) mod resource_catalogue;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod tasks;
