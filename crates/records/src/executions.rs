//! Executions: attempts to apply tasks, and to undo them.

use domain::accounts::Account;
use domain::executions::{Execution, ExecutionResult, LockTaken, Outcome, Purpose, Rollback};
use domain::organizations::Organization;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::{Value as Json, json};

use crate::row::{Cell, Col};
use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(ExecutionResult, Outcome, Purpose, Rollback);
row!(Execution {
    id,
    org_id,
    task_id,
    grant_id,
    purpose,
    attempt,
    agent_id,
    result,
    outcome,
    rollback,
    error,
    error_details,
    locks,
    last_heartbeat,
    lease_until,
    deadline_at,
    output_id,
    output_size,
    output_tail,
    progress_percent,
    progress_message,
    ended_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO executions (id, org_id, task_id, grant_id, purpose, attempt, agent_id, rollback, locks, \
              last_heartbeat, lease_until, deadline_at, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
);
statement!(
    GET: Execution = "SELECT id, org_id, task_id, grant_id, purpose, attempt, agent_id, result, outcome, rollback, \
                      error, error_details, locks, last_heartbeat, lease_until, deadline_at, output_id, \
                      output_size, output_tail, progress_percent, progress_message, \
                      ended_at, created_at, updated_at FROM executions \
                      WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_LOCKED: Execution = "SELECT id, org_id, task_id, grant_id, purpose, attempt, agent_id, result, outcome, \
                             rollback, error, error_details, locks, last_heartbeat, lease_until, deadline_at, \
                             output_id, output_size, output_tail, progress_percent, progress_message, \
                             ended_at, created_at, updated_at FROM executions \
                             WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    UNDONE_BY: Execution = "SELECT id, org_id, task_id, grant_id, purpose, attempt, agent_id, result, outcome, \
                            rollback, error, error_details, locks, last_heartbeat, lease_until, deadline_at, \
                            output_id, output_size, output_tail, progress_percent, progress_message, \
                            ended_at, created_at, updated_at FROM executions \
                            WHERE NULLIF(org_id, NULL) = $1 AND grant_id = $2 AND purpose = 'apply' AND attempt = $3",
    lock "FOR UPDATE"
);
statement!(
    UPDATE = "UPDATE executions SET result = $1, outcome = $2, rollback = $3, error = $4, error_details = $5, \
              last_heartbeat = $6, lease_until = $7, deadline_at = $8, output_id = $9, output_size = $10, \
              output_tail = $11, ended_at = $12, updated_at = $13, progress_percent = $14, progress_message = $15 \
              WHERE org_id = $16 AND id = $17"
);
statement!(
    LIST: Execution = "SELECT id, org_id, task_id, grant_id, purpose, attempt, agent_id, result, outcome, rollback, \
                       error, error_details, locks, last_heartbeat, lease_until, deadline_at, output_id, \
                       output_size, output_tail, progress_percent, progress_message, \
                       ended_at, created_at, updated_at FROM executions \
                       WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2"
                      and ["(created_at, id) < (?, ?)"]
                      then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    LATEST: Execution =
        lite "SELECT e.id, e.org_id, e.task_id, e.grant_id, e.purpose, e.attempt, e.agent_id, e.result, e.outcome, \
              e.rollback, e.error, e.error_details, e.locks, e.last_heartbeat, e.lease_until, e.deadline_at, \
              e.output_id, e.output_size, e.output_tail, e.progress_percent, e.progress_message, \
              e.ended_at, e.created_at, e.updated_at FROM executions e \
              WHERE NULLIF(e.org_id, NULL) = $1 AND e.task_id IN (SELECT value FROM json_each($2)) AND NOT EXISTS \
              (SELECT 1 FROM executions l WHERE l.task_id = e.task_id AND (l.created_at, l.id) > (e.created_at, e.id))",
        pg "SELECT e.id, e.org_id, e.task_id, e.grant_id, e.purpose, e.attempt, e.agent_id, e.result, e.outcome, \
            e.rollback, e.error, e.error_details, e.locks, e.last_heartbeat, e.lease_until, e.deadline_at, \
            e.output_id, e.output_size, e.output_tail, e.progress_percent, e.progress_message, \
            e.ended_at, e.created_at, e.updated_at FROM executions e \
            WHERE e.org_id = $1 AND e.task_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) AND \
            NOT EXISTS (SELECT 1 FROM executions l WHERE l.task_id = e.task_id AND (l.created_at, l.id) > \
            (e.created_at, e.id))"
);
statement!(
    ASKED: Execution = "SELECT id, org_id, task_id, grant_id, purpose, attempt, agent_id, result, outcome, rollback, \
                        error, error_details, locks, last_heartbeat, lease_until, deadline_at, output_id, \
                        output_size, output_tail, progress_percent, progress_message, \
                        ended_at, created_at, updated_at FROM executions \
                        WHERE org_id = $1 AND rollback = 'asked' ORDER BY created_at, id LIMIT $2"
);
// Over all organizations, oldest first: a walk along the index of those that run, from its beginning.
statement!(
    OVERDUE: Overdue = "SELECT id, org_id, task_id, lease_until FROM executions WHERE ended_at IS NULL AND lease_until <= $1 AND \
                        (lease_until, id) > ($2, $3) ORDER BY lease_until, id LIMIT $4"
);

struct Running {
    agent_id: Id<Account>,
    count: i64,
}
row!(Running { agent_id, count });
statement!(
    RUNNING: Running =
        lite "SELECT agent_id, count(*) AS count FROM executions WHERE org_id = $1 AND agent_id IN (SELECT value FROM \
              json_each($2)) AND ended_at IS NULL GROUP BY agent_id",
        pg "SELECT agent_id, count(*) AS count FROM executions WHERE org_id = $1 AND agent_id IN (SELECT \
            CAST(value AS UUID) FROM jsonb_array_elements_text($2)) AND ended_at IS NULL GROUP BY agent_id"
);

/// An attempt whose agent was not heard in time.
#[derive(Clone, Copy, Debug)]
pub struct Overdue {
    /// Which.
    pub id: Id<Execution>,
    /// Of which organization.
    pub org_id: Id<Organization>,
    /// Of which task.
    pub task_id: Id<Task>,
    /// Until when its agent should have been heard.
    pub lease_until: Timestamp,
}
row!(Overdue { id, org_id, task_id, lease_until });

/// A JSON list of `{key, lock_id, fence, mode}`.
impl Col for Vec<LockTaken> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let list: Vec<Json> = serde_json::from_str(cell.text()?).map_err(|error| error.to_string())?;
        let entry = |value: &Json| {
            Some(LockTaken {
                key: value["key"].as_str()?.to_owned(),
                lock_id: value["lock_id"].as_str()?.parse().ok()?,
                fence: value["fence"].as_i64()?,
                mode: value["mode"].as_str()?.parse().ok()?,
            })
        };
        list.iter().map(entry).collect::<Option<_>>().ok_or_else(|| "no list of locks".to_owned())
    }
}

