//! Grants: what the gate takes attempts from.

use domain::grants::{Basis, Grant, PolicyVersion, Skip};
use domain::organizations::Organization;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::{Value as Json, json};

use crate::row::{Cell, Col};
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(Basis);
row!(Grant {
    id,
    org_id,
    task_id,
    review_id,
    revision,
    content_hash,
    effect_hash,
    policy_versions,
    basis,
    attempts,
    attempts_started,
    valid_until,
    skip,
    voided_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO grants (id, org_id, task_id, review_id, revision, content_hash, effect_hash, \
              policy_versions, basis, attempts, attempts_started, valid_until, voided_at, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
);
statement!(
    STANDING: Grant = "SELECT id, org_id, task_id, review_id, revision, content_hash, effect_hash, policy_versions, \
                       basis, attempts, attempts_started, valid_until, skip, voided_at, created_at, updated_at \
                       FROM grants WHERE org_id = $1 AND task_id = $2 AND voided_at IS NULL"
);
statement!(
    STANDING_LOCKED: Grant = "SELECT id, org_id, task_id, review_id, revision, content_hash, effect_hash, \
                              policy_versions, basis, attempts, attempts_started, valid_until, skip, voided_at, \
                              created_at, updated_at FROM grants WHERE org_id = $1 AND task_id = $2 AND \
                              voided_at IS NULL", lock "FOR UPDATE"
);
statement!(
    OF_TASK: Grant = "SELECT id, org_id, task_id, review_id, revision, content_hash, effect_hash, policy_versions, \
                      basis, attempts, attempts_started, valid_until, skip, voided_at, created_at, updated_at FROM \
                      grants WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2 ORDER BY created_at, id LIMIT $3"
);
statement!(
    UPDATE = "UPDATE grants SET attempts_started = $1, skip = $2, voided_at = $3, updated_at = $4 \
              WHERE org_id = $5 AND id = $6 AND voided_at IS NULL"
);
statement!(
    STALE: OfTask = "SELECT org_id, task_id FROM grants WHERE voided_at IS NULL AND attempts_started = 0 AND \
                     valid_until <= $1 ORDER BY valid_until LIMIT $2"
);

/// Whose Grant it is.
#[derive(Clone, Copy, Debug)]
pub struct OfTask {
    /// Of which organization.
    pub org_id: Id<Organization>,
    /// Of which task.
    pub task_id: Id<Task>,
}
row!(OfTask { org_id, task_id });

/// A JSON list of `{policy_id, version}`.
impl Col for Vec<PolicyVersion> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let list: Vec<Json> = serde_json::from_str(cell.text()?).map_err(|error| error.to_string())?;
        let entry = |value: &Json| {
            let policy_id = value["policy_id"].as_str()?.parse().ok()?;
            Some(PolicyVersion { policy_id, version: value["version"].as_i64()? })
        };
        list.iter().map(entry).collect::<Option<_>>().ok_or_else(|| "no list of policy versions".to_owned())
    }
}

/// `{prerequisites, approval_id, signed_by, signed_at}`.
impl Col for Skip {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let value: Json = Col::from_cell(cell)?;
        let word = |name: &str| value[name].as_str();
        let read = || {
            let ids = value["prerequisites"].as_array()?.iter().map(|id| id.as_str()?.parse().ok());
            Some(Self {
                prerequisites: ids.collect::<Option<_>>()?,
                approval_id: word("approval_id")?.parse().ok()?,
                signed_by: word("signed_by")?.parse().ok()?,
                signed_at: word("signed_at")?.parse().ok()?,
            })
        };
        read().ok_or_else(|| "not what two admins signed".to_owned())
    }
}

fn stored(skip: &Skip) -> Json {
    json!({
        "prerequisites": skip.prerequisites.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "approval_id": skip.approval_id.to_string(), "signed_by": skip.signed_by.to_string(),
        "signed_at": skip.signed_at.to_string(),
    })
}

/// Writes a Grant, which skips nothing yet.
pub async fn insert(tx: &mut Tx, grant: &Grant) -> Result<()> {
    let version = |of: &PolicyVersion| json!({"policy_id": of.policy_id.to_string(), "version": of.version});
    let versions = Json::Array(grant.policy_versions.iter().map(version).collect());
    let values = args![
        grant.id,
        grant.org_id,
        grant.task_id,
        grant.review_id,
        grant.revision,
        grant.content_hash,
        grant.effect_hash,
        &versions,
        grant.basis.as_str(),
        i64::from(grant.attempts),
        i64::from(grant.attempts_started),
        grant.valid_until,
        grant.voided_at,
        grant.created_at,
        grant.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The Grant of the task that was not taken back.
pub async fn standing(tx: &mut Tx, org: Id<Organization>, task: Id<Task>) -> Result<Option<Grant>> {
    tx.opt(&STANDING, args![org, task]).await
}

/// The Grant of the task that was not taken back, for a unit that is about to use it or take it back.
pub async fn standing_locked(tx: &mut Tx, org: Id<Organization>, task: Id<Task>) -> Result<Option<Grant>> {
    tx.opt(&STANDING_LOCKED, args![org, task]).await
}

/// Grants of a task, the first first, also those that were taken back.
pub async fn of_task(tx: &mut Tx, org: Id<Organization>, task: Id<Task>, limit: i64) -> Result<Vec<Grant>> {
    tx.all(&OF_TASK, args![org, task, limit]).await
}

/// Grants of all organizations that were never used and are too old to be, the oldest first.
pub async fn stale(db: &Db, now: Timestamp, limit: i64) -> Result<Vec<OfTask>> {
    db.all(&STALE, args![now, limit]).await
}

/// Notes that an attempt began, that two admins signed what it need not wait for, or that the Grant was taken back.
pub async fn update(tx: &mut Tx, grant: &Grant) -> Result<()> {
    let skip = grant.skip.as_ref().map(stored);
    let values = args![
        i64::from(grant.attempts_started),
        skip.as_ref(),
        grant.voided_at,
        grant.updated_at,
        grant.org_id,
        grant.id
    ];
    tx.change_one(&UPDATE, values, "a grant").await
}
