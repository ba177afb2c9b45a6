//! Saying that one has seen a request.

use domain::Id;
use domain::approvals::Approval;
use domain::permissions::Capability;
use records::{Tx, approvals, tasks};
use serde_json::Map;

use super::list::seen;
use super::vote::refused;
use super::{MISSING, Seen, subject};
use crate::act::Act;
use crate::{Caller, Hub, HubError};

/// Notes that the reviewer has seen the request; the first time counts.
pub async fn acknowledge(hub: &Hub, caller: &Caller, id: Id<Approval>) -> Result<Seen, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Id<Approval>>) -> Result<Seen, HubError> {
    let request = approvals::get(tx, act.org(), act.input).await?.ok_or(MISSING)?;
    // Votes on the task wait, so that none is overwritten.
    tasks::get_locked(tx, act.org(), request.task_id).await?.ok_or(MISSING)?;
    act.confirm(tx, Capability::ApprovalsDecide).await?;
    let before = approvals::get(tx, act.org(), act.input).await?.ok_or(MISSING)?;
    let after = before.acknowledged(act.actor(), act.now).map_err(refused)?;
    if after != before {
        approvals::update(tx, &after).await?;
        act.record(tx, "approval:acknowledged", subject(&after), Map::new()).await?;
    }
    seen(tx, &act.caller, after).await
}
