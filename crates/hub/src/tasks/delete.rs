//! Taking a draft away.

use domain::Id;
use domain::permissions::Capability;
use domain::tasks::{Move, Task};
use records::{Tx, projects, task_dependencies, tasks};

use super::{facts, known, locked, record, require, writer};
use crate::act::Act;
use crate::{Caller, Hub, HubError};

/// Deletes a draft nobody waits for, with its revisions and comments. What was done is on record.
pub async fn delete(hub: &Hub, caller: &Caller, id: Id<Task>) -> Result<(), HubError> {
    caller.require(Capability::TasksWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Id<Task>>) -> Result<(), HubError> {
    let known = known(tx, act.org(), act.input).await?;
    // Nobody begins to wait for it meanwhile.
    projects::get_locked(tx, act.org(), known.project_id).await?;
    let task = locked(tx, act, act.input).await?;
    if task.project_id != known.project_id {
        return Err(records::Error::LostRace { what: "a task".to_owned() }.into());
    }
    let current = writer(tx, act).await?;
    require(&current, &task, Move::Delete)?;
    let dependents = task_dependencies::dependents(tx, act.org(), task.id).await?;
    if !dependents.is_empty() {
        let detail = format!("{} tasks wait for it; have them not depend on it first", dependents.len());
        return Err(HubError::InvalidState { state: "needed".to_owned(), detail });
    }
    let waiting = task_dependencies::prerequisites(tx, act.org(), &[task.id]).await?;
    let depends_on: Vec<Id<Task>> = waiting.iter().map(|waiting| waiting.task_id).collect();
    tasks::delete(tx, &task).await?;
    let details = facts(&task, &depends_on).as_object().cloned().unwrap_or_default();
    record(tx, act, "task:deleted", (Some(task.state), &task), details).await
}
