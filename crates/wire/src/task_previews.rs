//! What a task would change, as its author says.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What the author says the task would change. Nothing is run for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachPreview {
    /// Each change; its `kind` says whether something is created, changed or deleted. At most 1,000.
    #[garde(skip)]
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub changes: Vec<Map<String, Value>>,
    /// At most 100, each up to 4,096 characters.
    #[garde(skip)]
    #[serde(default)]
    pub warnings: Vec<String>,
    /// At most 100, each up to 4,096 characters.
    #[garde(skip)]
    #[serde(default)]
    pub errors: Vec<String>,
}
