//! Reviews: rounds of asking people about one revision.

use domain::organizations::Organization;
use domain::policies::Matched;
use domain::reviews::{Escalation, PolicyClock, Resolution, Review};
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::Value as Json;

use crate::row::{Cell, Col};
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(Resolution);
row!(Review {
    id,
    org_id,
    task_id,
    revision,
    content_hash,
    effect_hash,
    risk_score,
    review_hash,
    policies,
    clocks,
    escalations,
    resolution,
    resolved_at,
    resolved_by,
    created_at
});

statement!(
    INSERT = "INSERT INTO reviews (id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
              policies, clocks, next_look_at, resolution, resolved_at, resolved_by, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)"
);
statement!(
    GET: Review = "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                   policies, clocks, escalations, resolution, resolved_at, resolved_by, created_at FROM reviews \
                   WHERE org_id = $1 AND id = $2"
);
statement!(
    THESE: Review = lite "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                    policies, clocks, escalations, resolution, resolved_at, resolved_by, created_at FROM reviews \
                    WHERE NULLIF(org_id, NULL) = $1 AND id IN (SELECT value FROM json_each($2))",
                    pg "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                    policies, clocks, escalations, resolution, resolved_at, resolved_by, created_at FROM reviews \
                    WHERE org_id = $1 AND id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);
statement!(
    OF_TASK: Review = "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                       policies, clocks, escalations, resolution, resolved_at, resolved_by, created_at FROM reviews \
                       WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2 ORDER BY created_at, id LIMIT $3"
);
statement!(
    RESOLVE = "UPDATE reviews SET resolution = $1, resolved_at = $2, resolved_by = $3, updated_at = $2 \
               WHERE org_id = $4 AND id = $5"
);

statement!(
    TIME = "UPDATE reviews SET clocks = $1, escalations = $2, next_look_at = $3, updated_at = $4 \
            WHERE org_id = $5 AND id = $6"
);
statement!(
    DUE: DueReview = "SELECT id, org_id, task_id, next_look_at FROM reviews WHERE resolution IS NULL AND \
                      next_look_at IS NOT NULL AND next_look_at <= $1 AND (next_look_at, id) > ($2, $3) ORDER BY next_look_at, id LIMIT $4"
);
statement!(
    NEXT_LOOK: NextLook = "SELECT MIN(next_look_at) AS next_look_at FROM reviews WHERE resolution IS NULL AND \
                           next_look_at IS NOT NULL"
);

/// An open review of which something is due.
#[derive(Clone, Copy, Debug)]
pub struct DueReview {
    /// Which.
    pub id: Id<Review>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Of which task.
    pub task_id: Id<Task>,
    /// Since when.
    pub next_look_at: Timestamp,
}
row!(DueReview { id, org_id, task_id, next_look_at });

struct NextLook {
    next_look_at: Option<Timestamp>,
}
row!(NextLook { next_look_at });

/// A JSON list, each of its members read alike.
fn list<T, E: std::fmt::Display>(
    cell: Cell<'_>,
    read: fn(&Json) -> std::result::Result<T, E>,
) -> std::result::Result<Vec<T>, String> {
    let list: Vec<Json> = serde_json::from_str(cell.text()?).map_err(|error| error.to_string())?;
    list.iter().map(|one| read(one).map_err(|error| error.to_string())).collect()
}

impl Col for Vec<Matched> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        list(cell, Matched::from_value)
    }
}

impl Col for Vec<PolicyClock> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        list(cell, PolicyClock::from_value)
    }
}

impl Col for Vec<Escalation> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        list(cell, Escalation::from_value)
    }
}

fn clocks(review: &Review) -> Json {
    review.clocks.iter().map(PolicyClock::to_value).collect()
}

/// Writes a review.
pub async fn insert(tx: &mut Tx, review: &Review) -> Result<()> {
    let policies = Json::Array(review.policies.iter().map(Matched::to_value).collect());
    let clocks = clocks(review);
    let values = args![
        review.id,
        review.org_id,
        review.task_id,
        review.revision,
        review.content_hash,
        review.effect_hash,
        i64::from(review.risk_score),
        review.review_hash,
        &policies,
        &clocks,
        review.next_look_at(),
        review.resolution.map(Resolution::as_str),
        review.resolved_at,
        review.resolved_by,
        review.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// The review.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Review>) -> Result<Option<Review>> {
    tx.opt(&GET, args![org, id]).await
}

/// Those of these reviews that there are, in no order.
pub async fn these(tx: &mut Tx, org: Id<Organization>, ids: &[Id<Review>]) -> Result<Vec<Review>> {
    let ids: Json = ids.iter().map(ToString::to_string).collect();
    tx.all(&THESE, args![org, &ids]).await
}

/// Reviews of a task, the first first.
pub async fn of_task(tx: &mut Tx, org: Id<Organization>, task: Id<Task>, limit: i64) -> Result<Vec<Review>> {
    tx.all(&OF_TASK, args![org, task, limit]).await
}

/// Notes how the review ended. Whoever does that has locked its task.
pub async fn resolve(tx: &mut Tx, review: &Review) -> Result<()> {
    let resolution = review.resolution.map(Resolution::as_str);
    let values = args![resolution, review.resolved_at, review.resolved_by, review.org_id, review.id];
    tx.change_one(&RESOLVE, values, "a review").await
}

/// Notes where its policies stand in time. Whoever does that has locked its task.
pub async fn set_clocks(tx: &mut Tx, review: &Review, now: Timestamp) -> Result<()> {
    let clocks = clocks(review);
    let escalations: Json = review.escalations.iter().map(Escalation::to_value).collect();
    let values = args![&clocks, &escalations, review.next_look_at(), now, review.org_id, review.id];
    tx.change_one(&TIME, values, "a review").await
}

/// Open reviews of which something is due, the longest due first, behind this one.
pub async fn due(
    db: &Db,
    now: Timestamp,
    (after, id): (Timestamp, Id<Review>),
    limit: i64,
) -> Result<Vec<DueReview>> {
    db.all(&DUE, args![now, after, id, limit]).await
}

/// When something is due next of any review.
pub async fn next_look(db: &Db) -> Result<Option<Timestamp>> {
    Ok(db.opt(&NEXT_LOOK, args![]).await?.and_then(|next| next.next_look_at))
}
