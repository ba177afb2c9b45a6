//! Executions: attempts to apply tasks, claimed and reported by agents.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::events::WAIT_SECONDS_MAX;

/// How much output one request may append.
pub const APPEND_BYTES_MAX: usize = 256 * 1024;
/// How long the reason of a failure may be.
pub const ERROR_BYTES_MAX: usize = 16 * 1024;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionPurpose {
    /// What was approved.
    Apply,
    /// Undoing it.
    Rollback,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionPhase {
    /// The agent works.
    Applying,
    /// The work is undone, or waits for an agent that undoes it.
    RollingBack,
    /// Nothing more happens.
    Ended,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionResult {
    /// Done.
    Success,
    /// It did not work, or nobody can say.
    Failure,
    /// It took longer than `timeout_seconds`.
    Timeout,
    /// An admin ended it.
    Cancelled,
}

/// Whether the hub knows what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionOutcome {
    /// The agent said so.
    Known,
    /// The agent was lost, or ended before it could say.
    Unknown,
}

/// What became of undoing an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackStatus {
    /// Nothing was undone.
    None,
    /// A person asked for it; it waits for an agent.
    Asked,
    /// An agent undoes it.
    Running,
    /// It was undone.
    Succeeded,
    /// It could not be undone, or nobody can say.
    Failed,
}

/// The Grant an attempt was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionGrant {
    /// Which.
    pub id: Uuid,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// How many were approved.
    pub of: u32,
}

/// A lock that an execution holds. The execution's heartbeat renews all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionLock {
    /// `task:<id>` or `resource:<type>:<id>`.
    pub key: String,
    /// One per acquisition.
    pub lock_id: Uuid,
    /// Greater than that of every earlier holder of the key: pass it to whatever you write to.
    pub fencing_token: u64,
    /// When it ends unless it is renewed.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// Claims a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimTask {
    /// The agent that will work. Only the agent itself and its owner may say so.
    #[garde(skip)]
    pub agent_id: Uuid,
    /// How long to wait for its locks, its prerequisites and its hour (default 0).
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[schema(maximum = 50)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// Claims the next task an agent may apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NextTask {
    /// How long to wait for one (default 0).
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[schema(maximum = 50)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// An attempt that has begun: exactly what was approved, and the locks it is done under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimedTask {
    /// Report on this.
    pub execution_id: Uuid,
    /// Which task.
    pub task_id: Uuid,
    /// What to do.
    pub purpose: ExecutionPurpose,
    /// The Grant the attempt was taken from.
    pub grant: ExecutionGrant,
    /// `sha256:` and the SHA-256 of the RFC 8785 form of `config`.
    pub content_hash: String,
    /// What was approved, defaults filled in.
    #[schema(value_type = Object)]
    pub config: Value,
    /// The locks, by key.
    pub locks: Vec<ExecutionLock>,
    /// How often the hub wants to hear of it.
    pub heartbeat_interval_seconds: u32,
    /// Without a heartbeat the agent counts as lost soon after this.
    #[schema(format = DateTime)]
    pub lease_until: String,
    /// When `timeout_seconds` are over.
    #[schema(format = DateTime)]
    pub deadline_at: String,
}

/// One attempt to apply a task, or to undo one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Execution {
    /// Its id; also the `owner` of its locks.
    pub id: Uuid,
    /// Of which task.
    pub task_id: Uuid,
    /// What is done.
    pub purpose: ExecutionPurpose,
    /// How far it is.
    pub phase: ExecutionPhase,
    /// The Grant it was taken from.
    pub grant_id: Uuid,
    /// Which attempt it is, from 1; of a rollback, which attempt it undoes.
    pub attempt: u32,
    /// How many attempts came before.
    pub retry_count: u32,
    /// Who works.
    pub agent_id: Uuid,
    /// When it began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When its agent was last heard.
    #[schema(format = DateTime)]
    pub last_heartbeat: String,
    /// Without a heartbeat the agent counts as lost soon after this.
    #[schema(format = DateTime)]
    pub lease_until: String,
    /// When `timeout_seconds` are over.
    #[schema(format = DateTime)]
    pub deadline_at: String,
    /// When it ended.
    #[schema(required, format = DateTime)]
    pub completed_at: Option<String>,
    /// How the work ended; known already while it is undone.
    #[schema(required)]
    pub result: Option<ExecutionResult>,
    /// Whether the hub knows what was done.
    #[schema(required)]
    pub outcome: Option<ExecutionOutcome>,
    /// What became of undoing it.
    pub rollback: RollbackStatus,
    /// What went wrong: in the agent's words, or `AGENT_LOST`, `TIMEOUT`, `LOCK_LOST`, `FORCE_RELEASED`.
    #[schema(required)]
    pub error: Option<String>,
    /// What else the agent said about it.
    #[schema(required, value_type = Option<Object>)]
    pub error_details: Option<Map<String, Value>>,
    /// The end of what the agent wrote; the whole is at `/executions/{id}/output`.
    pub output: String,
    /// How many bytes the agent wrote.
    pub output_size: u64,
    /// Where the whole output is kept; null while there is none.
    #[schema(required)]
    pub output_key: Option<Uuid>,
    /// How far its agent says it is; null where it says nothing.
    #[schema(required)]
    pub progress: Option<Progress>,
    /// The keys it holds or held, by key.
    pub locks: Vec<ExecutionLock>,
}

