//! How reviewers keep up.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

struct Count {
    count: i64,
}
row!(Count { count });
statement!(
    COUNT_PENDING: Count = "SELECT count(*) AS count FROM approvals WHERE org_id = $1 AND reviewer_id = $2 AND \
                            status = 'PENDING'"
);

/// What somebody answered, summed up.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// How many times yes.
    pub approved: i64,
    /// How many times no, or not like this.
    pub rejected: i64,
    /// How long all answers took.
    pub total_micros: i64,
    /// When the last one was given.
    pub last_at: Option<Timestamp>,
}
row!(Answered { approved, rejected, total_micros, last_at });
statement!(
    ANSWERED: Answered = lite "SELECT count(*) FILTER (WHERE response_action = 'approve') AS approved, \
                         count(*) FILTER (WHERE response_action <> 'approve') AS rejected, \
                         COALESCE(SUM(responded_at - created_at), 0) AS total_micros, \
                         MAX(responded_at) AS last_at FROM approvals \
                         WHERE org_id = $1 AND reviewer_id = $2 AND responded_at >= $3",
                         pg "SELECT count(*) FILTER (WHERE response_action = 'approve') AS approved, \
                         count(*) FILTER (WHERE response_action <> 'approve') AS rejected, \
                         COALESCE(CAST(SUM(EXTRACT(EPOCH FROM responded_at - created_at)) * 1000000 AS BIGINT), 0) \
                         AS total_micros, MAX(responded_at) AS last_at FROM approvals \
                         WHERE org_id = $1 AND reviewer_id = $2 AND responded_at >= $3"
);

/// How many requests wait for somebody.
pub async fn count_pending(tx: &mut Tx, org: Id<Organization>, reviewer: Id<Account>) -> Result<i64> {
    Ok(tx.one(&COUNT_PENDING, args![org, reviewer]).await?.count)
}

/// What somebody answered since then.
pub async fn answered_since(
    tx: &mut Tx,
    org: Id<Organization>,
    reviewer: Id<Account>,
    since: Timestamp,
) -> Result<Answered> {
    tx.one(&ANSWERED, args![org, reviewer, since]).await
}
