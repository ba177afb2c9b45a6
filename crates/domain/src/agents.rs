//! Agents: service accounts that work.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::{Id, Timestamp};

/// How many owners may stand between an agent and the person who answers for it.
pub const OWNERS_MAX: usize = 8;

/// What an agent's key may do unless its owner says otherwise (DECISIONS.md 20).
pub const DEFAULT_SCOPES: [&str; 4] = ["events:read", "executions:*", "locks:*", "tasks:*"];

/// A service account that works. Account and agent have one id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The id of its account.
    pub id: Id<Account>,
    /// Where it works.
    pub org_id: Id<Organization>,
    /// Who answers for it.
    pub owner_id: Id<Account>,
    /// What people call it; unique among the organization's active agents.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model it runs on.
    pub model: Option<String>,
    /// The behaviour it was given.
    pub role_name: Option<String>,
    /// How many tasks it works on at once, at most.
    pub max_tasks: i64,
    /// What tasks may require of it.
    pub labels: BTreeMap<String, String>,
    /// How it is set up; for its owner and admins only.
    pub config: Map<String, Value>,
    /// Whether it takes no new work.
    pub draining: bool,
    /// When it was last heard.
    pub last_heartbeat: Option<Timestamp>,
    /// What it last said of itself.
    pub health: Option<Value>,
    /// Since when it is silent; set also while it was never heard.
    pub offline_since: Option<Timestamp>,
    /// When it was retired.
    pub deactivated_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
