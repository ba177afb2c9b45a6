//! Reviews, the requests they consist of, and answers.

use std::collections::BTreeMap;

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::risk::TaskRisk;
use crate::tasks::TaskState;

/// How long a reason may be.
pub const REASON_BYTES_MAX: usize = 16 * 1024;
/// How long the name of a ticket may be.
const TICKET_CHARS_MAX: usize = 200;
/// How many answers one batch has at most.
pub const BATCH_MAX: usize = 500;
/// `sha256:` and 64 digits.
const HASH_CHARS: usize = 71;

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ApprovalStatus {
    /// Not answered.
    Pending,
    /// Yes.
    Approved,
    /// No, or not like this.
    Rejected,
    /// Somebody else was asked instead.
    Delegated,
    /// Not answered in time.
    Expired,
    /// The answer no longer matters.
    Superseded,
}

/// One request to one reviewer, with the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// The request's id.
    pub id: Uuid,
    /// What is asked: `review` or `override`.
    pub kind: String,
    /// About which task.
    pub task_id: Uuid,
    /// Who is asked.
    pub reviewer_id: Uuid,
    /// What people call them.
    pub reviewer_name: String,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// `LOW`, `NORMAL`, `HIGH` or `URGENT`.
    pub priority: String,
    /// Its place in the queue, the highest first; null for agents.
    #[schema(required)]
    pub score: Option<i64>,
    /// Who was asked instead.
    #[schema(required)]
    pub delegated_to: Option<Uuid>,
    /// Through whom the request came.
    pub delegation_chain: Vec<Uuid>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Until when an answer is expected.
    #[schema(required, format = DateTime)]
    pub due_at: Option<String>,
    /// When it was answered.
    #[schema(required, format = DateTime)]
    pub responded_at: Option<String>,
    /// `approve`, `reject` or `request_changes`.
    #[schema(required)]
    pub response_action: Option<String>,
    /// Why.
    #[schema(required)]
    pub response_reason: Option<String>,
    /// Who answered.
    #[schema(required)]
    pub reviewed_by: Option<Uuid>,
    /// When the reviewer said that they had seen it.
    #[schema(required, format = DateTime)]
    pub acknowledged_at: Option<String>,
    /// What is to be decided on.
    pub content_hash: String,
    /// The level of an escalation list that named the reviewer; 0 where none did.
    pub escalation_level: u32,
    /// Of an `override` about an approved task: the unfinished tasks that it would no longer wait for. Empty otherwise.
    pub skips: Vec<Uuid>,
}

/// Says yes to exactly what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The task's `content_hash` that was read.
    #[garde(length(bytes, min = HASH_CHARS, max = HASH_CHARS))]
    pub content_hash: String,
    /// The review's `review_hash` that was read.
    #[garde(inner(length(bytes, min = HASH_CHARS, max = HASH_CHARS)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_hash: Option<String>,
    /// Why.
    #[garde(inner(length(bytes, min = 1, max = REASON_BYTES_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Says no, or not like this, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Refuse {
    /// The task's `content_hash` that was read.
    #[garde(length(bytes, min = HASH_CHARS, max = HASH_CHARS))]
    pub content_hash: String,
    /// The review's `review_hash` that was read.
    #[garde(inner(length(bytes, min = HASH_CHARS, max = HASH_CHARS)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_hash: Option<String>,
    /// Why.
    #[garde(length(bytes, min = 1, max = REASON_BYTES_MAX))]
    #[schema(min_length = 1)]
    pub reason: String,
}

/// What a batch answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchAction {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

/// What an admin may ask for with a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchOptions {
    /// Answer although the preview may be old; the hashes are checked all the same.
    #[garde(skip)]
    #[serde(default)]
    pub skip_validation: bool,
    /// Put the tasks at the head of the queue.
    #[garde(skip)]
    #[serde(default)]
    pub apply_immediately: bool,
}

/// Answers many requests: all of them, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBatch {
    /// The requests, each once.
    #[garde(length(min = 1, max = BATCH_MAX))]
    #[schema(min_items = 1, max_items = 500)]
    pub approval_ids: Vec<Uuid>,
    /// What is answered.
    #[garde(skip)]
    pub action: BatchAction,
    /// Why.
    #[garde(inner(length(bytes, min = 1, max = REASON_BYTES_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `content_hash` that was read, of each request.
    #[garde(length(min = 1, max = BATCH_MAX))]
    pub content_hashes: BTreeMap<Uuid, String>,
    /// The `review_hash` that was read, of each request.
    #[garde(inner(length(max = BATCH_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_hashes: Option<BTreeMap<Uuid, String>>,
    /// For admins.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<BatchOptions>,
}

/// The requests that a batch answered, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswered {
    /// Each as it is now.
    pub items: Vec<Approval>,
}

/// Gives a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveReason {
    /// Why.
    #[garde(length(bytes, min = 1, max = REASON_BYTES_MAX))]
    #[schema(min_length = 1)]
    pub reason: String,
}

