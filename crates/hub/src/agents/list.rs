//! Finding agents.

use domain::Id;
use domain::accounts::Account;
use domain::permissions::Capability;
use records::agents::{self, Filter};

use super::{MISSING, Seen, seen, workloads};
use crate::{Caller, Hub, HubError};

/// One agent, also a retired one.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Seen, HubError> {
    caller.require(Capability::AgentsRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let org = caller.credential.organization.id;
                let agent = agents::get(tx, org, *id).await?.ok_or(MISSING)?;
                seen(tx, caller, agent).await
            })
        })
        .await
}

/// Agents, newest first.
pub async fn list(hub: &Hub, caller: &Caller, filter: Filter, limit: i64) -> Result<Vec<Seen>, HubError> {
    caller.require(Capability::AgentsRead)?;
    let input = (caller.clone(), filter, limit);
    hub.records
        .read(input, |tx, (caller, filter, limit)| {
            Box::pin(async move {
                let org = caller.credential.organization.id;
                let found = agents::list(tx, org, filter, *limit).await?;
                let workloads = workloads(tx, &found).await?;
                let pairs = found.into_iter().zip(workloads);
                Ok(pairs.map(|(agent, workload)| Seen::by(caller, agent, workload)).collect())
            })
        })
        .await
}
