//! What somebody was told, with the tasks it is about, for people to read.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::notifications::Notification;
use domain::permissions::Capability;
use records::{Tx, accounts};

use super::{Filter, list};
use crate::tasks::{Seen, seen_of};
use crate::{Caller, Hub, HubError};

/// Something the caller was told, with its task as it is now.
#[derive(Clone, Debug)]
pub struct Told {
    /// What.
    pub notification: Notification,
    /// About which task.
    pub task: Seen,
    /// Who did it; none: the hub by itself.
    pub actor: Option<String>,
}

/// What the caller was told, the newest first.
pub async fn told(hub: &Hub, caller: &Caller, limit: i64) -> Result<Vec<Told>, HubError> {
    caller.require(Capability::TasksRead)?;
    let found = list(hub, caller, Filter::default(), limit).await?;
    let input = (caller.clone(), found);
    hub.records.read(input, |tx, (caller, found)| Box::pin(whole(tx, caller, found))).await
}

async fn whole(tx: &mut Tx, caller: &Caller, found: &[Notification]) -> Result<Vec<Told>, HubError> {
    let tasks = seen_of(tx, caller, found.iter().map(|one| one.task_id).collect()).await?;
    let actors: BTreeSet<_> = found.iter().filter_map(|one| one.actor_id).collect();
    let mut names = BTreeMap::new();
    for actor in actors {
        if let Some(account) = accounts::get(tx, Id::new(actor)).await? {
            names.insert(actor, account.display_name);
        }
    }
    let with_task = |notification: &Notification| {
        let task = tasks.get(&notification.task_id)?.clone();
        let actor = notification.actor_id.and_then(|actor| names.get(&actor).cloned());
        Some(Told { notification: notification.clone(), task, actor })
    };
    Ok(found.iter().filter_map(with_task).collect())
}
