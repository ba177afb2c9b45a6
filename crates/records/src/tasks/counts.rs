//! How many tasks there are, up to a number that is enough to know. A count costs what it counts, so it ends there.

use domain::Id;
use domain::accounts::Account;
use domain::organizations::Organization;
use domain::tasks::{TaskState, TaskStatus};

use super::Count;
use crate::{Result, Tx, args, row, statement};

statement!(
    IN_STATE: Count = "SELECT count(*) AS count FROM (SELECT id FROM tasks WHERE org_id = $1 AND state = $2 \
                       LIMIT $3) AS few"
);
statement!(
    OF_STATUS: Count = "SELECT count(*) AS count FROM (SELECT id FROM tasks WHERE org_id = $1 AND status = $2 \
                        LIMIT $3) AS few"
);
statement!(
    NOT_ENDED: Count = "SELECT count(*) AS count FROM (SELECT id FROM tasks WHERE org_id = $1 AND status IN \
                        ('pending', 'in-progress', 'blocked') LIMIT $2) AS few"
);
statement!(
    OPEN_BY: Count = "SELECT count(*) AS count FROM (SELECT id FROM tasks WHERE org_id = $1 AND author_id = $2 AND \
                      ended_at IS NULL AND state = $3 LIMIT $4) AS few"
);

/// How many tasks have this risk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfLevel {
    /// Its level, on the wire.
    pub level: String,
    /// So many.
    pub count: i64,
}
row!(OfLevel { level, count });
statement!(
    BY_LEVEL: OfLevel = "SELECT level, count(*) AS count FROM (SELECT risk ->> 'level' AS level FROM tasks WHERE \
                         org_id = $1 AND state = $2 ORDER BY created_at, id LIMIT $3) AS few GROUP BY level"
);

/// How many there are in this state of each level, of those that were made first.
pub async fn by_level(
    tx: &mut Tx,
    org: Id<Organization>,
    state: TaskState,
    most: i64,
) -> Result<Vec<OfLevel>> {
    tx.all(&BY_LEVEL, args![org, state.as_str(), most]).await
}

/// Which tasks are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Those in this state.
    In(TaskState),
    /// Those of this status.
    Of(TaskStatus),
    /// Those that are not at their end.
    Open,
    /// Those of this author in this state, which is not one of an end.
    By(Id<Account>, TaskState),
}

/// How many there are, at most so many.
pub async fn count(tx: &mut Tx, org: Id<Organization>, which: Which, most: i64) -> Result<i64> {
    let counted = match which {
        Which::In(state) => tx.one(&IN_STATE, args![org, state.as_str(), most]).await?,
        Which::Of(status) => tx.one(&OF_STATUS, args![org, status.as_str(), most]).await?,
        Which::By(author, state) => tx.one(&OPEN_BY, args![org, author, state.as_str(), most]).await?,
        Which::Open => tx.one(&NOT_ENDED, args![org, most]).await?,
    };
    Ok(counted.count)
}
