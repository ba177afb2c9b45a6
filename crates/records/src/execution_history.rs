//! How executions of a type on a resource ended so far.

use domain::organizations::Organization;
use domain::risk::History;
use domain::{Id, Timestamp};
use serde_json::json;

use crate::{Result, Tx, args, row, statement};

struct Sums {
    runs: Option<i64>,
    failures: Option<i64>,
}
row!(Sums { runs, failures });

statement!(
    SUMS: Sums = lite "SELECT CAST(SUM(runs) AS INTEGER) AS runs, CAST(SUM(failures) AS INTEGER) AS failures \
                       FROM execution_history WHERE org_id = $1 AND task_type = $2 \
                       AND resource IN (SELECT value FROM json_each($3))",
                 pg "SELECT CAST(SUM(runs) AS BIGINT) AS runs, CAST(SUM(failures) AS BIGINT) AS failures \
                     FROM execution_history WHERE org_id = $1 AND task_type = $2 \
                     AND resource IN (SELECT value FROM jsonb_array_elements_text($3))"
);

statement!(
    NOTE = "INSERT INTO execution_history (org_id, task_type, resource, runs, failures, created_at, updated_at) \
            VALUES ($1, $2, $3, 1, $4, $5, $5) ON CONFLICT (org_id, task_type, resource) DO UPDATE SET \
            runs = execution_history.runs + 1, failures = execution_history.failures + excluded.failures, \
            updated_at = excluded.updated_at"
);

/// Notes how an execution of this type ended on a resource (`type:id`). Whoever does that has the claim on it.
pub async fn note(
    tx: &mut Tx,
    (org, task_type): (Id<Organization>, &str),
    resource: &str,
    has_failed: bool,
    now: Timestamp,
) -> Result<()> {
    tx.push(&NOTE, args![org, task_type, resource, i64::from(has_failed), now]).await
}

/// How executions of this type ended on these resources (`type:id`).
pub async fn of(
    tx: &mut Tx,
    org: Id<Organization>,
    task_type: &str,
    resources: &[String],
) -> Result<History> {
    let sums = tx.one(&SUMS, args![org, task_type, &json!(resources)]).await?;
    let counted = |sum: Option<i64>| sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or(0);
    Ok(History { runs: counted(sums.runs), failures: counted(sums.failures) })
}
