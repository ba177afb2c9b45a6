//! Standalone grants: single-use tokens for a tenant and a hash. The names of the fields are those of S002, which calls
//! them approvals.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::patch::not_null;

/// How many a list shows when nobody says.
pub const PENDING_LIMIT_DEFAULT: u32 = 100;
/// How many a list may show.
pub const PENDING_LIMIT_MAX: u32 = 1000;
/// Longer than any id or slug.
const TENANT_CHARS_MAX: usize = 64;
/// Longer than any token.
const TOKEN_CHARS_MAX: usize = 128;

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantStatus {
    /// Its token can be used.
    Pending,
    /// Its token was used.
    Consumed,
    /// Nobody used it in time.
    Expired,
}

/// A grant. Its token was shown once, to whoever made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StandaloneGrant {
    /// Its id, which opens nothing.
    pub approval_id: Uuid,
    /// The organization it is good in.
    pub tenant_id: Uuid,
    /// What it is good for.
    #[schema(example = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub ir_hash: String,
    /// What became of it.
    pub status: GrantStatus,
    /// When the token ends by itself.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When the token was used.
    #[schema(required, format = DateTime)]
    pub consumed_at: Option<String>,
    /// Who made it, in their own words.
    pub created_by: String,
    /// Who used the token, in their own words.
    #[schema(required)]
    pub consumed_by: Option<String>,
    /// When somebody last said that they have seen it.
    #[schema(required, format = DateTime)]
    pub acknowledged_at: Option<String>,
    /// Who, in their own words.
    #[schema(required)]
    pub acknowledged_by: Option<String>,
}

/// Makes a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGrant {
    /// Your organization: its id or its slug.
    #[garde(length(chars, min = 1, max = TENANT_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 64)]
    pub tenant_id: String,
    /// What the token shall be good for: printable ASCII without spaces.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 256)]
    pub ir_hash: String,
    /// How long it lives (default `APPROVAL_DEFAULT_TTL`).
    #[garde(skip)]
    #[schema(minimum = 1, maximum = 604_800, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// Who makes it, in your words (default: your account's id). The audit trail names the account.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
}

/// A new grant. This is the only time its token is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedGrant {
    /// Its id.
    pub approval_id: Uuid,
    /// The token; null in the answer to a repeated request.
    #[schema(required)]
    pub token: Option<String>,
    /// When it ends by itself.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// Whether this answers a repeated request.
    pub replayed: bool,
}

/// Uses a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumeGrant {
    /// The token.
    #[garde(length(chars, max = TOKEN_CHARS_MAX))]
    #[schema(max_length = 128)]
    pub token: String,
    /// Your organization: its id or its slug.
    #[garde(length(chars, min = 1, max = TENANT_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 64)]
    pub tenant_id: String,
    /// What it shall be used for: exactly what it was made for.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 256)]
    pub ir_hash: String,
    /// Who uses it, in your words (default: your account's id). The audit trail names the account.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub consumed_by: Option<String>,
}

/// Which grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PendingGrantsQuery {
    /// Your organization: its id or its slug.
    #[garde(length(chars, min = 1, max = TENANT_CHARS_MAX))]
    pub tenant_id: String,
    /// How many at most (default 100).
    #[garde(inner(range(min = 1, max = PENDING_LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 1000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Whose grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GrantStatsQuery {
    /// Your organization: its id or its slug.
    #[garde(length(chars, min = 1, max = TENANT_CHARS_MAX))]
    pub tenant_id: String,
}

/// Whose grants a socket tells of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GrantSocketQuery {
    /// Your organization: its id or its slug.
    #[garde(length(chars, min = 1, max = TENANT_CHARS_MAX))]
    pub tenant_id: String,
}

/// What a socket tells of grants, besides its heartbeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum GrantNews {
    /// One was made.
    ApprovalCreated {
        /// Which.
        approval_id: Uuid,
        /// The organization it is good in.
        tenant_id: Uuid,
        /// What it is good for.
        ir_hash: String,
        /// When the token ends by itself.
        #[schema(format = DateTime)]
        expires_at: String,
    },
    /// Its token was used.
    ApprovalConsumed {
        /// Which.
        approval_id: Uuid,
        /// Who used it, in their own words.
        consumed_by: String,
    },
    /// Nobody used it in time.
    ApprovalExpired {
        /// Which.
        approval_id: Uuid,
    },
}

/// Grants that can be used, newest first, and how many there are of each kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingGrants {
    /// The grants.
    pub approvals: Vec<StandaloneGrant>,
    /// All of the organization, since the beginning.
    pub total: u64,
    /// Those that can be used.
    pub pending: u64,
    /// Those that were used.
    pub consumed: u64,
    /// Those that nobody used in time.
    pub expired: u64,
}

/// How many grants there are of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantCounts {
    /// Those that can be used.
    pub pending: u64,
    /// Those that were used, since the beginning.
    pub consumed: u64,
    /// Those that nobody used in time, since the beginning.
    pub expired: u64,
}

/// What the cleanup did for the organization since the hub was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantCleanup {
    /// How often it ran.
    pub runs: u64,
    /// How many grants it cleared away.
    pub total_cleaned: u64,
    /// When it last ran.
    #[schema(required, format = DateTime)]
    pub last_run: Option<String>,
    /// How many it cleared away then.
    pub last_cleaned: u64,
    /// How long it took.
    pub last_duration_ms: u64,
    /// Whether it runs from time to time.
    pub running: bool,
    /// How often.
    pub interval_seconds: u64,
}

/// How the grants of an organization stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantStats {
    /// How many there are of each kind.
    pub by_status: GrantCounts,
    /// What the cleanup did; null if it was not started.
    #[schema(required)]
    pub cleanup_worker: Option<GrantCleanup>,
}

/// Whether the cleanup does its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantCleanupHealth {
    /// Whether.
    pub healthy: bool,
    /// `running`, `late` or `stopped`.
    #[schema(example = "running")]
    pub status: String,
    /// In words.
    pub message: String,
    /// What it did.
    pub stats: GrantCleanup,
}

/// Whether grants can be made and used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantHealth {
    /// Whether all is as it must be.
    pub healthy: bool,
    /// Whether they are kept in Redis, and it answers.
    pub redis_available: bool,
    /// How the cleanup stands; null if it was not started.
    #[schema(required)]
    pub cleanup_worker: Option<GrantCleanupHealth>,
    /// In words.
    #[schema(example = "Approval system is healthy")]
    pub message: String,
}

/// Says that one has seen a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeGrant {
    /// Who has, in your words. The audit trail names the account.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 200)]
    pub acknowledged_by: String,
}

/// It was noted; the token was not used by that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcknowledgedGrant {
    /// Always true.
    pub success: bool,
    /// Which grant.
    pub approval_id: Uuid,
    /// Who has seen it.
    pub acknowledged_by: String,
    /// In words.
    pub message: String,
}

/// What a cleanup by hand did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CleanedGrants {
    /// Always true.
    pub success: bool,
    /// What the cleanup has done so far, this run included; null if it was never started.
    #[schema(required)]
    pub cleanup_worker: Option<GrantCleanup>,
}
