//! Tasks that somebody may have to look at, however many others there are.

use domain::Id;
use domain::organizations::Organization;
use domain::tasks::{Task, TaskState};

use crate::{Result, Tx, args, statement};

statement!(
    LONGEST_IN_STATE: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, \
                              t.status, t.revision, t.content_hash, t.version, t.task_type, t.priority, \
                              t.assignee, t.due_at, t.tags, t.metadata, t.risk, t.preview, t.effect_hash, \
                              t.review_id, t.queue_rank, t.not_before, t.needs_attention, t.resubmitted_from, \
                              t.submitted_at, t.approved_at, t.applying_at, t.completed_at, t.ended_at, \
                              t.created_at, t.updated_at FROM tasks t WHERE t.org_id = $1 AND t.state = $2 ORDER \
                              BY t.created_at, t.id LIMIT $3"
);
statement!(
    NEED_ATTENTION: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, t.status, \
                            t.revision, t.content_hash, t.version, t.task_type, t.priority, t.assignee, \
                            t.due_at, t.tags, t.metadata, t.risk, t.preview, t.effect_hash, t.review_id, \
                            t.queue_rank, t.not_before, t.needs_attention, t.resubmitted_from, t.submitted_at, \
                            t.approved_at, t.applying_at, t.completed_at, t.ended_at, t.created_at, t.updated_at \
                            FROM tasks t WHERE t.org_id = $1 AND t.needs_attention ORDER BY t.ended_at DESC, \
                            t.id DESC LIMIT $2"
);

/// Those in this state that were made first.
pub async fn longest(tx: &mut Tx, org: Id<Organization>, state: TaskState, limit: i64) -> Result<Vec<Task>> {
    tx.all(&LONGEST_IN_STATE, args![org, state.as_str(), limit]).await
}

/// Those that ended so that somebody must look, the last one first.
pub async fn need_attention(tx: &mut Tx, org: Id<Organization>, limit: i64) -> Result<Vec<Task>> {
    tx.all(&NEED_ATTENTION, args![org, limit]).await
}
