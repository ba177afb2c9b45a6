//! The server's conventions, as a client meets them: over HTTP, on both engines.
//!
//! One binary, one module per convention. `support` asks and checks what every answer must carry; `backdoor` is the
//! database behind the hub's back.

#![expect(clippy::unwrap_used, reason = "the lints' exception for tests does not cover helpers")]

mod accounts;
mod agent_keys;
mod agents;
mod approvals;
mod archives;
mod audit;
mod backdoor;
mod bodies;
mod browser;
mod credentials;
mod dashboard;
mod delegations;
mod devices;
mod documents;
mod escalations;
mod events;
mod exactness;
mod executions;
mod feeds;
mod forms;
mod frame;
mod health;
mod hostile_text;
mod idempotency;
mod in_flight;
mod knock;
mod limits;
mod list_pages;
mod lock_limits;
mod locks;
mod login_pages;
mod logins;
mod members;
mod notifications;
mod oidc;
mod oidc_attacks;
mod oidc_provider;
mod on_record;
mod organizations;
mod owners;
mod pages;
mod policies;
mod policy_backtests;
mod presence;
mod projects;
mod proofs;
mod random;
mod resource_catalogue;
mod reviews;
mod secrets;
mod settings;
mod standalone_grants;
mod support;
mod tampering;
mod task_graph;
mod tasks;
mod tenants;
mod visitor;
mod ways_to_yes;
mod webhooks;
mod workspaces;
mod world;
