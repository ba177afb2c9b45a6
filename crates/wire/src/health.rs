//! Whether the hub can work.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether the hub should get requests now. When not, `/readyz` answers 503 `NOT_READY` with the same `checks` as a
/// member of the problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ready {
    /// All checks are ok.
    pub ready: bool,
    /// What the hub depends on; empty for callers who may not see it.
    pub checks: Vec<Check>,
}

/// One thing the hub depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// What was looked at.
    #[schema(example = "records")]
    pub name: String,
    /// It works.
    pub ok: bool,
    /// What is wrong, or worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
