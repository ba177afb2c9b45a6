//! What a task waits for, read and changed while its project is locked.

use std::collections::BTreeSet;

use domain::Id;
use domain::organizations::Organization;
use domain::projects::Project;
use domain::tasks::dependencies::{Edge, PREREQUISITES_MAX, Prerequisite, Wanted, check, is_blocked};
use domain::tasks::{Task, TaskState};
use records::{Tx, task_dependencies};
use uuid::Uuid;

use super::invalid;
use crate::HubError;
use crate::act::{Act, Deed};

/// Which task shall wait for which others.
pub(super) struct Asking<'a> {
    pub(super) task: Id<Task>,
    pub(super) is_new: bool,
    pub(super) project: Id<Project>,
    pub(super) depends_on: &'a [Id<Task>],
}

/// Refuses edges that may not be; otherwise where the prerequisites stand. Nobody changes them until the unit ends.
pub(super) async fn checked<T>(
    tx: &mut Tx,
    act: &Act<T>,
    asking: &Asking<'_>,
) -> Result<Vec<Prerequisite>, HubError> {
    let mut found = Vec::new();
    // More than there may be are not looked at one by one.
    let in_order: BTreeSet<Id<Task>> =
        asking.depends_on.iter().copied().take(PREREQUISITES_MAX + 1).collect();
    for id in in_order {
        found.extend(task_dependencies::candidate(tx, act.org(), asking.task, id).await?);
    }
    let below = match asking.is_new || asking.depends_on.is_empty() {
        true => Vec::new(),
        false => task_dependencies::below(tx, act.org(), asking.task).await?,
    };
    check(&Wanted {
        task: (!asking.is_new).then_some(asking.task),
        project: asking.project,
        depends_on: asking.depends_on,
        found: &found,
        below: &below,
    })
    .map_err(invalid)?;
    Ok(found)
}

/// Makes the edges of a task those that are wanted.
pub(super) async fn set<T>(
    tx: &mut Tx,
    act: &Act<T>,
    task: Id<Task>,
    (before, after): (&[Id<Task>], &[Id<Task>]),
) -> Result<(), HubError> {
    let edge = |depends_on: &Id<Task>| Edge { depends_on: *depends_on, dependent: task };
    for gone in before.iter().filter(|id| !after.contains(id)) {
        task_dependencies::delete(tx, act.org(), edge(gone)).await?;
    }
    for new in after.iter().filter(|id| !before.contains(id)) {
        let id: Id<Uuid> = act.hub.ids.id();
        task_dependencies::insert(tx, act.org(), (id.raw(), edge(new)), act.now).await?;
    }
    Ok(())
}

/// Whether something the task waits for is not done.
pub(crate) async fn is_waiting(tx: &mut Tx, act: &impl Deed, task: Id<Task>) -> Result<bool, HubError> {
    let waiting = prerequisites(tx, act.org(), task).await?;
    Ok(is_blocked(waiting.iter().map(|(_, state)| *state)))
}

/// What the task waits for, done or not.
pub(crate) async fn prerequisites(
    tx: &mut Tx,
    org: Id<Organization>,
    task: Id<Task>,
) -> Result<Vec<(Id<Task>, TaskState)>, HubError> {
    let waiting = task_dependencies::prerequisites(tx, org, &[task]).await?;
    Ok(waiting.iter().map(|waiting| (waiting.task_id, waiting.state)).collect())
}
