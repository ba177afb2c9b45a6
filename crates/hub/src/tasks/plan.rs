//! What waits for what: tasks that wait, and what they wait for.

use std::collections::BTreeSet;

use domain::Id;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::projects::Project;
use domain::tasks::{Task, TaskStatus};
use records::tasks::{self, Filter};
use records::{Tx, task_dependencies};

use super::{Seen, seen_all};
use crate::{Caller, Hub, HubError};

/// How many tasks one looks at in one picture.
pub const PLANNED_MAX: usize = 60;

/// Tasks that hang together.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Those that wait, newest first, then what they wait for.
    pub tasks: Vec<Seen>,
    /// Whether there are more that wait than are here.
    pub more: bool,
}

/// The newest tasks that wait for others, with everything they wait for, as far as there is room.
pub async fn plan(hub: &Hub, caller: &Caller, project: Option<Id<Project>>) -> Result<Plan, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), project);
    hub.records.read(input, |tx, (caller, project)| Box::pin(unit(tx, caller, *project))).await
}

async fn unit(tx: &mut Tx, caller: &Caller, project: Option<Id<Project>>) -> Result<Plan, HubError> {
    let org = caller.credential.organization.id;
    let filter = Filter { status: Some(TaskStatus::Blocked), project, ..Filter::default() };
    // Half of the room, so that what they wait for fits too.
    let most = PLANNED_MAX / 2;
    let mut found = tasks::list(tx, org, &filter, i64::try_from(most + 1).unwrap_or(i64::MAX)).await?;
    let mut more = found.len() > most;
    found.truncate(most);
    let mut known: BTreeSet<Id<Task>> = found.iter().map(|task| task.id).collect();
    let mut looked = 0;
    while looked < found.len() {
        let ids: Vec<Id<Task>> = found[looked..].iter().map(|task| task.id).collect();
        looked = found.len();
        for waiting in task_dependencies::prerequisites(tx, org, &ids).await? {
            if known.contains(&waiting.task_id) {
                continue;
            }
            if known.len() == PLANNED_MAX {
                more = true;
                break;
            }
            known.insert(waiting.task_id);
            found.extend(one(tx, org, waiting.task_id).await?);
        }
    }
    Ok(Plan { tasks: seen_all(tx, caller, found).await?, more })
}

async fn one(tx: &mut Tx, org: Id<Organization>, id: Id<Task>) -> Result<Option<Task>, HubError> {
    Ok(tasks::get(tx, org, id).await?)
}
