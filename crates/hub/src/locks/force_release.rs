//! Ending a lock that is somebody else's.

use std::collections::BTreeMap;

use coordination::locks::Held;
use domain::Id;
use domain::executions::Execution;
use domain::locks::{Hold, LockKey};
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::text;
use records::Tx;
use serde_json::{Map, json};

use super::{engine, key};
use crate::act::Act;
use crate::executions::{end_by_admin, let_go};
use crate::faults::reached;
use crate::{Caller, Hub, HubError, audit};

const REASON_CHARS_MAX: usize = 1000;

struct Ending {
    key: LockKey,
    reason: String,
    holders: Vec<Held>,
}

/// Ends whatever holds a key; those who wait move up. It is on record before it happens, so whatever stops the hub in
/// between leaves a row too many, never one too few. Only what is on record ends: who takes the key meanwhile keeps it.
/// An attempt that holds the key is ended first, and all its locks with it.
pub async fn force_release(
    hub: &Hub,
    caller: &Caller,
    text: &str,
    reason: String,
) -> Result<Vec<Held>, HubError> {
    caller.require(Capability::LocksForceRelease)?;
    let key = key("/key", text)?;
    text::name(&reason, REASON_CHARS_MAX).map_err(|bad| HubError::field("/reason", bad.to_string()))?;
    let (locks, org) = (engine(hub)?, caller.credential.organization.id);
    let holders = locks.queue(org, key.clone()).await?.holders;
    let which = holders.iter().map(|held| held.hold.id).collect();
    reached("force_release:found");
    let act = Act::new(hub, caller, Ending { key: key.clone(), reason, holders });
    let ended = hub.records.write(act, |tx, act| Box::pin(unit(tx, act))).await?;
    reached("force_release:recorded");
    let freed = locks.force_release(org, key, which).await?;
    reached("force_release:freed");
    for attempt in &ended {
        let_go(hub, attempt).await;
    }
    Ok(freed)
}

/// Attempts that may hold the key, by lock: the owner of an attempt's locks is called by its id.
fn attempts(holders: &[Held]) -> BTreeMap<Id<Hold>, Id<Execution>> {
    let named = |held: &Held| Some((held.hold.id, held.hold.owner.name.parse().ok()?));
    holders.iter().filter_map(named).collect()
}

async fn unit(tx: &mut Tx, act: &Act<Ending>) -> Result<Vec<Execution>, HubError> {
    let ended = end_by_admin(tx, act, &attempts(&act.input.holders)).await?;
    reached("force_release:ended");
    record(tx, act).await?;
    Ok(ended)
}

async fn record(tx: &mut Tx, act: &Act<Ending>) -> Result<(), HubError> {
    act.confirm(tx, Capability::LocksForceRelease).await?;
    let Ending { key, reason, holders } = &act.input;
    let holders: Vec<_> = holders
        .iter()
        .map(|held| {
            json!({
                "lock_id": held.hold.id.to_string(), "agent_id": held.hold.owner.agent.to_string(),
                "owner": held.hold.owner.name, "fencing_token": held.hold.fence,
            })
        })
        .collect();
    let subject = || Subject::new("lock", key);
    let mut entry = act.entry("lock:force_released", subject());
    entry.reason = Some(reason.clone());
    entry.details = Map::from_iter([("holders".to_owned(), json!(holders))]);
    audit::record(tx, &entry).await?;
    act.announce(tx, "lock:force_released", subject(), json!({"key": key.as_str(), "holders": holders})).await
}
