//! Keeping locks, giving them back, and asking whether one is still there.

use coordination::locks::{Grip, Held, Renewal};
use domain::Id;
use domain::accounts::Account;
use domain::locks::Hold;
use domain::permissions::Capability;

use super::{acting, engine, key};
use crate::{Caller, Hub, HubError, settings};

async fn grip(
    hub: &Hub,
    caller: &Caller,
    agent: Option<Id<Account>>,
    id: Id<Hold>,
) -> Result<Grip, HubError> {
    let agent = acting(hub, caller, agent).await?;
    Ok(Grip { org: caller.credential.organization.id, agent, id })
}

/// Says that the holder is alive: the time of the lock begins anew.
pub async fn heartbeat(
    hub: &Hub,
    caller: &Caller,
    agent: Option<Id<Account>>,
    id: Id<Hold>,
    ttl_seconds: Option<u32>,
) -> Result<Held, HubError> {
    let settings = settings::of(hub, caller.credential.organization.id).await?;
    if ttl_seconds.is_some_and(|ttl| !(1..=settings.lock_max_ttl).contains(&ttl)) {
        let detail = format!("must be 1 to {} (lock:max_ttl)", settings.lock_max_ttl);
        return Err(HubError::field("/ttl_extension", detail));
    }
    let grip = grip(hub, caller, agent, id).await?;
    Ok(engine(hub)?.renew(grip, ttl_seconds, Renewal::Heartbeat).await?)
}

/// Gives a lock back.
pub async fn release(
    hub: &Hub,
    caller: &Caller,
    agent: Option<Id<Account>>,
    id: Id<Hold>,
) -> Result<Held, HubError> {
    let grip = grip(hub, caller, agent, id).await?;
    Ok(engine(hub)?.release(grip).await?)
}

/// Whether this token is that of a lock that is held.
pub async fn is_current(hub: &Hub, caller: &Caller, text: &str, fence: u64) -> Result<bool, HubError> {
    caller.require(Capability::LocksRead)?;
    let key = key("/key", text)?;
    Ok(engine(hub)?.is_current(caller.credential.organization.id, key, fence).await?)
}
