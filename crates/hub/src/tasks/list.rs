//! Finding tasks.

use domain::Id;
use domain::permissions::Capability;
use domain::tasks::Task;
use records::tasks::{self, Filter};

use super::{Seen, known, seen, seen_all};
use crate::{Caller, Hub, HubError};

/// One task.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Task>) -> Result<Seen, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let task = known(tx, caller.credential.organization.id, *id).await?;
                seen(tx, caller, task).await
            })
        })
        .await
}

/// Tasks, newest first.
pub async fn list(hub: &Hub, caller: &Caller, filter: Filter, limit: i64) -> Result<Vec<Seen>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), filter, limit);
    hub.records
        .read(input, |tx, (caller, filter, limit)| {
            Box::pin(async move {
                let found = tasks::list(tx, caller.credential.organization.id, filter, *limit).await?;
                seen_all(tx, caller, found).await
            })
        })
        .await
}
