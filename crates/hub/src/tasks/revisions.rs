//! What a task was to do at each time, and what is different.

use domain::Id;
use domain::canonical::read_canonical;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::tasks::diff::{Difference, differences};
use domain::tasks::{Revision, Task};
use records::Tx;
use records::task_revisions::{self, Listed};
use serde_json::Value;

use super::known;
use crate::{Caller, Hub, HubError};

/// Revisions of a task before this number, newest first.
pub async fn list_revisions(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Listed>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, task, before, limit);
    hub.records
        .read(input, |tx, &(org, task, before, limit)| {
            Box::pin(async move {
                known(tx, org, task).await?;
                Ok(task_revisions::list(tx, org, task, before, limit).await?)
            })
        })
        .await
}

/// One revision.
pub async fn get_revision(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    number: i64,
) -> Result<Revision, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, task, number);
    hub.records
        .read(input, |tx, &(org, task, number)| {
            Box::pin(async move {
                let found = task_revisions::get(tx, org, task, number).await?;
                found.ok_or(HubError::NotFound("revision"))
            })
        })
        .await
}

/// What is different between two revisions: without `to` the current one, without `from` the one before it.
pub async fn difference(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<(Revision, Revision, Vec<Difference>), HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, task, from, to);
    let read = hub.records.read(input, |tx, &(org, task, from, to)| {
        Box::pin(async move {
            let current = known(tx, org, task).await?;
            let to = to.unwrap_or(current.revision);
            let from = from.unwrap_or((to - 1).max(1));
            let from = numbered(tx, (org, task), from, "/from").await?;
            let to = numbered(tx, (org, task), to, "/to").await?;
            Ok::<_, HubError>((from, to))
        })
    });
    let (from, to) = read.await?;
    let found = differences(&config(&from)?, &config(&to)?);
    Ok((from, to, found))
}

async fn numbered(
    tx: &mut Tx,
    (org, task): (Id<Organization>, Id<Task>),
    number: i64,
    pointer: &str,
) -> Result<Revision, HubError> {
    let found = task_revisions::get(tx, org, task, number).await?;
    found.ok_or_else(|| HubError::field(pointer, format!("there is no revision {number} of this task")))
}

fn config(revision: &Revision) -> Result<Value, HubError> {
    let damaged = || records::Error::BadRow { column: "config", reason: "not canonical JSON".to_owned() };
    Ok(read_canonical(&revision.config).ok_or_else(damaged)?)
}
