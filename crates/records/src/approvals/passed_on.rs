//! Requests that moved: passed on, or escalated.

use domain::Id;
use domain::approvals::Approval;
use domain::organizations::Organization;
use serde_json::Value as Json;

use super::ApprovalRow;
use crate::{Result, Tx, args, statement};

statement!(
    PASS_ON = "UPDATE approvals SET status = $1, delegated_to = $2, delegation_chain = $3, routing = $4, \
               updated_at = $5 WHERE org_id = $6 AND id = $7"
);
statement!(
    REQUEUE = "UPDATE approvals SET priority = $1, score = $2, queue_rank = $3, queue_due = $4, due_at = $5, \
               serves = $6, updated_at = $7 WHERE org_id = $8 AND id = $9"
);
statement!(
    PASSED_ON: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, \
                        acknowledged_at, responded_at, response_action, response_reason, reviewed_by, behind, \
                        created_at, updated_at FROM approvals WHERE org_id = $1 AND status = 'DELEGATED' AND id > $2 \
                        AND EXISTS (SELECT 1 FROM reviews WHERE reviews.org_id = $1 AND reviews.id = review_id AND \
                        reviews.resolution IS NULL) ORDER BY id LIMIT $3"
);

/// Notes how the request was passed on, beside what was written of it.
pub async fn route(tx: &mut Tx, approval: &Approval) -> Result<()> {
    let chain = Json::from(approval.delegation_chain.iter().map(ToString::to_string).collect::<Vec<_>>());
    let routing = approval.routing.to_value();
    let values = args![
        approval.status.as_str(),
        approval.delegated_to,
        &chain,
        &routing,
        approval.updated_at,
        approval.org_id,
        approval.id,
    ];
    tx.change_one(&PASS_ON, values, "a request for review").await
}

/// Notes for what it is asked, how urgent it is and until when, beside what was written of it.
pub async fn requeue(tx: &mut Tx, approval: &Approval) -> Result<()> {
    let (queue_rank, queue_due, _) = super::place(approval);
    let serves = Json::from(approval.serves.clone());
    let values = args![
        approval.priority.as_str(),
        approval.score,
        queue_rank,
        queue_due,
        approval.due_at,
        &serves,
        approval.updated_at,
        approval.org_id,
        approval.id,
    ];
    tx.change_one(&REQUEUE, values, "a request for review").await
}

/// Requests of open reviews that were passed on, by id, behind this one.
pub async fn passed_on(
    tx: &mut Tx,
    org: Id<Organization>,
    after: Id<Approval>,
    limit: i64,
) -> Result<Vec<Approval>> {
    Ok(tx.all(&PASSED_ON, args![org, after, limit]).await?.into_iter().map(Into::into).collect())
}
