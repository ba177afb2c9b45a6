//! Finding executions.

use domain::executions::Execution;
use domain::permissions::Capability;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use records::executions;

use super::MISSING;
use crate::tasks::known;
use crate::{Caller, Hub, HubError};

/// One execution.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Execution>) -> Result<Execution, HubError> {
    caller.require(Capability::ExecutionsRead)?;
    let input = (caller.credential.organization.id, id);
    let found = hub.records.read(input, |tx, &(org, id)| Box::pin(executions::get(tx, org, id))).await?;
    found.ok_or(MISSING)
}

/// The executions of a task behind this place, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    after: Option<(Timestamp, Id<Execution>)>,
    limit: i64,
) -> Result<Vec<Execution>, HubError> {
    caller.require(Capability::ExecutionsRead)?;
    let input = (caller.credential.organization.id, task, after, limit);
    hub.records
        .read(input, |tx, &(org, task, after, limit)| {
            Box::pin(async move {
                known(tx, org, task).await?;
                Ok(executions::list(tx, (org, task), after, limit).await?)
            })
        })
        .await
}
