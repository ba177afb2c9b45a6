//! Reviews: rounds of asking people about one revision.

use domain::Id;
use domain::organizations::Organization;
use domain::policies::Matched;
use domain::reviews::{Resolution, Review};
use domain::tasks::Task;
use serde_json::Value as Json;

use crate::row::{Cell, Col};
use crate::{Result, Tx, args, row, statement, text_column};

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
    resolution,
    resolved_at,
    resolved_by,
    created_at
});

statement!(
    INSERT = "INSERT INTO reviews (id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
              policies, resolution, resolved_at, resolved_by, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)"
);
statement!(
    GET: Review = "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                   policies, resolution, resolved_at, resolved_by, created_at FROM reviews \
                   WHERE org_id = $1 AND id = $2"
);
statement!(
    OF_TASK: Review = "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                       policies, resolution, resolved_at, resolved_by, created_at FROM reviews \
                       WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2 ORDER BY created_at, id LIMIT $3"
);
statement!(
    RESOLVE = "UPDATE reviews SET resolution = $1, resolved_at = $2, resolved_by = $3, updated_at = $2 \
               WHERE org_id = $4 AND id = $5"
);

/// A JSON list of what a review pinned.
impl Col for Vec<Matched> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let list: Vec<Json> = serde_json::from_str(cell.text()?).map_err(|error| error.to_string())?;
        list.iter().map(|pinned| Matched::from_value(pinned).map_err(|error| error.to_string())).collect()
    }
}

/// Writes a review.
pub async fn insert(tx: &mut Tx, review: &Review) -> Result<()> {
    let policies = Json::Array(review.policies.iter().map(Matched::to_value).collect());
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
