//! The program as people run it: the binary itself, its files, its signals, its exit codes.
//!
//! `support` starts it and ties it to the test's life. Each other module is one promise: what survives a crash
//! (`killed`, `faults`, `chaos`, `outage`, `disk_full`) and a clock that is set (`wall_clock`), when it refuses to start
//! (`refuses_*`), how it begins and ends (`first_start`, `shutdown`), what the commands say (`commands`, `follow`, `help`), who gets
//! in (`logins`), what can be proven (`audit_*`), what can be brought back (`backup`), and what must never be seen (`secrets`).
//!
//! A big count goes through `testkit::scaled`. Where records matter, a promise is kept on both engines.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must fail, where it stands"
)]

mod agent_run;
mod approvals;
mod archives;
mod audit_export;
mod audit_tampered;
mod backup;
mod chaos;
mod commands;
mod demo;
mod disk_full;
mod faults;
mod first_start;
mod follow;
mod grants;
mod help;
mod killed;
mod killed_attempts;
mod killed_pages;
mod killed_votes;
mod killed_webhooks;
mod lock_histories;
mod locks;
mod logins;
mod notifications;
mod nouns;
mod oidc;
mod outage;
mod people;
mod policies;
mod refuses_config;
mod refuses_data;
mod refuses_postgres;
mod rotate_keys;
mod secrets;
mod shutdown;
mod sockets;
mod support;
mod tasks;
mod tls;
mod wall_clock;
mod webhooks;
