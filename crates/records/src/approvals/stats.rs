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
statement!(
    COUNT_WAITING: Count = "SELECT count(*) AS count FROM (SELECT id FROM approvals WHERE org_id = $1 AND \
                            reviewer_id = $2 AND status = 'PENDING' LIMIT $3) AS few"
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

/// What somebody has not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Who.
    pub reviewer_id: Id<Account>,
    /// How many requests.
    pub count: i64,
    /// Since when the first of them waits.
    pub oldest: Timestamp,
}
row!(Held { reviewer_id, count, oldest });
statement!(
    HELD: Held = "SELECT reviewer_id, count(*) AS count, MIN(created_at) AS oldest FROM (SELECT reviewer_id, created_at \
                  FROM approvals WHERE org_id = $1 AND status = 'PENDING' ORDER BY queue_rank, queue_due, id \
                  LIMIT $2) AS few GROUP BY reviewer_id"
);

/// Who holds requests that wait, of the first so many of them.
pub async fn held(tx: &mut Tx, org: Id<Organization>, most: i64) -> Result<Vec<Held>> {
    tx.all(&HELD, args![org, most]).await
}

/// How many requests wait for somebody.
pub async fn count_pending(tx: &mut Tx, org: Id<Organization>, reviewer: Id<Account>) -> Result<i64> {
    Ok(tx.one(&COUNT_PENDING, args![org, reviewer]).await?.count)
}

/// The same, counted no further than this.
pub async fn count_waiting(
    tx: &mut Tx,
    org: Id<Organization>,
    reviewer: Id<Account>,
    most: i64,
) -> Result<i64> {
    Ok(tx.one(&COUNT_WAITING, args![org, reviewer, most]).await?.count)
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

/// What somebody answered on one day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    /// Days since 1 January 1970, UTC.
    pub day: i64,
    /// How many times yes.
    pub approved: i64,
    /// How many times not like this.
    pub changes: i64,
    /// How many times no.
    pub rejected: i64,
}
row!(Day { day, approved, changes, rejected });
statement!(
    BY_DAY: Day = lite "SELECT responded_at / 86400000000 AS day, \
                        count(*) FILTER (WHERE response_action = 'approve') AS approved, \
                        count(*) FILTER (WHERE response_action = 'request_changes') AS changes, \
                        count(*) FILTER (WHERE response_action = 'reject') AS rejected FROM approvals \
                        WHERE org_id = $1 AND reviewer_id = $2 AND responded_at >= $3 GROUP BY 1 ORDER BY 1",
                  pg "SELECT CAST(floor(EXTRACT(EPOCH FROM responded_at) / 86400) AS BIGINT) AS day, \
                      count(*) FILTER (WHERE response_action = 'approve') AS approved, \
                      count(*) FILTER (WHERE response_action = 'request_changes') AS changes, \
                      count(*) FILTER (WHERE response_action = 'reject') AS rejected FROM approvals \
                      WHERE org_id = $1 AND reviewer_id = $2 AND responded_at >= $3 GROUP BY 1 ORDER BY 1"
);

/// The same day by day; days without an answer are left out.
pub async fn answered_by_day(
    tx: &mut Tx,
    org: Id<Organization>,
    reviewer: Id<Account>,
    since: Timestamp,
) -> Result<Vec<Day>> {
    tx.all(&BY_DAY, args![org, reviewer, since]).await
}
