//! Revisions: immutable versions of what a task will do.

use domain::accounts::Account;
use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::reviews::Review;
use domain::tasks::{Provenance, Revision, Task};
use domain::{Id, Timestamp};
use serde_json::json;

use crate::row::{Cell, Col};
use crate::value::Value;
use crate::{Result, Tx, args, row, statement};

/// A JSON list of ids.
impl Col for Provenance {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        Vec::<Id<Account>>::from_cell(cell).map(Self::from_iter)
    }
}

row!(Revision { id, task_id, number, config, content_hash, edited_by, provenance, created_at });

/// A revision without its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// From 1.
    pub number: i64,
    /// The hash of its bytes.
    pub content_hash: Sha256Hash,
    /// Who wrote it.
    pub edited_by: Id<Account>,
    /// When it was written.
    pub created_at: Timestamp,
}
row!(Listed { number, content_hash, edited_by, created_at });

/// The bytes of a task's current revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Current {
    /// Of which task.
    pub task_id: Id<Task>,
    /// The RFC 8785 bytes of the config.
    pub config: Vec<u8>,
    /// What people call its author.
    pub author_name: String,
}
row!(Current { task_id, config, author_name });

/// Who had a hand in what is reviewed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reviewed {
    /// In which review.
    pub review_id: Id<Review>,
    /// Who.
    pub provenance: Provenance,
}
row!(Reviewed { review_id, provenance });

statement!(
    INSERT = "INSERT INTO task_revisions (id, org_id, task_id, number, config, content_hash, edited_by, provenance, \
              created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)"
);
statement!(
    GET: Revision = "SELECT id, task_id, number, config, content_hash, edited_by, provenance, created_at \
                     FROM task_revisions WHERE org_id = $1 AND task_id = $2 AND number = $3"
);
statement!(
    LIST: Listed = "SELECT number, content_hash, edited_by, created_at FROM task_revisions \
                    WHERE org_id = $1 AND task_id = $2"
                   and ["number < ?"]
                   then "ORDER BY number DESC LIMIT ?"
);
statement!(
    ALL: Revision = "SELECT id, task_id, number, config, content_hash, edited_by, provenance, created_at \
                     FROM task_revisions WHERE org_id = $1 AND task_id = $2 ORDER BY number LIMIT $3"
);
statement!(
    CURRENT: Current =
        lite "SELECT t.id AS task_id, v.config, a.display_name AS author_name FROM tasks t \
              JOIN task_revisions v ON v.task_id = t.id AND v.number = t.revision JOIN accounts a ON a.id = t.author_id \
              WHERE NULLIF(t.org_id, NULL) = $1 AND t.id IN (SELECT value FROM json_each($2))",
        pg "SELECT t.id AS task_id, v.config, a.display_name AS author_name FROM tasks t \
            JOIN task_revisions v ON v.task_id = t.id AND v.number = t.revision JOIN accounts a ON a.id = t.author_id \
            WHERE t.org_id = $1 AND t.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

statement!(
    REVIEWED: Reviewed =
        lite "SELECT r.id AS review_id, v.provenance FROM reviews r JOIN task_revisions v ON v.task_id = r.task_id AND \
              v.number = r.revision WHERE NULLIF(r.org_id, NULL) = $1 AND r.id IN (SELECT value FROM json_each($2))",
        pg "SELECT r.id AS review_id, v.provenance FROM reviews r JOIN task_revisions v ON v.task_id = r.task_id AND \
            v.number = r.revision WHERE r.org_id = $1 AND \
            r.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

/// Adds a revision of a task that is there already.
pub async fn insert(tx: &mut Tx, org: Id<Organization>, revision: &Revision) -> Result<()> {
    let provenance: Vec<String> = revision.provenance.iter().map(|id| id.to_string()).collect();
    let values = args![
        revision.id,
        org,
        revision.task_id,
        revision.number,
        &revision.config,
        revision.content_hash,
        revision.edited_by,
        &json!(provenance),
        revision.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// A revision, whole.
pub async fn get(
    tx: &mut Tx,
    org: Id<Organization>,
    task: Id<Task>,
    number: i64,
) -> Result<Option<Revision>> {
    tx.opt(&GET, args![org, task, number]).await
}

/// Revisions of a task before this number, newest first.
pub async fn list(
    tx: &mut Tx,
    org: Id<Organization>,
    task: Id<Task>,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Listed>> {
    let mut search = LIST.with(args![org, task]);
    if let Some(before) = before {
        LIST.and(&mut search, "number < ?", args![before]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// What each of these tasks would do now, and who proposed it, in no order.
pub async fn current(tx: &mut Tx, org: Id<Organization>, tasks: &[Id<Task>]) -> Result<Vec<Current>> {
    let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    tx.all(&CURRENT, args![org, &json!(ids)]).await
}

/// Who had a hand in what each of these reviews is about, in no order.
pub async fn reviewed(tx: &mut Tx, org: Id<Organization>, reviews: &[Id<Review>]) -> Result<Vec<Reviewed>> {
    let ids: Vec<String> = reviews.iter().map(ToString::to_string).collect();
    tx.all(&REVIEWED, args![org, &json!(ids)]).await
}

/// Revisions of a task, whole, the first first.
pub async fn all(tx: &mut Tx, org: Id<Organization>, task: Id<Task>, limit: i64) -> Result<Vec<Revision>> {
    tx.all(&ALL, args![org, task, limit]).await
}
