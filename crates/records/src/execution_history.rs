//! How executions of a type on a resource ended so far.

use domain::Id;
use domain::organizations::Organization;
use domain::risk::History;
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
