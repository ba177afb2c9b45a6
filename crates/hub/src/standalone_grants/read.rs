//! Looking at grants.

use domain::permissions::Capability;
use domain::standalone_grants::{GrantCounts, StandaloneGrant};
use domain::{Id, Timestamp};
use records::standalone_grants;

use super::must_be_tenant;
use super::worker::WorkerStats;
use crate::{Caller, Hub, HubError};

pub(super) const MISSING: HubError = HubError::NotFound("approval");

/// Grants, and how many there are of each kind.
pub struct Listed {
    /// Some of those that can be used, newest first.
    pub grants: Vec<StandaloneGrant>,
    /// How many there are.
    pub counts: GrantCounts,
}

/// How the grants of an organization stand.
pub struct Stats {
    /// How many there are.
    pub counts: GrantCounts,
    /// What the cleanup did for them; none if it was never started.
    pub worker: Option<WorkerStats>,
}

/// A grant as it is now.
fn as_of(grant: StandaloneGrant, now: Timestamp) -> StandaloneGrant {
    StandaloneGrant { status: grant.status_at(now), ..grant }
}

/// One grant, until a day after its end.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<StandaloneGrant>) -> Result<StandaloneGrant, HubError> {
    caller.require(Capability::GrantsRead)?;
    let now = hub.clock.now();
    let input = (caller.credential.organization.id, id);
    let found = hub.records.read(input, |tx, &(org, id)| Box::pin(standalone_grants::get(tx, org, id)));
    let found = found.await.map_err(HubError::Records)?;
    Ok(as_of(found.filter(|grant| grant.is_remembered(now)).ok_or(MISSING)?, now))
}

/// Those that can be used.
pub async fn pending(hub: &Hub, caller: &Caller, tenant: &str, limit: i64) -> Result<Listed, HubError> {
    caller.require(Capability::GrantsRead)?;
    must_be_tenant(caller, tenant)?;
    let input = (caller.credential.organization.id, hub.clock.now(), limit);
    let read = hub.records.read(input, |tx, &(org, now, limit)| {
        Box::pin(async move {
            let grants = standalone_grants::pending(tx, org, now, limit).await?;
            let counts = standalone_grants::counts(tx, org, now).await?;
            Ok::<_, HubError>(Listed { grants, counts })
        })
    });
    read.await
}

/// How many there are, and what the cleanup did.
pub async fn stats(hub: &Hub, caller: &Caller, tenant: &str) -> Result<Stats, HubError> {
    caller.require(Capability::GrantsRead)?;
    must_be_tenant(caller, tenant)?;
    let org = caller.credential.organization.id;
    let input = (org, hub.clock.now());
    let counts = hub.records.read(input, |tx, &(org, now)| Box::pin(standalone_grants::counts(tx, org, now)));
    let counts = counts.await.map_err(HubError::Records)?;
    Ok(Stats { counts, worker: hub.coordination.grants.worker.stats(hub, org) })
}
