//! From a presented key to a caller, cached exactly.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use coordination::cache::Moment;
use domain::Timestamp;
use domain::accounts::{Account, AccountStatus};
use domain::api_keys::{ApiKey, KeyRefusal, KeySecret};
use domain::organizations::{MembershipLevel, Organization};
use domain::permissions::{Standing, capabilities_of_key};
use records::{Tx, accounts, api_keys, members, organizations};

use crate::{Caller, Hub, HubError, Origin};

/// How often the last use of a key is written down at most.
const LAST_USED_INTERVAL: Duration = Duration::from_secs(60);

/// A key with everything it stands for.
pub struct Credential {
    /// The key.
    pub key: ApiKey,
    /// Its owner.
    pub account: Account,
    /// Where it acts.
    pub organization: Organization,
    /// The owner's membership there.
    pub membership_level: Option<MembershipLevel>,
    last_used_micros: AtomicI64,
}

impl Credential {
    /// What the rules about permissions look at.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing { access_level: self.account.access_level, membership_level: self.membership_level }
    }

    /// Refuses a key, account or organization that may not act at this time.
    fn check(&self, now: Timestamp) -> Result<(), HubError> {
        self.key.usable(now).map_err(|refusal| {
            HubError::Unauthenticated(match refusal {
                KeyRefusal::Revoked => "this API key was revoked",
                KeyRefusal::Disabled => "this API key is disabled",
                KeyRefusal::Expired => "this API key has expired",
            })
        })?;
        match self.account.status {
            AccountStatus::Active => {}
            AccountStatus::Suspended => return Err(HubError::Unauthenticated("this account is suspended")),
            AccountStatus::Deactivated => {
                return Err(HubError::Unauthenticated("this account is deactivated"));
            }
        }
        if self.organization.archived_at.is_some() {
            return Err(HubError::Unauthenticated("the organization of this API key is archived"));
        }
        if self.membership_level.is_none() {
            return Err(HubError::Unauthenticated("the owner of this API key has left its organization"));
        }
        Ok(())
    }
}

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
    let unknown = || HubError::Unauthenticated("this API key is not known here");
    let secret = KeySecret::parse(presented).map_err(|_| unknown())?;
    let hash = secret.hash();
    // Before the load: a change during it must leave a stale entry, never a wrong one.
    let at = Moment { epoch: hub.records.signals().identity_epoch(), now: hub.clock.now() };
    let credential = match hub.coordination.credentials.get(&hash, at) {
        Some(credential) => credential,
        None if lookup == Lookup::SeenBefore && !hub.coordination.credentials.has(&hash) => {
            return Err(unknown());
        }
        None => {
            let loaded =
                hub.records.read(hash, |tx, hash| Box::pin(load(tx, hash))).await?.ok_or_else(unknown)?;
            hub.coordination.credentials.put(hash, loaded, at)
        }
    };
    credential.check(at.now)?;
    note_use(hub, &credential, at.now);
    let capabilities = capabilities_of_key(credential.standing(), credential.key.scopes.as_deref());
    Ok(Caller { credential, capabilities, origin })
}

async fn load(tx: &mut Tx, hash: &[u8; 32]) -> Result<Option<Credential>, HubError> {
    let Some(key) = api_keys::by_hash(tx, hash).await? else {
        return Ok(None);
    };
    let account = accounts::get(tx, key.owner_id).await?;
    let organization = organizations::get(tx, key.org_id).await?;
    let membership = members::get(tx, key.org_id, key.owner_id).await?;
    let (Some(account), Some(organization)) = (account, organization) else {
        return Ok(None);
    };
    let last_used_micros = AtomicI64::new(key.last_used_at.map_or(i64::MIN, Timestamp::micros));
    let membership_level = membership.map(|membership| membership.membership_level);
    Ok(Some(Credential { key, account, organization, membership_level, last_used_micros }))
}

/// Reads the caller again inside a deciding unit: a decision of a suspended account or a revoked key never commits.
/// Gives what the caller may do now.
pub async fn confirm(tx: &mut Tx, caller: &Caller, now: Timestamp) -> Result<Standing, HubError> {
    let known = &caller.credential;
    let gone = || HubError::Unauthenticated("this API key is no longer valid");
    let key = api_keys::get_shared(tx, known.key.org_id, known.key.id).await?.ok_or_else(gone)?;
    let account = accounts::get_shared(tx, known.account.id).await?.ok_or_else(gone)?;
    let organization = organizations::get_shared(tx, known.organization.id).await?.ok_or_else(gone)?;
    let membership = members::get_shared(tx, key.org_id, key.owner_id).await?;
    let membership_level = membership.map(|membership| membership.membership_level);
    let current =
        Credential { key, account, organization, membership_level, last_used_micros: AtomicI64::new(0) };
    current.check(now)?;
    Ok(current.standing())
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
    let (org, key, records) = (credential.key.org_id, credential.key.id, hub.records.clone());
    hub.lifecycle.spawn(async move {
        let noted = records
            .write((org, key, now), |tx, &(org, key, now)| Box::pin(api_keys::touch(tx, org, key, now)))
            .await;
        if let Err(error) = noted {
            tracing::warn!("the last use of key {key} could not be noted: {error}");
        }
    });
}
