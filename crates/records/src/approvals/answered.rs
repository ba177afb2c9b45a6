//! What somebody has answered.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::Approval;
use domain::organizations::Organization;

use super::ApprovalRow;
use crate::{Result, Tx, args, statement};

statement!(
    ANSWERED: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, \
                        acknowledged_at, responded_at, response_action, response_reason, reviewed_by, behind, \
                        created_at, updated_at FROM approvals WHERE org_id = $1 AND reviewer_id = $2 AND \
                        responded_at IS NOT NULL ORDER BY responded_at DESC, id DESC LIMIT $3"
);

/// The latest answers to requests of this account, the newest first.
pub async fn answered(
    tx: &mut Tx,
    org: Id<Organization>,
    reviewer: Id<Account>,
    limit: i64,
) -> Result<Vec<Approval>> {
    let found = tx.all(&ANSWERED, args![org, reviewer, limit]).await?;
    Ok(found.into_iter().map(Approval::from).collect())
}
