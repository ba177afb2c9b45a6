//! The requests of several reviews, read at once.

use std::collections::BTreeMap;

use domain::Id;
use domain::approvals::Approval;
use domain::organizations::Organization;
use domain::reviews::Review;
use serde_json::Value as Json;

use super::ApprovalRow;
use crate::{Result, Tx, args, statement};

statement!(
    OF_REVIEWS: ApprovalRow = lite "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE NULLIF(org_id, NULL) = $1 AND review_id IN (SELECT value FROM \
                        json_each($2))",
                        pg "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE org_id = $1 AND review_id IN (SELECT CAST(value AS UUID) FROM \
                        jsonb_array_elements_text($2))"
);

/// All requests of each of these reviews, in the order of their ids.
pub async fn of_reviews(
    tx: &mut Tx,
    org: Id<Organization>,
    reviews: &[Id<Review>],
) -> Result<BTreeMap<Id<Review>, Vec<Approval>>> {
    let ids: Json = reviews.iter().map(ToString::to_string).collect();
    let mut found: Vec<Approval> =
        tx.all(&OF_REVIEWS, args![org, &ids]).await?.into_iter().map(Into::into).collect();
    found.sort_by_key(|approval| approval.id);
    let mut all: BTreeMap<Id<Review>, Vec<Approval>> = BTreeMap::new();
    for approval in found {
        all.entry(approval.review_id).or_default().push(approval);
    }
    Ok(all)
}
