//! How dangerous a task is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One of the things that make up the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RiskFactor {
    /// Which.
    pub name: String,
    /// 0 to 100.
    pub value: f64,
    /// How much of the score it makes up.
    pub weight: f64,
    /// What it adds to the score.
    pub contribution: f64,
    /// Why it has this value.
    pub reason: String,
}

/// How dangerous a task is. Agents see `level` and `auto_approvable` only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskRisk {
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// LOW, MEDIUM, HIGH or CRITICAL.
    pub level: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<RiskFactor>>,
    /// Whether it would pass without a person.
    pub auto_approvable: bool,
    /// When this was worked out.
    #[schema(format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessed_at: Option<String>,
    /// By which version of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessed_by: Option<String>,
}
