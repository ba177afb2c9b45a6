//! Tasks.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::approvals::Review;
use crate::events::WAIT_SECONDS_MAX;
use crate::executions::Execution;
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::{not_null, present};
use crate::risk::TaskRisk;

/// How long a slug may be.
pub const SLUG_CHARS_MAX: usize = 64;
/// How long a path may be.
pub const PATH_CHARS_MAX: usize = 512;
/// The longest name of a resource, `type:id`.
pub const RESOURCE_CHARS_MAX: usize = 64 + 1 + 256;
/// The longest tag, in bytes.
pub const TAG_BYTES_MAX: usize = 4 * 64;
/// How many tasks one may wait for.
pub const PREREQUISITES_MAX: usize = 100;

/// Where a task stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskState {
    /// Being written.
    Draft,
    /// Handed in; the hub makes its preview.
    Submitted,
    /// Reviewers are asked.
    Reviewing,
    /// It may be applied.
    Approved,
    /// It is being applied.
    Applying,
    /// Done.
    Completed,
    /// Reviewers, or time, said no.
    Rejected,
    /// Given up before it began.
    Cancelled,
    /// It was tried and did not work.
    Failed,
}

/// What a planner sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    /// Not handed in yet.
    Pending,
    /// On its way.
    InProgress,
    /// Done.
    Completed,
    /// It will not happen.
    Failed,
    /// It waits for another task.
    Blocked,
}

/// What is said about a task: by its author, and by the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskMetadata {
    /// Who proposed it.
    pub author_id: Uuid,
    /// What people call them.
    pub author_name: String,
    /// Whose it is among people.
    #[schema(required)]
    pub team: Option<String>,
    /// Where it is talked about elsewhere.
    #[schema(required)]
    pub ticket_ref: Option<String>,
    /// Labels to find it by.
    pub tags: Vec<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// When it was last handed in.
    #[schema(required, format = DateTime)]
    pub submitted_at: Option<String>,
    /// When its review last ended with yes.
    #[schema(required, format = DateTime)]
    pub approved_at: Option<String>,
    /// When an attempt last began.
    #[schema(required, format = DateTime)]
    pub applying_at: Option<String>,
    /// When it was done.
    #[schema(required, format = DateTime)]
    pub completed_at: Option<String>,
    /// Whatever else the author says.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Map<String, Value>,
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedBy {
    /// Which task.
    pub task_id: Uuid,
    /// Where that one stands.
    pub state: TaskState,
    /// Whether it will never be done.
    pub dead: bool,
}

/// What a task need not wait for, because two admins signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedDependencies {
    /// For which tasks: those that were not done when it was asked for.
    pub task_ids: Vec<Uuid>,
    /// The request that was signed.
    pub approval_id: Uuid,
    /// Who signed it; who asked stands in the task's audit.
    pub signed_by: Uuid,
    /// When.
    #[schema(format = DateTime)]
    pub signed_at: String,
}

/// A governed change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// The task's id.
    pub id: Uuid,
    /// Where it lives.
    pub project_id: Uuid,
    /// Its short name, unique in the project.
    #[schema(required)]
    pub slug: Option<String>,
    /// Its place in the plan.
    #[schema(required)]
    pub path: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// What a planner sees.
    pub status: TaskStatus,
    /// Which version of the config this is, from 1.
    pub revision: i64,
    /// `sha256:` and the SHA-256 of the RFC 8785 form of `config`.
    pub content_hash: String,
    /// What it will do, defaults filled in.
    #[schema(value_type = Object)]
    pub config: Value,
    /// What is said about it.
    pub metadata: TaskMetadata,
    /// How dangerous it is.
    pub risk: TaskRisk,
    /// What it would change: `{changes[], warnings[], errors[], made_by: hub|author}`.
    #[schema(required, value_type = Option<Object>)]
    pub preview: Option<Value>,
    /// The hash of what the hub's own preview says it changes.
    #[schema(required)]
    pub effect_hash: Option<String>,
    /// How its review stands.
    #[schema(required)]
    pub review: Option<Review>,
    /// How its last attempt stands.
    #[schema(required)]
    pub execution: Option<Execution>,
    /// Who shall apply it.
    #[schema(required)]
    pub assignee: Option<Uuid>,
    /// Until when it should be done.
    #[schema(required, format = DateTime)]
    pub due_at: Option<String>,
    /// What it waits for or waited for.
    pub depends_on: Vec<Uuid>,
    /// What of that is not done and has to be.
    pub blocked_by: Vec<BlockedBy>,
    /// What of that need not be done; null where the task waits for all.
    #[schema(required)]
    pub skipped_dependencies: Option<SkippedDependencies>,
    /// Whether a person has to look at how it ended.
    pub needs_attention: bool,
    /// The task this one replaces.
    #[schema(required)]
    pub resubmitted_from: Option<Uuid>,
    /// Grows with every decision about it.
    pub version: i64,
}

