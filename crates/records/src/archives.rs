//! Archives, and which finished tasks are to go there.

use domain::archives::{Archive, ArchivedTask};
use domain::organizations::Organization;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

row!(Archive {
    id,
    org_id,
    blob_id,
    audit_id,
    tasks,
    approvals,
    bytes,
    sha256,
    first_ended_at,
    last_ended_at,
    created_at
});
row!(ArchivedTask { task_id, org_id, archive_id, line_offset, line_bytes, created_at });

/// A task that may have to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// The task.
    pub id: Id<Task>,
    /// When it ended.
    pub ended_at: Timestamp,
}
row!(Due { id, ended_at });

struct Any {
    any_row: bool,
}
row!(Any { any_row });

statement!(
    INSERT = "INSERT INTO archives (id, org_id, blob_id, audit_id, tasks, approvals, bytes, sha256, first_ended_at, \
              last_ended_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)"
);
statement!(
    INSERT_TASK = "INSERT INTO archived_tasks (task_id, org_id, archive_id, line_offset, line_bytes, created_at, \
                   updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)"
);
statement!(
    GET: Archive = "SELECT id, org_id, blob_id, audit_id, tasks, approvals, bytes, sha256, first_ended_at, \
                    last_ended_at, created_at FROM archives WHERE org_id = $1 AND id = $2"
);
statement!(
    LIST: Archive = "SELECT id, org_id, blob_id, audit_id, tasks, approvals, bytes, sha256, first_ended_at, \
                     last_ended_at, created_at FROM archives WHERE org_id = $1"
                    and ["(created_at, id) < (?, ?)"]
                    then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    GET_TASK: ArchivedTask = "SELECT task_id, org_id, archive_id, line_offset, line_bytes, created_at \
                              FROM archived_tasks WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2"
);
// What others point at is left out here so that it need not be looked at one by one; the rule decides again.
statement!(
    DUE: Due = "SELECT t.id, t.ended_at FROM tasks t WHERE t.org_id = $1 AND t.ended_at IS NOT NULL AND \
                (t.ended_at, t.id) < ($2, $3) AND \
                NOT EXISTS (SELECT 1 FROM task_dependencies d WHERE d.depends_on_task_id = t.id) AND \
                NOT EXISTS (SELECT 1 FROM tasks r WHERE r.resubmitted_from = t.id) \
                ORDER BY t.ended_at DESC, t.id DESC LIMIT $4"
);
statement!(
    IS_NEEDED: Any = "SELECT EXISTS (SELECT 1 FROM task_dependencies WHERE NULLIF(org_id, NULL) = $1 AND \
                      depends_on_task_id = $2) OR EXISTS (SELECT 1 FROM tasks WHERE NULLIF(org_id, NULL) = $1 AND \
                      resubmitted_from = $2) AS any_row"
);

/// A place in a list of archives, newest first.
pub type After = (Timestamp, Uuid);

/// Adds an archive whose blob is there already.
pub async fn insert(tx: &mut Tx, archive: &Archive) -> Result<()> {
    let values = args![
        archive.id,
        archive.org_id,
        archive.blob_id,
        archive.audit_id,
        archive.tasks,
        archive.approvals,
        archive.bytes,
        archive.sha256,
        archive.first_ended_at,
        archive.last_ended_at,
        archive.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// Notes where a task went.
pub async fn insert_task(tx: &mut Tx, task: &ArchivedTask) -> Result<()> {
    let values = args![
        task.task_id,
        task.org_id,
        task.archive_id,
        task.line_offset,
        task.line_bytes,
        task.created_at,
    ];
    tx.push(&INSERT_TASK, values).await
}

/// The archive.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Archive>) -> Result<Option<Archive>> {
    tx.opt(&GET, args![org, id]).await
}

/// Archives of the organization, newest first.
pub async fn list(
    tx: &mut Tx,
    org: Id<Organization>,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Archive>> {
    let mut search = LIST.with(args![org]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// Where a task went, if it is archived.
pub async fn get_task(tx: &mut Tx, org: Id<Organization>, task: Id<Task>) -> Result<Option<ArchivedTask>> {
    tx.opt(&GET_TASK, args![org, task]).await
}

/// Tasks that nobody points at and that ended before this place, the last first: what was made from a task, or waited
/// for it, mostly ended after it and must leave before it.
pub async fn due(
    db: &Db,
    org: Id<Organization>,
    (ended_at, id): (Timestamp, Id<Task>),
    limit: i64,
) -> Result<Vec<Due>> {
    db.all(&DUE, args![org, ended_at, id, limit]).await
}

/// Whether a task that is still here waited for it, or was made from it. Whoever asks has locked the task, so nobody
/// begins to.
pub async fn is_needed(tx: &mut Tx, task: &Task) -> Result<bool> {
    Ok(tx.one(&IS_NEEDED, args![task.org_id, task.id]).await?.any_row)
}
