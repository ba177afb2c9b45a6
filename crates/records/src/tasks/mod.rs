//! Tasks, without the bytes of their revisions.

mod attention;
mod counts;
mod handed_in;
mod list;
mod queue;
mod these;

use domain::Id;
use domain::organizations::Organization;
use domain::projects::Project;
use domain::risk::Risk;
use domain::tasks::{Resource, Task, TaskState, TaskStatus};
use serde_json::{Value as Json, json};

use crate::row::{Cell, Col};
use crate::{Result, Tx, args, row, statement, text_column};

pub use attention::{longest, need_attention};
pub use counts::{OfLevel, Which, by_level, count};
pub use handed_in::{HandedIn, handed_in};
pub use list::{After, Filter, list};
pub use queue::{Place, queue, queued};
pub use these::these;

text_column!(TaskState, TaskStatus);

impl Col for Risk {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        Self::from_value(&Json::from_cell(cell)?).map_err(|error| error.to_string())
    }
}

row!(Task {
    id,
    org_id,
    project_id,
    author_id,
    slug,
    path,
    state,
    status,
    revision,
    content_hash,
    version,
    task_type,
    priority,
    assignee,
    due_at,
    tags,
    metadata,
    risk,
    preview,
    effect_hash,
    review_id,
    queue_rank,
    not_before,
    needs_attention,
    resubmitted_from,
    submitted_at,
    approved_at,
    applying_at,
    completed_at,
    ended_at,
    created_at,
    updated_at
});

statement!(
    GET: Task = "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, content_hash, \
                 version, task_type, priority, assignee, due_at, tags, metadata, risk, preview, effect_hash, \
                 review_id, queue_rank, not_before, needs_attention, resubmitted_from, submitted_at, \
                 approved_at, applying_at, completed_at, ended_at, created_at, updated_at FROM tasks WHERE org_id = $1 AND id = $2"
);
statement!(
    BY_SLUG: Task = "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, content_hash, \
                     version, task_type, priority, assignee, due_at, tags, metadata, risk, preview, effect_hash, \
                     review_id, queue_rank, not_before, needs_attention, resubmitted_from, submitted_at, \
                     approved_at, applying_at, completed_at, ended_at, created_at, updated_at FROM tasks \
                     WHERE NULLIF(org_id, NULL) = $1 AND project_id = $2 AND slug = $3"
);
statement!(
    GET_SHARED: Task = "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, \
                        content_hash, version, task_type, priority, assignee, due_at, tags, metadata, risk, \
                        preview, effect_hash, review_id, queue_rank, not_before, needs_attention, \
                        resubmitted_from, submitted_at, approved_at, applying_at, completed_at, ended_at, created_at, updated_at FROM tasks \
                        WHERE org_id = $1 AND id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: Task = "SELECT id, org_id, project_id, author_id, slug, path, state, status, revision, \
                        content_hash, version, task_type, priority, assignee, due_at, tags, metadata, risk, \
                        preview, effect_hash, review_id, queue_rank, not_before, needs_attention, \
                        resubmitted_from, submitted_at, approved_at, applying_at, completed_at, ended_at, created_at, updated_at FROM tasks \
                        WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    INSERT = "INSERT INTO tasks (id, org_id, project_id, author_id, slug, path, state, status, revision, \
              content_hash, version, task_type, priority, assignee, due_at, tags, metadata, risk, preview, \
              effect_hash, review_id, queue_rank, not_before, needs_attention, resubmitted_from, submitted_at, \
              approved_at, applying_at, completed_at, ended_at, created_at, updated_at, risk_score) VALUES \
              ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
              $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33)"
);
statement!(
    TOUCH = "UPDATE tasks SET version = $1, updated_at = $2 WHERE org_id = $3 AND id = $4 AND version = $5"
);
statement!(
    ADVANCE = "UPDATE tasks SET state = $1, status = $2, version = $3, risk = $4, risk_score = $5, preview = \
               $6, effect_hash = $7, review_id = $8, not_before = $9, needs_attention = $10, submitted_at = \
               $11, approved_at = $12, applying_at = $13, completed_at = $14, ended_at = $15, updated_at = $16 \
               WHERE org_id = $17 AND id = $18 AND version = $19"
);
statement!(
    MOVE = "UPDATE tasks SET state = $1, version = $2, risk = $3, risk_score = $4, preview = $5, effect_hash = $6, \
            review_id = $7, not_before = $8, needs_attention = $9, submitted_at = $10, approved_at = $11, \
            applying_at = $12, updated_at = $13 WHERE org_id = $14 AND id = $15 AND version = $16"
);
statement!(
    DESCRIBE = "UPDATE tasks SET project_id = $1, slug = $2, path = $3, revision = $4, content_hash = $5, \
                task_type = $6, priority = $7, queue_rank = $8, assignee = $9, due_at = $10, tags = $11, \
                metadata = $12, resubmitted_from = $13, updated_at = $14 WHERE org_id = $15 AND id = $16 AND \
                version = $17"
);
statement!(DELETE = "DELETE FROM tasks WHERE org_id = $1 AND id = $2 AND version = $3");
statement!(
    TAG = "INSERT INTO task_tags (org_id, tag, created_at, task_id, updated_at) VALUES ($1, $2, $3, $4, $5)"
);
statement!(UNTAG = "DELETE FROM task_tags WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2");
statement!(
    TOUCHES = "INSERT INTO task_resources (org_id, resource, created_at, task_id, updated_at) \
               VALUES ($1, $2, $3, $4, $5)"
);
statement!(LEAVES = "DELETE FROM task_resources WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2");

