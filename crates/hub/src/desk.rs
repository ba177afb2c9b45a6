//! What waits, in numbers: what every page says beside what it is about.

use domain::permissions::Capability;
use records::{agents, approvals, events, tasks};

use crate::{Caller, Hub, HubError};

/// How far things are counted; beyond that a number tells nobody anything.
pub const COUNTED_MAX: i64 = 1000;

/// What waits in an organization, as one person sees it.
#[derive(Clone, Copy, Debug)]
pub struct Desk {
    /// Requests that wait for the caller; at most [`COUNTED_MAX`].
    pub requests: i64,
    /// Tasks that are not at their end; at most [`COUNTED_MAX`].
    pub open_tasks: i64,
    /// Agents that were not deactivated; at most [`COUNTED_MAX`].
    pub agents: i64,
    /// The event up to which this is true; whatever comes later has a larger number.
    pub seq: i64,
}

/// What waits now. What the caller may not see counts as nothing.
pub async fn desk(hub: &Hub, caller: &Caller) -> Result<Desk, HubError> {
    let credential = &caller.credential;
    let may = |capability| caller.capabilities.contains(capability);
    let sees = [Capability::ApprovalsRead, Capability::TasksRead, Capability::AgentsRead].map(may);
    let input = (credential.organization.id, credential.account.id, sees);
    hub.records
        .read(input, |tx, &(org, account, [sees_requests, sees_tasks, sees_agents])| {
            Box::pin(async move {
                // First, so that nothing that is shown is older than it.
                let seq = events::head_in(tx).await?;
                let mut desk = Desk { requests: 0, open_tasks: 0, agents: 0, seq };
                if sees_requests {
                    desk.requests = approvals::count_waiting(tx, org, account, COUNTED_MAX).await?;
                }
                if sees_tasks {
                    desk.open_tasks = tasks::count_all_open(tx, org, COUNTED_MAX).await?;
                }
                if sees_agents {
                    desk.agents = agents::count(tx, org, COUNTED_MAX).await?;
                }
                Ok(desk)
            })
        })
        .await
}
