//! Handing a task in.

use domain::Id;
use domain::tasks::{Actor, Move, Task};
use records::Tx;
use serde_json::Map;

use super::{Offer, Seen, actor, announce, locked, refused, seen, writer};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::reviews::{begin, transition};
use crate::{Caller, Hub, HubError};

/// Hands a draft in: reviewers are asked, or every policy lets it pass.
pub async fn submit(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::Submit.needs())?;
    let input = Act::new(hub, caller, id);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Id<Task>>) -> Result<Seen, HubError> {
    let task = locked(tx, act, act.input).await?;
    let current = writer(tx, act).await?;
    let task = hand_in(tx, act, &current, &task).await?;
    seen(tx, &act.caller, task).await
}

/// Hands a draft in as a part of a unit. The hub makes no preview of what outside agents do, so both steps are one
/// unit; the record shows each.
pub(crate) async fn hand_in<T>(
    tx: &mut Tx,
    act: &Act<T>,
    current: &Credential,
    task: &Task,
) -> Result<Task, HubError> {
    let submitted = task.submitted(actor(current, task), act.now).map_err(refused)?;
    transition(tx, act, "task:submitted", (task.state, &submitted), Map::new()).await?;
    announce(tx, act, "task:submitted", &submitted).await?;
    begin(tx, act, task, submitted, (Move::BeginReview, Actor::HUB)).await
}