struct Count {
    count: i64,
}
row!(Count { count });
struct Any {
    any_row: bool,
}
row!(Any { any_row });
statement!(
    COUNT_OPEN: Count = "SELECT count(*) AS count FROM tasks WHERE org_id = $1 AND author_id = $2 \
                         AND ended_at IS NULL"
);
statement!(
    COUNT_ALL_OPEN: Count = "SELECT count(*) AS count FROM (SELECT 1 FROM tasks WHERE org_id = $1 \
                             AND ended_at IS NULL LIMIT $2) AS counted"
);
statement!(
    ANY_BEYOND_DRAFT: Any = "SELECT EXISTS (SELECT 1 FROM tasks WHERE NULLIF(org_id, NULL) = $1 AND project_id = $2 \
                             AND state <> 'DRAFT') AS any_row"
);

/// The task.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Task>) -> Result<Option<Task>> {
    tx.opt(&GET, args![org, id]).await
}

/// The task of this short name in the project.
pub async fn by_slug(
    tx: &mut Tx,
    org: Id<Organization>,
    project: Id<Project>,
    slug: &str,
) -> Result<Option<Task>> {
    tx.opt(&BY_SLUG, args![org, project, slug]).await
}

/// The task, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, org: Id<Organization>, id: Id<Task>) -> Result<Option<Task>> {
    tx.opt(&GET_SHARED, args![org, id]).await
}

/// The task, for a unit that is about to decide about it.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Task>) -> Result<Option<Task>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// How many tasks of this author are not at their end.
pub async fn count_open(tx: &mut Tx, task: &Task) -> Result<i64> {
    Ok(tx.one(&COUNT_OPEN, args![task.org_id, task.author_id]).await?.count)
}

/// How many tasks of the organization are not at their end, counted no further than this.
pub async fn count_all_open(tx: &mut Tx, org: Id<Organization>, most: i64) -> Result<i64> {
    Ok(tx.one(&COUNT_ALL_OPEN, args![org, most]).await?.count)
}

/// Whether a task of the project is more than a draft.
pub async fn any_beyond_draft(tx: &mut Tx, project: &Project) -> Result<bool> {
    Ok(tx.one(&ANY_BEYOND_DRAFT, args![project.org_id, project.id]).await?.any_row)
}

/// Adds a task that touches these; its revision is added after it.
pub async fn insert(tx: &mut Tx, task: &Task, resources: &[Resource]) -> Result<()> {
    let (tags, metadata, risk) =
        (json!(task.tags), Json::Object(task.metadata.clone()), task.risk.to_value());
    let values = args![
        task.id,
        task.org_id,
        task.project_id,
        task.author_id,
        task.slug.as_deref(),
        task.path.as_deref(),
        task.state.as_str(),
        task.status.as_str(),
        task.revision,
        task.content_hash,
        task.version,
        &task.task_type,
        task.priority,
        task.assignee,
        task.due_at,
        &tags,
        &metadata,
        &risk,
        task.preview.as_ref(),
        task.effect_hash,
        task.review_id,
        task.queue_rank,
        task.not_before,
        task.needs_attention,
        task.resubmitted_from,
        task.submitted_at,
        task.approved_at,
        task.applying_at,
        task.completed_at,
        task.ended_at,
        task.created_at,
        task.updated_at,
        i64::from(task.risk.score),
    ];
    tx.push(&INSERT, values).await?;
    tag(tx, task).await?;
    touch_resources(tx, task, resources).await
}

async fn tag(tx: &mut Tx, task: &Task) -> Result<()> {
    for tag in &task.tags {
        tx.push(&TAG, args![task.org_id, tag, task.created_at, task.id, task.updated_at]).await?;
    }
    Ok(())
}

