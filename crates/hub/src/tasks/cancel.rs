//! Giving a task up.

use domain::Id;
use domain::tasks::Task;
use records::{Tx, grants, tasks};
use serde_json::Map;

use super::{Offer, Seen, actor, announce, locked, refused, seen, subject, writer};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::reviews::{close_skips, of_task, tell_dependents, void};
use crate::{Caller, Hub, HubError, audit};

struct Input {
    id: Id<Task>,
    reason: String,
}

/// Gives a task up before it is applied: its review is void, and so is its Grant.
pub async fn cancel(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    reason: String,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::Cancel.needs())?;
    let input = Act::new(hub, caller, Input { id, reason });
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Seen, HubError> {
    let before = locked(tx, act, act.input.id).await?;
    let current = writer(tx, act).await?;
    let who = actor(&current, &before);
    let after = before.cancelled(who, act.now).map_err(refused)?;
    tasks::save(tx, &before, &after).await?;
    let open = of_task(tx, &before).await?.filter(|review| review.resolution.is_none());
    if let Some(review) = open {
        void(tx, act, &review, act.actor()).await?;
    }
    if let Some(grant) = grants::standing_locked(tx, act.org(), before.id).await? {
        grants::update(tx, &grant.voided(act.now)).await?;
        close_skips(tx, act, grant.review_id).await?;
    }
    let mut entry = act.entry("task:cancelled", subject(after.id));
    entry.from_state = Some(before.state.as_str().to_owned());
    entry.to_state = Some(after.state.as_str().to_owned());
    entry.reason = Some(act.input.reason.clone());
    entry.details = Map::new();
    audit::record(tx, &entry).await?;
    super::announce_move(tx, act, (before.state, &after)).await?;
    announce(tx, act, "task:cancelled", &after).await?;
    tell_dependents(tx, act, &after).await?;
    seen(tx, &act.caller, after).await
}
