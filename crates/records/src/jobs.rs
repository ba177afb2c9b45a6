//! The durable clock: what must happen when, claimed by compare-and-set.

use domain::Timestamp;
use domain::jobs::Job;

use crate::{Db, Result, Tx, args, row, statement};

row!(Job { kind, key, run_at, lease_until, owner, attempts, payload });

statement!(
    SCHEDULE = "INSERT INTO jobs (kind, key, run_at, attempts, payload, created_at, updated_at) \
                VALUES ($1, $2, $3, 0, $4, $5, $5) ON CONFLICT (kind, key) DO UPDATE SET run_at = excluded.run_at, \
                payload = excluded.payload, attempts = 0, lease_until = NULL, owner = NULL, last_error = NULL, \
                updated_at = excluded.updated_at"
);
statement!(
    SCHEDULE_IF_ABSENT = "INSERT INTO jobs (kind, key, run_at, attempts, payload, created_at, updated_at) \
                          VALUES ($1, $2, $3, 0, $4, $5, $5) ON CONFLICT (kind, key) DO NOTHING"
);
statement!(
    CLAIM: Job = "UPDATE jobs SET owner = $1, lease_until = $2, attempts = attempts + 1, updated_at = $3 \
                  WHERE (kind, key) IN (SELECT kind, key FROM (SELECT kind, key, due FROM (SELECT kind, key, run_at \
                  AS due FROM jobs WHERE lease_until IS NULL AND run_at <= $3 ORDER BY run_at LIMIT $4) AS waiting \
                  UNION ALL SELECT kind, key, due FROM (SELECT kind, key, lease_until AS due FROM jobs WHERE \
                  lease_until <= $3 ORDER BY lease_until LIMIT $4) AS lost) AS both_kinds ORDER BY due LIMIT $4) AND \
                  run_at <= $3 AND (lease_until IS NULL OR lease_until <= $3) \
                  RETURNING kind, key, run_at, lease_until, owner, attempts, payload"
);
statement!(DONE = "DELETE FROM jobs WHERE kind = $1 AND key = $2 AND owner = $3");
statement!(
    AGAIN = "UPDATE jobs SET run_at = $1, attempts = $2, lease_until = NULL, owner = NULL, last_error = $3, \
             updated_at = $4 WHERE kind = $5 AND key = $6 AND owner = $7"
);
statement!(
    HURRY = "UPDATE jobs SET run_at = $1, updated_at = $1 WHERE kind = $2 AND key = $3 AND (run_at > $1 OR \
             lease_until IS NOT NULL)"
);
statement!(
    REST = "UPDATE jobs SET run_at = CASE WHEN run_at = $1 THEN $2 ELSE run_at END, attempts = 0, lease_until = NULL, \
            owner = NULL, last_error = NULL, updated_at = $3 WHERE kind = $4 AND key = $5 AND owner = $6"
);
statement!(
    TAKE_BACK = "UPDATE jobs SET lease_until = NULL, owner = NULL, updated_at = $1 WHERE lease_until IS NOT NULL AND \
                 attempts < $2"
);
statement!(REMOVE = "DELETE FROM jobs WHERE kind = $1 AND key = $2");
statement!(
    GET: Job = "SELECT kind, key, run_at, lease_until, owner, attempts, payload FROM jobs WHERE kind = $1 AND key = $2"
);

struct Due {
    run_at: Option<Timestamp>,
}
row!(Due { run_at });
statement!(
    NEXT_DUE: Due = "SELECT MIN(due) AS run_at FROM (SELECT MIN(run_at) AS due FROM jobs WHERE lease_until IS NULL \
                     UNION ALL SELECT MIN(lease_until) AS due FROM jobs WHERE lease_until IS NOT NULL) AS both_kinds"
);

/// Sets a job's time, replacing what was set before; a run in progress can then no longer finish it.
pub async fn schedule(tx: &mut Tx, job: &Job, now: Timestamp) -> Result<()> {
    tx.push(&SCHEDULE, args![&job.kind, &job.key, job.run_at, &job.payload, now]).await
}

/// Sets a job's time unless it has one.
pub async fn schedule_if_absent(tx: &mut Tx, job: &Job, now: Timestamp) -> Result<()> {
    tx.push(&SCHEDULE_IF_ABSENT, args![&job.kind, &job.key, job.run_at, &job.payload, now]).await
}

/// Takes at most `limit` due jobs for `owner` until `lease_until`. A job is given to one owner at a time.
pub async fn claim(
    tx: &mut Tx,
    owner: &str,
    lease_until: Timestamp,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Job>> {
    tx.all(&CLAIM, args![owner, lease_until, now, limit]).await
}

/// Takes jobs from owners who are known to be gone, so that nobody waits for the end of what they were given. One that was
/// lost as often as `attempts_max` keeps its time: it may be what ends its owners. How many.
pub async fn take_back(tx: &mut Tx, attempts_max: i64, now: Timestamp) -> Result<u64> {
    tx.exec(&TAKE_BACK, args![now, attempts_max]).await
}

/// Removes a job that is done. False if somebody else has it by now.
pub async fn done(tx: &mut Tx, job: &Job) -> Result<bool> {
    Ok(tx.exec(&DONE, args![&job.kind, &job.key, job.owner.as_deref()]).await? == 1)
}

/// Gives a job back for a later time; `attempts` counts from there. False if somebody else has it by now.
pub async fn again(tx: &mut Tx, job: &Job, error: Option<&str>, now: Timestamp) -> Result<bool> {
    let values = args![job.run_at, job.attempts, error, now, &job.kind, &job.key, job.owner.as_deref()];
    Ok(tx.exec(&AGAIN, values).await? == 1)
}

/// Has a job run now. If it is running, it runs once more: it may have looked already at what it is told of.
pub async fn hurry(tx: &mut Tx, kind: &str, key: &str, now: Timestamp) -> Result<()> {
    tx.push(&HURRY, args![now, kind, key]).await
}

/// Gives a job back until `next`, unless it was told to hurry while it ran. False if somebody else has it by now.
pub async fn rest(tx: &mut Tx, job: &Job, next: Timestamp, now: Timestamp) -> Result<bool> {
    let values = args![job.run_at, next, now, &job.kind, &job.key, job.owner.as_deref()];
    Ok(tx.exec(&REST, values).await? == 1)
}

/// Removes a job, whoever has it.
pub async fn remove(tx: &mut Tx, kind: &str, key: &str) -> Result<()> {
    tx.exec(&REMOVE, args![kind, key]).await.map(drop)
}

/// The job, if it is set.
pub async fn get(tx: &mut Tx, kind: &str, key: &str) -> Result<Option<Job>> {
    tx.opt(&GET, args![kind, key]).await
}

/// When the next job is due.
pub async fn next_due(db: &Db) -> Result<Option<Timestamp>> {
    Ok(db.opt(&NEXT_DUE, args![]).await?.and_then(|due| due.run_at))
}
