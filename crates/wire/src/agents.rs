//! Agents.

use std::collections::BTreeMap;

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};

/// How long a name, a model or the name of a role may be.
pub const NAME_CHARS_MAX: usize = 200;
/// How long a description may be.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// How many tasks an agent may take at once.
pub const TASKS_MAX: i64 = 1000;
/// The longest label, as `key:value`.
pub const LABEL_CHARS_MAX: usize = 64 + 1 + 4 * 256;

/// Whether an agent takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// It does.
    Active,
    /// It finishes what it has.
    Draining,
    /// It was never heard, or not for a while.
    Offline,
}

/// A service account that works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// The id of the agent and of its account.
    pub id: Uuid,
    /// The account that answers for it.
    pub owner_id: Uuid,
    /// What people call it, unique among the organization's active agents.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model it runs on.
    #[schema(required)]
    pub model: Option<String>,
    /// The behaviour it was given.
    #[schema(required)]
    pub role_name: Option<String>,
    /// How many tasks it works on at once, at most.
    pub max_tasks: i64,
    /// What tasks may require of it.
    pub labels: BTreeMap<String, String>,
    /// How it is set up; null for everybody but its owner and admins.
    #[schema(required, value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    /// Whether it takes work.
    pub status: AgentStatus,
    /// How many tasks it works on.
    pub active_tasks: i64,
    /// How many tasks wait for it.
    pub queued_tasks: i64,
    /// When it was last heard.
    #[schema(required, format = DateTime)]
    pub last_heartbeat: Option<String>,
    /// What it last said of itself.
    #[schema(required, value_type = Option<Object>)]
    pub health: Option<Value>,
    /// When it was retired; null means it was not.
    #[schema(required, format = DateTime)]
    pub deactivated_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed or heard.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Makes an agent that the caller answers for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// What people call it.
    #[garde(length(chars, min = 1, max = NAME_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// What it is for (default: empty).
    #[garde(inner(length(chars, max = DESCRIPTION_CHARS_MAX)))]
    #[schema(max_length = 4096)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model it runs on.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The behaviour it is given.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_name: Option<String>,
    /// How many tasks it works on at once, at most (default 1).
    #[garde(inner(range(min = 1, max = TASKS_MAX)))]
    #[schema(minimum = 1, maximum = 1000)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tasks: Option<i64>,
    /// What tasks may require of it: at most 50, keys 1 to 64 of a-z, 0-9 and ._/-, values up to 256 characters.
    // Whoever makes the agent checks them: the form's own errors could not point at a key with a dot.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// How it is set up, up to 64 KiB as JSON.
    #[garde(skip)]
    #[schema(value_type = Option<Object>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
}

/// Changes an agent; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAgent {
    /// What people call it.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[garde(inner(length(chars, max = DESCRIPTION_CHARS_MAX)))]
    #[schema(max_length = 4096, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model it runs on; null removes it.
    #[garde(inner(inner(length(chars, min = 1, max = NAME_CHARS_MAX))))]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<Option<String>>,
    /// The behaviour it is given; null removes it.
    #[garde(inner(inner(length(chars, min = 1, max = NAME_CHARS_MAX))))]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub role_name: Option<Option<String>>,
    /// How many tasks it works on at once, at most.
    #[garde(inner(range(min = 1, max = TASKS_MAX)))]
    #[schema(minimum = 1, maximum = 1000, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub max_tasks: Option<i64>,
    /// What tasks may require of it: all of it, not a part.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// How it is set up: all of it, not a part.
    #[garde(skip)]
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Who answers for it; only an admin changes that.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<Uuid>,
}

/// Says that an agent is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// What it says of itself, up to 16 KiB as JSON; without it what it last said stays.
    #[garde(skip)]
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub health: Option<Map<String, Value>>,
}

/// What an agent is told when it was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentState {
    /// Whether it takes work.
    pub status: AgentStatus,
    /// How many tasks it works on at once, at most.
    pub max_tasks: i64,
    /// How many tasks it works on.
    pub active_tasks: i64,
    /// How many tasks wait for it.
    pub queued_tasks: i64,
    /// How often it should be heard.
    pub heartbeat_interval_seconds: u32,
}

/// Which agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AgentsQuery {
    /// Only those this account answers for.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<Uuid>,
    /// Only those in this status.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentStatus>,
    /// Only those with this label, as `key:value`.
    #[garde(inner(length(bytes, min = 1, max = LABEL_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Also those that were retired (default false).
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_deactivated: Option<bool>,
    /// How many items at most (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[garde(inner(length(bytes, min = 1, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Problem;

    #[test]
    fn a_change_tells_absent_from_null() {
        let read = |value| serde_json::from_value::<UpdateAgent>(value);
        assert_eq!(read(json!({"model": null})).unwrap().model, Some(None));
        assert_eq!(read(json!({})).unwrap(), UpdateAgent::default());
        for fixed in ["name", "description", "max_tasks", "labels", "config", "owner_id"] {
            assert!(read(json!({fixed: null})).is_err(), "{fixed}");
        }
        let removal = UpdateAgent { role_name: Some(None), ..UpdateAgent::default() };
        assert_eq!(serde_json::to_value(&removal).unwrap(), json!({"role_name": null}));
    }

    #[test]
    fn forms_have_bounds() {
        let plain = || CreateAgent { name: "a".to_owned(), ..CreateAgent::default() };
        let cases = [
            (plain(), None),
            (CreateAgent { name: String::new(), ..plain() }, Some("/name")),
            (CreateAgent { max_tasks: Some(0), ..plain() }, Some("/max_tasks")),
            (CreateAgent { max_tasks: Some(1001), ..plain() }, Some("/max_tasks")),
            (CreateAgent { model: Some("x".repeat(201)), ..plain() }, Some("/model")),
            (CreateAgent { description: Some("x".repeat(4097)), ..plain() }, Some("/description")),
        ];
        for (request, expected) in cases {
            let problem = request.validate().err().map(|report| Problem::invalid(&report));
            let pointer = problem.as_ref().map(|problem| problem.errors[0].pointer.as_str());
            assert_eq!(pointer, expected, "{request:?}");
        }
        let change = UpdateAgent { model: Some(Some(String::new())), ..UpdateAgent::default() };
        assert_eq!(Problem::invalid(&change.validate().unwrap_err()).errors[0].pointer, "/model");
    }
}
