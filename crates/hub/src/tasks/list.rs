//! Finding tasks.

use domain::Id;
use domain::permissions::Capability;
use domain::projects::Project;
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

/// The task of this short name in a project; none if no task there is called so.
pub async fn by_slug(
    hub: &Hub,
    caller: &Caller,
    project: Id<Project>,
    slug: String,
) -> Result<Option<Id<Task>>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, project, slug);
    hub.records
        .read(input, |tx, (org, project, slug)| {
            Box::pin(async move {
                let found = tasks::by_slug(tx, *org, *project, slug).await?;
                Ok(found.map(|task| task.id))
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
