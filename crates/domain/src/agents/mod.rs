//! Agents: service accounts that work.

mod form;
mod owners;
mod rights;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

pub use form::{AgentChange, check_health, check_label_key};
pub use owners::{Answerer, OwnerRefusal, may_own};
pub use rights::{AgentAct, Relation, may};

/// How many owners may stand between an agent and the person who answers for it.
pub const OWNERS_MAX: usize = 8;

/// What an agent's key may do unless its owner says otherwise (DECISIONS.md 20).
pub const DEFAULT_SCOPES: [&str; 4] = ["events:read", "executions:*", "locks:*", "tasks:*"];

/// How many heartbeats may be missed before an agent counts as silent.
const HEARTBEATS_MISSED_MAX: u32 = 3;
/// However often an agent should be heard, it is not called silent before this.
const SILENCE_MIN: Duration = Duration::from_secs(30);

/// How long an agent may be silent where it should be heard this often.
#[must_use]
pub fn silence_allowed(heartbeat_interval_seconds: u32) -> Duration {
    let missed = Duration::from_secs(heartbeat_interval_seconds.into()) * HEARTBEATS_MISSED_MAX;
    missed.max(SILENCE_MIN)
}

/// The shortest silence that can make any agent of any organization count as gone.
#[must_use]
pub const fn shortest_silence() -> Duration {
    SILENCE_MIN
}

/// Whether an agent takes work (LOCK-17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgentStatus {
    /// It does.
    Active,
    /// It finishes what it has.
    Draining,
    /// Nobody is there.
    Offline,
}

impl AgentStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Active, Self::Draining, Self::Offline];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Offline => "offline",
        }
    }
}

impl FromStr for AgentStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// What an agent has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// Tasks it works on.
    pub active_tasks: i64,
    /// Tasks that wait for it.
    pub queued_tasks: i64,
}

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

impl Agent {
    /// Whether it takes work. A silent agent is offline even if it was draining: nobody is there to finish.
    #[must_use]
    pub const fn status(&self) -> AgentStatus {
        if self.offline_since.is_some() || self.deactivated_at.is_some() {
            AgentStatus::Offline
        } else if self.draining {
            AgentStatus::Draining
        } else {
            AgentStatus::Active
        }
    }

    /// The agent after it was heard. What it said of itself stays until it says something else.
    #[must_use]
    pub fn heard(&self, health: Option<&Map<String, Value>>, now: Timestamp) -> Self {
        Self {
            last_heartbeat: Some(now),
            health: health.map(|health| Value::Object(health.clone())).or_else(|| self.health.clone()),
            offline_since: None,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }

    /// The agent after it was told to take no new work, or to take it again.
    #[must_use]
    pub fn set_draining(&self, draining: bool, now: Timestamp) -> Self {
        Self { draining, updated_at: now.after(self.updated_at), ..self.clone() }
    }

    /// The agent after its end.
    #[must_use]
    pub fn deactivated(&self, now: Timestamp) -> Self {
        Self { deactivated_at: Some(now), updated_at: now.after(self.updated_at), ..self.clone() }
    }
}
