//! One's own notifications: found, counted, read. Handing them out is noted, once.

use domain::Id;
use domain::notifications::Notification;
use domain::permissions::Capability;
use records::Tx;
use records::notifications::{self, Filter};

use super::{MISSING, whose};
use crate::act::Act;
use crate::{Caller, Hub, HubError};

/// How far unread ones are counted; beyond that a number tells nobody anything.
pub const COUNTED_MAX: i64 = 1000;

/// What the caller was told, newest first. The first time it is handed out is its receipt.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    filter: Filter,
    limit: i64,
) -> Result<Vec<Notification>, HubError> {
    caller.require(Capability::EventsRead)?;
    let found = hub.records.read((whose(caller), filter), move |tx, &(whose, filter)| {
        Box::pin(notifications::list(tx, whose, filter, limit))
    });
    deliver(hub, caller, found.await?).await
}

/// One that the caller was told.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Notification>) -> Result<Notification, HubError> {
    caller.require(Capability::EventsRead)?;
    let found = hub
        .records
        .read((whose(caller), id), |tx, &(whose, id)| {
            Box::pin(async move { notifications::get(tx, whose, id).await?.ok_or(MISSING) })
        })
        .await?;
    Ok(deliver(hub, caller, vec![found]).await?.swap_remove(0))
}

/// Notes what was not handed out before. Nothing is written where all of it was.
async fn deliver(
    hub: &Hub,
    caller: &Caller,
    mut found: Vec<Notification>,
) -> Result<Vec<Notification>, HubError> {
    let now = hub.clock.now();
    let mut new = Vec::new();
    for told in found.iter_mut().filter(|told| told.delivered_at.is_none()) {
        told.delivered_at = Some(now);
        new.push(told.id);
    }
    if !new.is_empty() {
        let input = (whose(caller), new, now);
        let noted = hub.records.write(input, |tx, (whose, new, now)| {
            Box::pin(notifications::mark_delivered(tx, *whose, new, *now))
        });
        noted.await?;
    }
    Ok(found)
}

/// How many the caller has not read, at most [`COUNTED_MAX`].
pub async fn unread(hub: &Hub, caller: &Caller) -> Result<i64, HubError> {
    caller.require(Capability::EventsRead)?;
    hub.records
        .read(whose(caller), |tx, whose| Box::pin(notifications::count_unread(tx, *whose, COUNTED_MAX)))
        .await
        .map_err(HubError::from)
}

/// Notes that the caller has read it; the first time counts.
pub async fn read(hub: &Hub, caller: &Caller, id: Id<Notification>) -> Result<Notification, HubError> {
    caller.require(Capability::EventsRead)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(read_unit(tx, act))).await
}

async fn read_unit(tx: &mut Tx, act: &Act<Id<Notification>>) -> Result<Notification, HubError> {
    act.confirm(tx, Capability::EventsRead).await?;
    let whose = (act.org(), act.actor());
    let told = notifications::get(tx, whose, act.input).await?.ok_or(MISSING)?;
    if told.read_at.is_none() {
        notifications::mark_read(tx, whose, act.input, act.now).await?;
    }
    Ok(told.read(act.now))
}

/// Notes that the caller has read these. What they were not told, or have read, is passed over.
pub async fn read_all(hub: &Hub, caller: &Caller, ids: Vec<Id<Notification>>) -> Result<(), HubError> {
    caller.require(Capability::EventsRead)?;
    let input = Act::new(hub, caller, ids);
    hub.records.write(input, |tx, act| Box::pin(read_all_unit(tx, act))).await
}

async fn read_all_unit(tx: &mut Tx, act: &Act<Vec<Id<Notification>>>) -> Result<(), HubError> {
    act.confirm(tx, Capability::EventsRead).await?;
    for id in &act.input {
        notifications::mark_read(tx, (act.org(), act.actor()), *id, act.now).await?;
    }
    Ok(())
}
