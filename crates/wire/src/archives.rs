//! Archives: where finished tasks go after the organization's retention.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Finished tasks that left together. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Archive {
    /// Its id.
    pub id: Uuid,
    /// How many tasks are in it: one line each.
    pub tasks: u64,
    /// How many requests for review are in it.
    pub approvals: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// The hash of its bytes.
    #[schema(example = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub sha256: String,
    /// The audit row that tells of it and of the hash of its bytes.
    pub audit_id: Uuid,
    /// When the first of its tasks ended.
    #[schema(format = DateTime)]
    pub first_ended_at: String,
    /// When the last of its tasks ended.
    #[schema(format = DateTime)]
    pub last_ended_at: String,
    /// When it was written.
    #[schema(format = DateTime)]
    pub created_at: String,
}
