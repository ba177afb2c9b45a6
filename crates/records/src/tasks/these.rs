//! Several tasks at once.

use domain::Id;
use domain::organizations::Organization;
use domain::tasks::Task;
use serde_json::Value as Json;

use crate::{Result, Tx, args, statement};

statement!(
    THESE: Task = lite "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, content_hash, \
                  version, task_type, priority, assignee, due_at, tags, metadata, risk, preview, effect_hash, \
                  review_id, queue_rank, not_before, needs_attention, resubmitted_from, submitted_at, approved_at, \
                  applying_at, completed_at, ended_at, created_at, updated_at FROM tasks \
                  WHERE NULLIF(org_id, NULL) = $1 AND id IN (SELECT value FROM json_each($2))",
                  pg "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, content_hash, \
                  version, task_type, priority, assignee, due_at, tags, metadata, risk, preview, effect_hash, \
                  review_id, queue_rank, not_before, needs_attention, resubmitted_from, submitted_at, approved_at, \
                  applying_at, completed_at, ended_at, created_at, updated_at FROM tasks \
                  WHERE org_id = $1 AND id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

/// Those of these tasks that there are, in no order.
pub async fn these(
    tx: &mut Tx,
    org: Id<Organization>,
    ids: impl IntoIterator<Item = Id<Task>>,
) -> Result<Vec<Task>> {
    let ids: Json = ids.into_iter().map(|id| id.to_string()).collect();
    tx.all(&THESE, args![org, &ids]).await
}
