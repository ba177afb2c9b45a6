//! The audit trail: rows, seals over them, proofs, and the result of checking it all.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::Subject;
use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};

/// Room for every action there is.
pub const ACTION_CHARS_MAX: usize = 200;

/// Who did what, when, from where, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditRow {
    /// The row's id.
    pub id: Uuid,
    /// The account that acted.
    pub actor: Uuid,
    /// What it did.
    #[schema(example = "api_key:minted")]
    pub action: String,
    /// The subject's state before.
    pub from_state: Option<String>,
    /// The subject's state after.
    pub to_state: Option<String>,
    /// When.
    #[schema(format = DateTime)]
    pub occurred_at: String,
    /// The address the request came from; null for callers who may not see it.
    pub ip: Option<String>,
    /// The program the request came from; null for callers who may not see it.
    pub user_agent: Option<String>,
    /// The part of the hub that acted.
    pub service: Option<String>,
    /// Why, in the actor's words.
    pub reason: Option<String>,
    /// The ticket the actor named.
    pub ticket_ref: Option<String>,
    /// The login that was used.
    pub login_session_id: Option<String>,
    /// The agent conversation it happened in.
    pub session_id: Option<Uuid>,
    /// The API key that was used.
    pub key_id: Option<Uuid>,
    /// What was acted on.
    pub subject: Subject,
    /// Details that depend on the action.
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
    /// The seal over this row; null in the moment before it is sealed.
    pub seal: Option<SealRef>,
}

/// Which seal covers a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SealRef {
    /// The seal's id.
    pub id: Uuid,
    /// Its place in the chain, from 1.
    pub number: u64,
    /// Its hash.
    pub hash: String,
}

/// A signed link of the chain over a batch of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditSeal {
    /// The seal's id.
    pub id: Uuid,
    /// Its place in the chain, from 1.
    pub number: u64,
    /// How many rows it covers.
    pub count: u64,
    /// The hash of the seal before.
    pub previous: String,
    /// The root of the Merkle tree over the rows.
    pub root: String,
    /// SHA-256(0x02 ‖ previous ‖ chain ‖ number ‖ count ‖ root ‖ time).
    pub hash: String,
    /// Ed25519 over the hash.
    pub signature: String,
    /// Which of the hub's keys signed.
    pub key_id: String,
    /// When.
    #[schema(format = DateTime)]
    pub sealed_at: String,
}

/// Everything needed to check, without the hub, that a row is covered by a seal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditProof {
    /// The row.
    pub row_id: Uuid,
    /// The very bytes that were sealed (RFC 8785 JSON).
    pub body: String,
    /// SHA-256(0x00 ‖ body).
    pub leaf: String,
    /// The row's place under the seal, from 0.
    pub index: u64,
    /// How many rows the seal covers.
    pub count: u64,
    /// The hashes beside the way from the leaf up to the root.
    pub path: Vec<String>,
    /// The root this way leads to.
    pub root: String,
    /// The seal that signs the root.
    pub seal: AuditSeal,
    /// The Ed25519 key to check the signature with.
    pub public_key: String,
}

/// What a check of the whole trail found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerification {
    /// When it was checked.
    #[schema(format = DateTime)]
    pub checked_at: String,
    /// Nothing is wrong.
    pub ok: bool,
    /// The first thing that is wrong.
    pub finding: Option<String>,
    /// How many seals were checked.
    pub seals: u64,
    /// How many rows were checked.
    pub rows: u64,
    /// How many rows wait for their seal.
    pub unsealed: u64,
    /// The hash of the last seal: keep it elsewhere, and a cut-off tail can be noticed.
    pub head: Option<String>,
}

/// Which rows, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only what this account did.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Uuid>,
    /// Only this action.
    #[garde(inner(length(bytes, min = 1, max = ACTION_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only what concerns this task.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Uuid>,
    /// Only what happened in this agent conversation.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// Only what was done with this API key.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<Uuid>,
    /// Not before this time.
    // Whoever turns it into a time checks its form.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime)]
    pub from: Option<String>,
    /// Before this time.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime)]
    pub to: Option<String>,
    /// How many rows at most (default 50).
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

    #[test]
    fn unknown_filters_are_refused() {
        assert!(serde_json::from_value::<AuditQuery>(json!({"acter": null})).is_err());
    }

    #[test]
    fn an_empty_query_has_no_members() {
        assert_eq!(serde_json::to_value(AuditQuery::default()).unwrap(), json!({}));
    }
}
