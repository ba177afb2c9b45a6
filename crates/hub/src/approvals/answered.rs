//! What somebody has answered, with what became of it.

use domain::approvals::Approval;
use domain::permissions::Capability;
use records::{Tx, approvals};

use crate::tasks::{Seen, seen_of};
use crate::{Caller, Hub, HubError};

/// A request that was answered, with its task as it is now.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The request.
    pub approval: Approval,
    /// Its task.
    pub task: Seen,
}

/// The caller's latest answers, the newest first. What was archived since is not among them.
pub async fn answered(hub: &Hub, caller: &Caller, limit: i64) -> Result<Vec<Answered>, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), limit);
    hub.records.read(input, |tx, (caller, limit)| Box::pin(whole(tx, caller, *limit))).await
}

async fn whole(tx: &mut Tx, caller: &Caller, limit: i64) -> Result<Vec<Answered>, HubError> {
    let credential = &caller.credential;
    let requests = approvals::answered(tx, credential.organization.id, credential.account.id, limit).await?;
    let shown = seen_of(tx, caller, requests.iter().map(|request| request.task_id).collect()).await?;
    let with_task = |approval: Approval| {
        let task = shown.get(&approval.task_id)?.clone();
        Some(Answered { approval, task })
    };
    Ok(requests.into_iter().filter_map(with_task).collect())
}