/// Says why a task goes past the rules, and where that is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveUrgency {
    /// Why.
    #[garde(length(bytes, min = 1, max = REASON_BYTES_MAX))]
    #[schema(min_length = 1)]
    pub reason: String,
    /// The incident, such as `INC-7`.
    #[garde(length(chars, min = 1, max = TICKET_CHARS_MAX), custom(not_blank))]
    #[schema(min_length = 1, max_length = 200)]
    pub incident_ticket: String,
}

fn not_blank(text: &str, (): &()) -> garde::Result {
    if text.trim().is_empty() { Err(garde::Error::new("must name an incident")) } else { Ok(()) }
}

/// Makes a new draft of a task that did not come through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resubmit {
    /// Whether tasks that wait for the old one wait for the new one from then on (default true).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take_over_dependents: Option<bool>,
}

/// Which requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ApprovalsQuery {
    /// Only those to this account; `me` is the caller.
    #[garde(inner(length(bytes, min = 1, max = 36)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Only those in this status.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ApprovalStatus>,
    /// Only those about this task.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Uuid>,
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

/// Whose statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ApprovalStatsQuery {
    /// The reviewer; `me`, the default, is the caller.
    #[garde(inner(length(bytes, min = 1, max = 36)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
}

/// How a reviewer keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalStats {
    /// Who.
    pub reviewer_id: Uuid,
    /// Requests that wait.
    pub pending_count: i64,
    /// Those approved since midnight, UTC.
    pub approved_today: i64,
    /// Those rejected since midnight, UTC.
    pub rejected_today: i64,
    /// How many seconds answers of the last 30 days took, on average.
    #[schema(required)]
    pub avg_response_time: Option<f64>,
    /// When the last one was given.
    #[schema(required, format = DateTime)]
    pub last_action_at: Option<String>,
}

/// A policy that a review pinned, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewPolicy {
    /// The policy.
    pub policy_id: Uuid,
    /// The version that was matched.
    pub version: i64,
    /// What people call it.
    pub name: String,
    /// Why it applies; empty for agents.
    pub because: Vec<String>,
    /// How many people must say yes.
    pub min_approvers: u32,
    /// How many have.
    pub approved_count: u32,
    /// Whoever holds one of these roles may be asked.
    pub required_roles: Vec<String>,
    /// These people may be asked too.
    pub reviewers: Vec<Uuid>,
    /// What one rejection does: `any` or `unreachable`.
    pub reject_on: String,
    /// How far it has escalated: 0 where those it means are asked, else the level of its `escalate_to`.
    pub level: u32,
    /// When the time of those who are asked is over; null where it waits for them.
    #[schema(required, format = DateTime)]
    pub due_at: Option<String>,
}

/// A time that was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewEscalation {
    /// Of which policy.
    pub policy_id: Uuid,
    /// What people call it.
    pub policy: String,
    /// What was done: `escalated` (the next level is asked), `parked` (the requests wait) or `denied` (the task is
    /// rejected; nobody said no).
    pub outcome: String,
    /// The level that is asked now, or was the last.
    pub level: u32,
    /// Who is asked now.
    pub to: Vec<Uuid>,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
}

/// How a task's review stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    /// The largest number of people that one policy asks for.
    pub required_count: u32,
    /// How many people said yes.
    pub approved_count: u32,
    /// How many said no.
    pub rejected_count: u32,
    /// How many have not answered.
    pub pending_count: u32,
    /// Whether every policy is content.
    pub quorum_reached: bool,
    /// Whether every policy still can be.
    pub reachable: bool,
    /// What is missing, in words.
    pub missing: Vec<String>,
    /// What applies, pinned.
    pub policies: Vec<ReviewPolicy>,
    /// Every time that was over, the first first.
    pub escalations: Vec<ReviewEscalation>,
    /// The hash of all that a reviewer is shown; null for agents, who could find the score by trying.
    #[schema(required)]
    pub review_hash: Option<String>,
    /// How it ended: `quorum`, `auto`, `override`, `rejected`, `changes_requested`, `timeout`, `withdrawn` or
    /// `superseded`.
    #[schema(required)]
    pub resolution: Option<String>,
}

/// Somebody who would be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SimulatedRequest {
    /// Who.
    pub reviewer_id: Uuid,
    /// What people call them.
    pub reviewer_name: String,
    /// Which of the policies their answer would count for, by name.
    pub policies: Vec<String>,
    /// Until when an answer would be expected.
    #[schema(required, format = DateTime)]
    pub due_at: Option<String>,
}

/// What would happen to a task that was handed in now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Simulation {
    /// Where it would stand: REVIEWING, or APPROVED.
    pub state: TaskState,
    /// How dangerous it is.
    pub risk: TaskRisk,
    /// How its review would begin; `reachable` says whether enough people could be asked.
    pub review: Review,
    /// Who would be asked.
    pub reviewers: Vec<SimulatedRequest>,
    /// Whether every policy would let it pass without a person.
    pub auto_approval: bool,
    /// Why not; empty for agents.
    pub asks_because: Vec<String>,
}