/// Proposes a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// What it will do: `type` and `description` at least. Up to 64 KiB as JSON.
    // Whoever freezes it checks it: reviewers sign its bytes, and the form could not point into it.
    #[garde(skip)]
    #[schema(value_type = Object)]
    pub config: Value,
    /// What is said about it: `team`, `ticket_ref`, `tags` (at most 50), and anything else; up to 64 KiB as JSON.
    #[garde(skip)]
    #[schema(value_type = Option<Object>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Where it lives (default: the project `default`).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// Its short name: a-z, 0-9 and -, unique in the project.
    #[garde(inner(length(bytes, min = 1, max = SLUG_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 64)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Its place in the plan, such as `implementation/database`.
    #[garde(inner(length(bytes, min = 1, max = PATH_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 512)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Who shall apply it.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Uuid>,
    /// Until when it should be done.
    #[garde(skip)]
    #[schema(format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<String>,
    /// Tasks of the same project that have to be done first.
    #[garde(inner(length(max = PREREQUISITES_MAX)))]
    #[schema(max_items = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<Uuid>>,
    /// Also hand it in (default false).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<bool>,
}

/// Changes a task; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// What it will do: all of it, not a part.
    #[garde(skip)]
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// What is said about it; merged, and null takes a member away.
    #[garde(skip)]
    #[schema(value_type = Object, required = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Where it lives.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// Its short name; null removes it.
    #[garde(inner(inner(length(bytes, min = 1, max = SLUG_CHARS_MAX))))]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 64)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub slug: Option<Option<String>>,
    /// Its place in the plan; null removes it.
    #[garde(inner(inner(length(bytes, min = 1, max = PATH_CHARS_MAX))))]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 512)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub path: Option<Option<String>>,
    /// Who shall apply it; null: nobody in particular.
    #[garde(skip)]
    #[schema(value_type = Option<Uuid>)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Option<Uuid>>,
    /// Until when it should be done; null removes it.
    #[garde(skip)]
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Option<String>>,
    /// Tasks of the same project that have to be done first: all of them.
    #[garde(inner(length(max = PREREQUISITES_MAX)))]
    #[schema(max_items = 100, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<Uuid>>,
}

/// Which tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TasksQuery {
    /// Only those in this state.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// Only those of this status.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Only those this account proposed; `me` is the caller.
    #[garde(inner(length(bytes, min = 1, max = 36)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Only those that touch this, as `type:id`.
    #[garde(inner(length(bytes, min = 1, max = RESOURCE_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only those with this tag.
    #[garde(inner(length(bytes, min = 1, max = TAG_BYTES_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only those of this project.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// Only those this account shall apply; `me` is the caller.
    #[garde(inner(length(bytes, min = 1, max = 36)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Only those whose path begins like this.
    #[garde(inner(length(bytes, min = 1, max = PATH_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
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

/// How to look at a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Wait this long for the task to leave SUBMITTED and REVIEWING before answering.
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[param(maximum = 50)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_tells_absent_from_null() {
        let read = |value| serde_json::from_value::<UpdateTask>(value);
        assert_eq!(read(json!({"assignee": null})).unwrap().assignee, Some(None));
        assert_eq!(read(json!({})).unwrap(), UpdateTask::default());
        for fixed in ["metadata", "project_id", "depends_on"] {
            assert!(read(json!({fixed: null})).is_err(), "{fixed}");
        }
        // The config is checked as a whole, and null is none.
        assert_eq!(read(json!({"config": null})).unwrap().config, Some(Value::Null));
        assert!(read(json!({"state": "APPROVED"})).is_err());
    }

    #[test]
    fn words_are_written_as_the_documents_have_them() {
        assert_eq!(json!(TaskState::Reviewing), json!("REVIEWING"));
        assert_eq!(json!(TaskStatus::InProgress), json!("in-progress"));
    }

    #[test]
    fn agents_see_two_things_of_a_risk() {
        let risk = TaskRisk {
            score: None,
            level: "LOW".into(),
            factors: None,
            auto_approvable: false,
            assessed_at: None,
            assessed_by: None,
        };
        assert_eq!(json!(risk), json!({"level": "LOW", "auto_approvable": false}));
    }
}
