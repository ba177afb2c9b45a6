//! What a task will do: the part that is frozen, hashed, shown, approved and executed.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::text::{UnknownWord, one_of};

/// Who carries a task out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// An agent outside the hub.
    External,
}

/// Whether others may work on a resource at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// Nobody may.
    Exclusive,
    /// Whoever shares it too may.
    Shared,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 2] = [Self::Exclusive, Self::Shared];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Something a task touches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Resource {
    /// Such as `database`.
    pub kind: String,
    /// Such as `prod-db-01`.
    pub id: String,
    /// Alone, or beside others.
    pub mode: Mode,
}

impl Resource {
    /// Its name: `database:prod-db-01`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.kind, self.id)
    }
}

/// What happens when an attempt fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RollbackStrategy {
    /// Whoever applied it undoes it.
    Automatic,
    /// A person decides.
    Manual,
    /// Nothing.
    None,
}

impl RollbackStrategy {
    /// Every strategy.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::Manual, Self::None];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Manual => "manual",
            Self::None => "none",
        }
    }
}

impl FromStr for RollbackStrategy {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// How large the author says the change is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeclaredRisk {
    /// Nobody would notice.
    Trivial,
    /// Little.
    Low,
    /// Some; what is meant by silence (PLAN-23).
    Medium,
    /// Much.
    High,
    /// Everything.
    Critical,
}

impl DeclaredRisk {
    /// Every answer, rising.
    pub const ALL: [Self; 5] = [Self::Trivial, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl FromStr for DeclaredRisk {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// The config of a revision, read.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskConfig {
    /// `type`, such as `infrastructure`.
    pub task_type: String,
    /// The author's version of it.
    pub version: String,
    /// What people read first.
    pub description: String,
    /// Who carries it out.
    pub action: Action,
    /// What it is carried out with.
    pub parameters: Map<String, Value>,
    /// What it touches; each name once.
    pub resources: Vec<Resource>,
    /// What happens when it fails.
    pub rollback_strategy: RollbackStrategy,
    /// How long an attempt may take.
    pub timeout_seconds: u32,
    /// 0 to 100.
    pub priority: u32,
    /// How large the author says the change is.
    pub declared_risk: DeclaredRisk,
    /// How often a failed attempt is repeated.
    pub max_retries: u32,
    /// Whether repeating it does no harm.
    pub idempotent: bool,
    /// What an agent must be labelled with to apply it.
    pub requires_labels: BTreeMap<String, String>,
}

impl TaskConfig {
    /// How many attempts whoever approves this approves (promise 3).
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        if self.idempotent { 1 + self.max_retries } else { 1 }
    }

    /// How long an attempt may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }
}
