//! What a task was to do at each time, and what is different.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::patch::not_null;

/// A version of a task's config, without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionSummary {
    /// From 1.
    pub number: i64,
    /// The hash of its config.
    pub content_hash: String,
    /// Who wrote it.
    pub edited_by: Uuid,
    /// When.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A version of a task's config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Revision {
    /// From 1.
    pub number: i64,
    /// The hash of its config.
    pub content_hash: String,
    /// Who wrote it.
    pub edited_by: Uuid,
    /// Everybody who may not decide on it.
    pub provenance: Vec<Uuid>,
    /// When it was written.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// What the task was to do.
    #[schema(value_type = Object)]
    pub config: Value,
}

/// Which two revisions to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The earlier one (default: the one before `to`).
    #[garde(inner(range(min = 1)))]
    #[param(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The later one (default: the current one).
    #[garde(inner(range(min = 1)))]
    #[param(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// What is different between two revisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Diff {
    /// The earlier one.
    pub from: i64,
    /// The later one.
    pub to: i64,
    /// The hash of the earlier one.
    pub from_hash: String,
    /// The hash of the later one.
    pub to_hash: String,
    /// Each place that differs.
    pub changes: Vec<Difference>,
}

/// One place where two configs differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// JSON pointer (RFC 6901) to it.
    pub pointer: String,
    /// What stood there; absent if nothing did.
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// What stands there now; absent if nothing does.
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_and_null_are_two_differences() {
        let gone = Difference { pointer: "/a".into(), from: Some(Value::Null), to: None };
        let sent = serde_json::to_value(&gone).unwrap();
        assert_eq!(sent, json!({"pointer": "/a", "from": null}));
        assert_eq!(serde_json::from_value::<Difference>(sent).unwrap(), gone);
    }
}
