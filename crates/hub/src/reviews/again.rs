//! Reviewing anew what was approved too long ago and never begun (DECISIONS.md 30).

use domain::organizations::Organization;
use domain::tasks::{Actor, Move, Task, TaskState, TaskStatus};
use domain::{Id, Timestamp};
use records::{Tx, grants, tasks};
use serde_json::{Map, json};

use super::{begin, close_skips};
use crate::act::ByItself;
use crate::tasks::{is_waiting, record};
use crate::{Hub, HubError};

/// Stale Grants looked at in one go.
const LOOKED_AT_ONCE: i64 = 100;

struct Stale {
    hub: Hub,
    org: Id<Organization>,
    task: Id<Task>,
    now: Timestamp,
}

/// Takes back every Grant that is too old to be used, and asks the reviewers again.
pub(crate) async fn review_stale(hub: &Hub) -> Result<(), HubError> {
    let now = hub.clock.now();
    while !hub.lifecycle.is_stopping() {
        let found = grants::stale(&hub.records, now, LOOKED_AT_ONCE).await?;
        let is_last = found.len() < usize::try_from(LOOKED_AT_ONCE).unwrap_or(usize::MAX);
        for grant in found {
            let stale = Stale { hub: hub.clone(), org: grant.org_id, task: grant.task_id, now };
            hub.records.write(stale, |tx, stale| Box::pin(unit(tx, stale))).await?;
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// A task that was cancelled or began in the meantime is left alone.
async fn unit(tx: &mut Tx, stale: &Stale) -> Result<(), HubError> {
    let Some(task) = tasks::get_locked(tx, stale.org, stale.task).await? else { return Ok(()) };
    let grant = grants::standing_locked(tx, stale.org, stale.task).await?;
    let Some(grant) = grant.filter(|grant| grant.is_stale(stale.now)) else { return Ok(()) };
    if task.state != TaskState::Approved {
        return Err(records::Error::Misbehaved(
            "a grant that was never used stands for a task that moved on",
        )
        .into());
    }
    let act = ByItself::new(tx, &stale.hub, stale.org, stale.now).await?;
    grants::update(tx, &grant.voided(stale.now)).await?;
    close_skips(tx, &act, grant.review_id).await?;
    let mut details = Map::new();
    details.insert("grant_id".into(), json!(grant.id.to_string()));
    details.insert("valid_until".into(), json!(grant.valid_until.to_string()));
    record(tx, &act, "task:approval_expired", (Some(task.state), &task), details).await?;
    // What it need not have waited for went with the Grant.
    let waits = is_waiting(tx, &act, task.id).await?;
    let anew = Task { status: TaskStatus::of(task.state, waits), ..task.clone() };
    begin(tx, &act, &task, anew, (Move::ReviewAgain, Actor::HUB)).await.map(drop)
}
