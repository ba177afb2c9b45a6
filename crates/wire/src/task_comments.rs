//! What people and agents say about a task.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The longest comment, in bytes.
pub const COMMENT_BYTES_MAX: usize = 16 * 1024;

/// A remark about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Comment {
    /// The comment's id.
    pub id: Uuid,
    /// About which task.
    pub task_id: Uuid,
    /// Who said it.
    pub author_id: Uuid,
    /// What people call them.
    pub author_name: String,
    /// What was said.
    pub body: String,
    /// When.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Says something about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateComment {
    /// What to say.
    #[garde(length(bytes, min = 1, max = COMMENT_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 16384)]
    pub body: String,
}