async fn touch_resources(tx: &mut Tx, task: &Task, resources: &[Resource]) -> Result<()> {
    for resource in resources {
        let values = args![task.org_id, resource.name(), task.created_at, task.id, task.updated_at];
        tx.push(&TOUCHES, values).await?;
    }
    Ok(())
}

/// Replaces what the task is found by when somebody looks for a resource.
pub async fn set_resources(tx: &mut Tx, task: &Task, resources: &[Resource]) -> Result<()> {
    tx.push(&LEAVES, args![task.org_id, task.id]).await?;
    touch_resources(tx, task, resources).await
}

/// Writes what is different, if nobody else changed the task meanwhile. `after.version` must be a later one.
///
/// Most decisions change little of a task, and what is not written need not be moved in any index.
pub async fn save(tx: &mut Tx, before: &Task, after: &Task) -> Result<()> {
    let version = before.version;
    if !same_description(before, after) {
        describe(tx, after, version).await?;
        if before.tags != after.tags {
            tx.push(&UNTAG, args![after.org_id, after.id]).await?;
            tag(tx, after).await?;
        }
    }
    if same_life(before, after) {
        let values = args![after.version, after.updated_at, after.org_id, after.id, version];
        return tx.change_one(&TOUCH, values, "a task").await;
    }
    if same_end(before, after) {
        return move_on(tx, after, version).await;
    }
    advance(tx, after, version).await
}

fn same_description(before: &Task, after: &Task) -> bool {
    let said = |task: &Task| {
        (
            (task.project_id, task.revision, task.content_hash, task.priority, task.queue_rank),
            (task.assignee, task.due_at, task.slug.clone(), task.path.clone(), task.task_type.clone()),
            task.resubmitted_from,
        )
    };
    said(before) == said(after) && before.tags == after.tags && before.metadata == after.metadata
}

fn same_life(before: &Task, after: &Task) -> bool {
    let lived = |task: &Task| {
        (
            (
                task.state,
                task.status,
                task.effect_hash,
                task.review_id,
                task.not_before,
                task.needs_attention,
            ),
            (task.submitted_at, task.approved_at, task.applying_at, task.completed_at, task.ended_at),
        )
    };
    lived(before) == lived(after) && before.risk == after.risk && before.preview == after.preview
}

/// Most steps of a task end nothing and leave the planner's view as it is; both are in many indexes.
fn same_end(before: &Task, after: &Task) -> bool {
    let end = |task: &Task| (task.status, task.completed_at, task.ended_at);
    end(before) == end(after)
}

async fn describe(tx: &mut Tx, task: &Task, version: i64) -> Result<()> {
    let (tags, metadata) = (json!(task.tags), Json::Object(task.metadata.clone()));
    let values = args![
        task.project_id,
        task.slug.as_deref(),
        task.path.as_deref(),
        task.revision,
        task.content_hash,
        &task.task_type,
        task.priority,
        task.queue_rank,
        task.assignee,
        task.due_at,
        &tags,
        &metadata,
        task.resubmitted_from,
        task.updated_at,
        task.org_id,
        task.id,
        version,
    ];
    tx.change_one(&DESCRIBE, values, "a task").await
}

async fn move_on(tx: &mut Tx, task: &Task, version: i64) -> Result<()> {
    let values = args![
        task.state.as_str(),
        task.version,
        &task.risk.to_value(),
        i64::from(task.risk.score),
        task.preview.as_ref(),
        task.effect_hash,
        task.review_id,
        task.not_before,
        task.needs_attention,
        task.submitted_at,
        task.approved_at,
        task.applying_at,
        task.updated_at,
        task.org_id,
        task.id,
        version,
    ];
    tx.change_one(&MOVE, values, "a task").await
}

async fn advance(tx: &mut Tx, task: &Task, version: i64) -> Result<()> {
    let values = args![
        task.state.as_str(),
        task.status.as_str(),
        task.version,
        &task.risk.to_value(),
        i64::from(task.risk.score),
        task.preview.as_ref(),
        task.effect_hash,
        task.review_id,
        task.not_before,
        task.needs_attention,
        task.submitted_at,
        task.approved_at,
        task.applying_at,
        task.completed_at,
        task.ended_at,
        task.updated_at,
        task.org_id,
        task.id,
        version,
    ];
    tx.change_one(&ADVANCE, values, "a task").await
}

/// Deletes a task as it was read; its revisions, edges, comments, tags and resources go with it.
pub async fn delete(tx: &mut Tx, task: &Task) -> Result<()> {
    tx.change_one(&DELETE, args![task.org_id, task.id, task.version], "a task").await
}
