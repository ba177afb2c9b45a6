//! From a presented secret to a caller, cached exactly.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::Timestamp;
use domain::permissions::{Capability, Standing};
use records::Tx;
use records::{api_keys, login_sessions};

use super::credential::{self, Credential, Hold, Means};
use crate::{Caller, Hub, HubError, Origin};

/// How often the last use of a key or login is written down at most.
const LAST_USED_INTERVAL: Duration = Duration::from_secs(60);

/// Which keys are worth a look into the database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// All.
    Any,
    /// Only those that were valid here before: the caller's neighbours have guessed too often, and a guess costs a
    /// read, but whoever has a key must not be locked out with them.
    SeenBefore,
}

/// The caller behind a key, as of now.
pub async fn authenticate(hub: &Hub, presented: &str, origin: Origin) -> Result<Caller, HubError> {
    authenticate_by(hub, presented, origin, Lookup::Any).await
}

/// The caller behind a key, if it may be looked up.
pub async fn authenticate_by(
    hub: &Hub,
    presented: &str,
    origin: Origin,
    lookup: Lookup,
) -> Result<Caller, HubError> {
    let unknown = || HubError::Unauthenticated("this credential is not known here");
    let (kind, hash) = credential::address(presented).ok_or_else(unknown)?;
    // Before the load: a change during it must leave a stale entry, never a wrong one.
    let at = hub.moment(hub.records.signals().identity_epoch());
    let credential = match hub.coordination.credentials.get(&hash, at) {
        Some(credential) => credential,
        None if lookup == Lookup::SeenBefore && !hub.coordination.credentials.has(&hash) => {
            return Err(unknown());
        }
        None => {
            let load = hub
                .records
                .read((kind, hash), |tx, (kind, hash)| Box::pin(credential::presented(tx, *kind, hash)));
            hub.coordination.credentials.put(hash, load.await?.ok_or_else(unknown)?, at)
        }
    };
    credential.check(at.now)?;
    note_use(hub, &credential, at.now);
    let capabilities = credential.capabilities();
    Ok(Caller { credential, capabilities, origin: Arc::new(origin) })
}

/// Reads the caller again inside a deciding unit: a decision of a suspended account, a revoked key, an ended login or
/// somebody who lost the right to it never commits. Gives what the caller is now.
pub async fn confirm(
    tx: &mut Tx,
    caller: &Caller,
    capability: Capability,
    now: Timestamp,
) -> Result<Standing, HubError> {
    current(tx, caller, capability, Hold::Share, now).await
}

/// Refuses a caller who has waited and may no longer see what came meanwhile. Gives what the caller is now.
pub async fn still_may(hub: &Hub, caller: &Caller, capability: Capability) -> Result<Standing, HubError> {
    let input = (caller.clone(), capability, hub.clock.now());
    let read = hub
        .records
        .read(input, |tx, (caller, capability, now)| Box::pin(still_may_in(tx, caller, *capability, *now)));
    read.await
}

/// The same as a part of a read.
pub(crate) async fn still_may_in(
    tx: &mut Tx,
    caller: &Caller,
    capability: Capability,
    now: Timestamp,
) -> Result<Standing, HubError> {
    current(tx, caller, capability, Hold::Look, now).await
}

async fn current(
    tx: &mut Tx,
    caller: &Caller,
    capability: Capability,
    hold: Hold,
    now: Timestamp,
) -> Result<Standing, HubError> {
    let current = present(tx, caller, hold, now).await?;
    if !current.capabilities().contains(capability) {
        return Err(crate::caller::lacks(capability));
    }
    Ok(current.standing())
}

/// The same as [`confirm`] where being who one is suffices, or where more than one capability matters: the caller as it
/// is now, if it may still act at all.
pub(crate) async fn reread(tx: &mut Tx, caller: &Caller, now: Timestamp) -> Result<Credential, HubError> {
    present(tx, caller, Hold::Share, now).await
}

async fn present(tx: &mut Tx, caller: &Caller, hold: Hold, now: Timestamp) -> Result<Credential, HubError> {
    let known = &caller.credential;
    let current = credential::again(tx, &known.means, hold).await?;
    let current = current.ok_or(HubError::Unauthenticated("this credential is no longer valid"))?;
    current.check(now)?;
    if current.organization.id != known.organization.id {
        return Err(HubError::Unauthenticated("this login has moved to another organization; try again"));
    }
    Ok(current)
}

/// Writes the last use down, rarely and beside the request.
fn note_use(hub: &Hub, credential: &Credential, now: Timestamp) {
    let last = credential.last_used_micros.load(Ordering::Relaxed);
    let due = Timestamp::from_micros(last).plus(LAST_USED_INTERVAL) <= now;
    let claim = || {
        let order = Ordering::Relaxed;
        credential.last_used_micros.compare_exchange(last, now.micros(), order, order).is_ok()
    };
    if !due || hub.lifecycle.is_stopping() || !claim() {
        return;
    }
    let (means, records) = (credential.means.clone(), hub.records.clone());
    hub.lifecycle.spawn(async move {
        let noted = records.write((means, now), |tx, (means, now)| Box::pin(touch(tx, means, *now))).await;
        if let Err(error) = noted {
            tracing::warn!("the last use of a credential could not be noted: {error}");
        }
    });
}

async fn touch(tx: &mut Tx, means: &Means, now: Timestamp) -> Result<(), records::Error> {
    match means {
        Means::Key(key) => api_keys::touch(tx, key.org_id, key.id, now).await,
        Means::Login(login) => login_sessions::touch(tx, login.account_id, login.id, now).await,
    }
}