/// What an agent is told when it was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionHeard {
    /// What it should be doing.
    pub phase: ExecutionPhase,
    /// Without another heartbeat it counts as lost soon after this.
    #[schema(format = DateTime)]
    pub lease_until: String,
    /// When `timeout_seconds` are over.
    #[schema(format = DateTime)]
    pub deadline_at: String,
    /// How often the hub wants to hear of it.
    pub heartbeat_interval_seconds: u32,
}

/// How far an attempt is, in its agent's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Of 100.
    #[garde(inner(range(max = 100)))]
    #[schema(required, maximum = 100)]
    #[serde(default)]
    pub percent: Option<u8>,
    /// What is being done: at most 200 characters on one line.
    #[garde(skip)]
    #[schema(required, min_length = 1, max_length = 200)]
    #[serde(default)]
    pub message: Option<String>,
}

/// Adds to the output of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendOutput {
    /// At most 256 KiB; all output of an attempt at most 16 MiB.
    #[garde(length(bytes, max = APPEND_BYTES_MAX))]
    #[schema(max_length = 262144)]
    pub text: String,
    /// How many bytes there must be before this: a repeated append is refused instead of written twice.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How far the work is; what was said before stays where this is missing.
    #[garde(dive)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// What was appended is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppendedOutput {
    /// How many bytes there are now.
    pub output_size: u64,
}

/// Which part of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OutputQuery {
    /// Only what comes after this many bytes (default 0): `next_after` of the answer before.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A part of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Output {
    /// What was written; empty where there is nothing more.
    pub text: String,
    /// Ask with this for what comes next.
    pub next_after: u64,
    /// How many bytes there are.
    pub output_size: u64,
    /// Whether more may be written.
    pub ended: bool,
}

/// Says that the work is done; or, where it was undone, that this is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteExecution {
    /// The last of the output.
    #[garde(inner(length(bytes, max = APPEND_BYTES_MAX)))]
    #[schema(max_length = 262144)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Says that the work did not succeed; or, where it was undone, that this did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailExecution {
    /// What went wrong.
    #[garde(length(bytes, min = 1, max = ERROR_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 16384)]
    pub error: String,
    /// What else there is to say about it; up to 64 KiB as JSON.
    #[garde(skip)]
    #[schema(value_type = Option<Object>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Map<String, Value>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_written_as_the_documents_have_them() {
        assert_eq!(json!(ExecutionPhase::RollingBack), json!("rolling_back"));
        assert_eq!(json!(ExecutionResult::Timeout), json!("timeout"));
        assert_eq!(json!(ExecutionOutcome::Unknown), json!("unknown"));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let append = |bytes| AppendOutput { text: "x".repeat(bytes), ..AppendOutput::default() };
        assert!(append(APPEND_BYTES_MAX).validate().is_ok());
        assert!(append(APPEND_BYTES_MAX + 1).validate().is_err());
        assert!(NextTask { wait_seconds: Some(WAIT_SECONDS_MAX + 1) }.validate().is_err());
        assert!(FailExecution::default().validate().is_err(), "a failure has a reason");
    }
}
