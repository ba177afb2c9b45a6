//! What waits for somebody, with all that lists say about it.

use std::collections::BTreeMap;

use domain::Id;
use domain::approvals::{Approval, ApprovalStatus};
use domain::permissions::Capability;
use domain::tasks::Task;
use records::approvals::{Filter, list};
use records::{Tx, agents, task_dependencies, tasks as task_rows};

use crate::tasks::{Seen, seen_all};
use crate::{Caller, Hub, HubError, settings};

/// What waits for the caller.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// In the order of the queue.
    pub waiting: Vec<Waiting>,
    /// Whether several may be answered at once.
    pub batches: bool,
}

/// One request that waits, with its task.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The request.
    pub approval: Approval,
    /// Its task.
    pub task: Seen,
    /// How many tasks wait for that.
    pub blocks: usize,
    /// Whether its author is an agent.
    pub by_agent: bool,
}

/// The first requests that wait for the caller.
pub async fn inbox(hub: &Hub, caller: &Caller, limit: i64) -> Result<Inbox, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), limit);
    hub.records.read(input, |tx, (caller, limit)| Box::pin(whole(tx, caller, *limit))).await
}

async fn whole(tx: &mut Tx, caller: &Caller, limit: i64) -> Result<Inbox, HubError> {
    let org = caller.credential.organization.id;
    let filter = Filter {
        reviewer: Some(caller.credential.account.id),
        status: Some(ApprovalStatus::Pending),
        ..Filter::default()
    };
    let requests = list(tx, org, &filter, limit).await?;
    // Somebody may be asked twice about one task: for the review, and to sign an override.
    let mut found: BTreeMap<Id<Task>, Task> = BTreeMap::new();
    for request in &requests {
        if let Some(task) = task_rows::get(tx, org, request.task_id).await? {
            found.insert(task.id, task);
        }
    }
    let shown = seen_all(tx, caller, found.into_values().collect()).await?;
    let shown: BTreeMap<Id<Task>, Seen> = shown.into_iter().map(|seen| (seen.task.id, seen)).collect();
    let mut waiting = Vec::with_capacity(requests.len());
    for approval in requests {
        let Some(task) = shown.get(&approval.task_id).cloned() else { continue };
        let blocks = task_dependencies::dependents(tx, org, approval.task_id).await?.len();
        let by_agent = agents::get(tx, org, task.task.author_id).await?.is_some();
        waiting.push(Waiting { approval, task, blocks, by_agent });
    }
    Ok(Inbox { waiting, batches: settings::load(tx, org).await?.feature_batch_approvals })
}
