//! An admin who was not asked takes part in a review.

use domain::Id;
use domain::permissions::Capability;
use domain::reviews::Request;
use domain::tasks::{Move, Task};
use records::{Tx, tasks};
use serde_json::Map;

use super::list::seen;
use super::vote::refused;
use super::{Seen, subject};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::reviews::{ask, candidate, load, of_task};
use crate::tasks::{behind, locked, require};
use crate::{Caller, Hub, HubError};

const MISSING: HubError = HubError::NotFound("task");

/// Gives an admin a request of their own, on record. Whoever has one already gets that.
pub async fn join(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, task);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Id<Task>>) -> Result<Seen, HubError> {
    let task = locked(tx, act, act.input).await?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    require(&current, &task, Move::JoinReview)?;
    let review = of_task(tx, &task).await?.ok_or(MISSING)?;
    let case = load(tx, task.clone(), review, (false, act.now)).await?;
    if let Some(seat) = case.seats.iter().find(|seat| seat.approval.reviewer_id == act.actor()) {
        return seen(tx, &act.caller, seat.approval.clone()).await;
    }
    let behind = behind(tx, &current).await?;
    let person = candidate(tx, act.org(), act.actor()).await?.ok_or(MISSING)?;
    let serves = case.join(&person, &behind).map_err(refused)?;
    let request = Request {
        id: act.hub.ids.id(),
        reviewer: act.actor(),
        joined: true,
        due_at: case.review.due_at(&serves),
        serves,
    };
    let approval = case.review.request(&task, request, act.now);
    ask(tx, act, &approval).await?;
    tasks::save(tx, &task, &task.touched(act.now)).await?;
    let mut details = Map::new();
    details.insert("task_id".into(), task.id.to_string().into());
    act.record(tx, "approval:joined", subject(&approval), details).await?;
    seen(tx, &act.caller, approval).await
}