fn locks(execution: &Execution) -> Json {
    let one = |taken: &LockTaken| {
        json!({
            "key": taken.key, "lock_id": taken.lock_id.to_string(), "fence": taken.fence,
            "mode": taken.mode.as_str(),
        })
    };
    execution.locks.iter().map(one).collect()
}

/// Writes an attempt that begins.
pub async fn insert(tx: &mut Tx, execution: &Execution) -> Result<()> {
    let values = args![
        execution.id,
        execution.org_id,
        execution.task_id,
        execution.grant_id,
        execution.purpose.as_str(),
        i64::from(execution.attempt),
        execution.agent_id,
        execution.rollback.as_str(),
        &locks(execution),
        execution.last_heartbeat,
        execution.lease_until,
        execution.deadline_at,
        execution.created_at,
        execution.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The attempt.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Execution>) -> Result<Option<Execution>> {
    tx.opt(&GET, args![org, id]).await
}

/// The attempt, for a unit that is about to change it. Whoever decides about its task too has locked that first.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Execution>) -> Result<Option<Execution>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// The attempt that a rollback undoes, for a unit that is about to say how that ended.
pub async fn undone_by(tx: &mut Tx, rollback: &Execution) -> Result<Option<Execution>> {
    tx.opt(&UNDONE_BY, args![rollback.org_id, rollback.grant_id, i64::from(rollback.attempt)]).await
}

/// Writes what may change of an attempt that this unit has locked.
pub async fn update(tx: &mut Tx, execution: &Execution) -> Result<()> {
    let values = args![
        execution.result.map(ExecutionResult::as_str),
        execution.outcome.map(Outcome::as_str),
        execution.rollback.as_str(),
        execution.error.as_deref(),
        execution.error_details.as_ref(),
        execution.last_heartbeat,
        execution.lease_until,
        execution.deadline_at,
        execution.output_id,
        execution.output_size,
        &execution.output_tail,
        execution.ended_at,
        execution.updated_at,
        execution.progress_percent,
        execution.progress_message.as_deref(),
        execution.org_id,
        execution.id,
    ];
    tx.change_one(&UPDATE, values, "an execution").await
}

/// Attempts of a task behind this place, newest first.
pub async fn list(
    tx: &mut Tx,
    (org, task): (Id<Organization>, Id<Task>),
    after: Option<(Timestamp, Id<Execution>)>,
    limit: i64,
) -> Result<Vec<Execution>> {
    let mut search = LIST.with(args![org, task]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// The newest attempt of each of these tasks that has one, in no order.
pub async fn latest(tx: &mut Tx, org: Id<Organization>, tasks: &[Id<Task>]) -> Result<Vec<Execution>> {
    let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    tx.all(&LATEST, args![org, &json!(ids)]).await
}

/// Attempts that somebody asked to have undone, the oldest first.
pub async fn asked(tx: &mut Tx, org: Id<Organization>, limit: i64) -> Result<Vec<Execution>> {
    tx.all(&ASKED, args![org, limit]).await
}

/// How many attempts of each of these agents run.
pub async fn running(
    tx: &mut Tx,
    org: Id<Organization>,
    agents: &[Id<Account>],
) -> Result<Vec<(Id<Account>, i64)>> {
    let ids: Vec<String> = agents.iter().map(ToString::to_string).collect();
    let counts = tx.all(&RUNNING, args![org, &json!(ids)]).await?;
    Ok(counts.into_iter().map(|running| (running.agent_id, running.count)).collect())
}

/// Attempts of all organizations behind this place whose lease ended by then, the oldest lease first.
pub async fn overdue(
    db: &Db,
    until: Timestamp,
    after: (Timestamp, Id<Execution>),
    limit: i64,
) -> Result<Vec<Overdue>> {
    db.all(&OVERDUE, args![until, after.0, after.1, limit]).await
}
