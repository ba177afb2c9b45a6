//! Past what an approved task waits for: two admins' word for it is recorded on its Grant (DECISIONS.md 30).

use domain::grants::{Grant, Skip};
use domain::reviews::Case;
use domain::tasks::dependencies::{BlockedBy, unskipped};
use domain::tasks::{Actor, Task};
use records::{Tx, grants, tasks};
use serde_json::json;

use super::{PUT_FIRST, announce, prerequisites, put_first, subject};
use crate::act::Deed;
use crate::reviews::close_open;
use crate::{HubError, audit};

/// What the audit and the log of events call it.
const SKIPPED: &str = "task:dependencies_skipped";

/// What the task need not wait for.
pub(super) async fn of_task(tx: &mut Tx, task: &Task) -> Result<Option<Skip>, HubError> {
    // Without a review that ended with yes there is none; what waits has none either.
    if task.approved_at.is_none() || task.is_blocked() {
        return Ok(None);
    }
    Ok(grants::standing(tx, task.org_id, task.id).await?.and_then(|grant| grant.skip))
}

/// What the task waits for, is not done, and has to be.
pub(crate) async fn waits_for(tx: &mut Tx, task: &Task) -> Result<Vec<BlockedBy>, HubError> {
    let prerequisites = prerequisites(tx, task.org_id, task.id).await?;
    let open = unskipped(&prerequisites, None);
    if open.is_empty() {
        return Ok(open);
    }
    Ok(unskipped(&prerequisites, of_task(tx, task).await?.as_ref()))
}

/// Records the second signature on the Grant: the task waits for nothing that was signed, and is first. Locks are not
/// skipped by it.
pub(crate) async fn skip(
    tx: &mut Tx,
    act: &impl Deed,
    case: &Case,
    (grant, signed): (&Grant, &Skip),
) -> Result<Task, HubError> {
    grants::update(tx, grant).await?;
    let left = unskipped(&prerequisites(tx, act.org(), case.task.id).await?, Some(signed));
    let free = case.task.next_version(!left.is_empty(), act.now());
    tasks::save(tx, &case.task, &free).await?;
    let mut entry = act.entry(SKIPPED, subject(free.id));
    let skipped: Vec<String> = signed.prerequisites.iter().map(ToString::to_string).collect();
    let request = case.seats.iter().find(|seat| seat.approval.id == signed.approval_id);
    let asked_by = request.map(|seat| seat.approval.routing.asked_by.as_slice()).unwrap_or_default();
    entry.details.insert("skipped".into(), json!(skipped));
    entry.details.insert("grant_id".into(), json!(grant.id.to_string()));
    entry.details.insert("approval_id".into(), json!(signed.approval_id.to_string()));
    let asked_by: Vec<String> = asked_by.iter().map(ToString::to_string).collect();
    entry.details.insert("asked_by".into(), json!(asked_by));
    entry.details.insert("content_hash".into(), json!(free.content_hash.to_string()));
    audit::record(tx, &entry).await?;
    announce(tx, act, SKIPPED, &free).await?;
    close_open(tx, act, case).await?;
    // Two admins have signed that it goes first, too.
    let admins = Actor { is_admin: true, ..Actor::default() };
    put_first(tx, act, (&free, admins), &act.entry(PUT_FIRST, subject(free.id))).await
}
