//! Clearing away what has expired: rows are ended, those who follow the log are told, stores drop what is left.

use std::collections::HashSet;
use std::time::Instant;

use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::standalone_grants::{REMEMBERED, StandaloneGrant};
use domain::{Id, Timestamp};
use records::{Tx, organizations, standalone_grants};

use super::worker::WorkerStats;
use super::{
    CLEANUP_CLEANED, CLEANUP_RUNS, EXPIRED, TOLD_EXPIRED, Tenant, apart, facts, note_store, rows, store,
    subject, tenant,
};
use crate::act::{ByItself, announce};
use crate::{Caller, Hub, HubError};

/// Grants looked at in one go, and ended in one unit.
const ENDED_AT_ONCE: i64 = 100;
const FORGOTTEN_AT_ONCE: i64 = 500;

type Ids = Vec<Id<StandaloneGrant>>;

/// Cleans up after all organizations. Two at once, here or on another server, end nothing twice.
pub(crate) async fn clean_all(hub: &Hub) -> Result<(), HubError> {
    let all = organizations::all(&hub.records).await?;
    let tenants: Vec<Tenant> = all.iter().map(Tenant::of).collect();
    let is_first = hub.coordination.grants.worker.is_first_run();
    let cleaned = run(hub, &tenants, is_first).await?;
    if cleaned > 0 {
        tracing::info!("[ApprovalCleanupWorker] cleaned {cleaned} expired approvals");
    }
    Ok(())
}

/// Cleans up after the caller's organization, now.
pub async fn clean(hub: &Hub, caller: &Caller) -> Result<Option<WorkerStats>, HubError> {
    caller.require(Capability::GrantsMint)?;
    run(hub, &[tenant(caller)], false).await?;
    Ok(hub.coordination.grants.worker.stats(hub, caller.credential.organization.id))
}

/// The records of all first: they are right whatever the store does.
async fn run(hub: &Hub, tenants: &[Tenant], is_first: bool) -> Result<u64, HubError> {
    let worker = &hub.coordination.grants.worker;
    let _turn = worker.turn.lock().await;
    let (began, since) = (hub.clock.now(), Instant::now());
    let mut cleaned: Vec<(Tenant, HashSet<Id<StandaloneGrant>>)> = Vec::with_capacity(tenants.len());
    for tenant in tenants {
        let mut ended = HashSet::new();
        if is_first {
            ended.extend(end_lost(hub, *tenant, began).await?);
        }
        ended.extend(end_overdue(hub, *tenant, began).await?);
        forget(hub, *tenant, began).await?;
        cleaned.push((*tenant, ended));
    }
    if note_store(hub).await && apart(hub).is_some() {
        for (tenant, ended) in &mut cleaned {
            ended.extend(sweep(hub, *tenant, began).await?);
        }
    }
    let counts: Vec<(Id<Organization>, u64)> =
        cleaned.iter().map(|(tenant, ended)| (tenant.id, ended.len() as u64)).collect();
    let total = counts.iter().map(|(_, count)| count).sum();
    worker.ran(began, since.elapsed(), &counts);
    metrics::counter!(CLEANUP_RUNS).increment(1);
    metrics::counter!(CLEANUP_CLEANED).increment(total);
    Ok(total)
}

/// What another store had, or a memory that is gone, nobody can use any more.
async fn end_lost(hub: &Hub, tenant: Tenant, now: Timestamp) -> Result<Ids, HubError> {
    let Some(started_at) = hub.coordination.grants.worker.started_at() else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    while !hub.lifecycle.is_stopping() {
        let kind = store(hub).kind();
        let lost =
            standalone_grants::of_other_stores(&hub.records, tenant.id, kind, started_at, ENDED_AT_ONCE)
                .await?;
        if lost.is_empty() {
            break;
        }
        all.extend(end(hub, tenant, lost.iter().map(|grant| grant.id).collect(), now).await?);
    }
    Ok(all)
}

async fn end_overdue(hub: &Hub, tenant: Tenant, now: Timestamp) -> Result<Ids, HubError> {
    let mut all = Vec::new();
    while !hub.lifecycle.is_stopping() {
        let overdue = standalone_grants::overdue(&hub.records, tenant.id, now, ENDED_AT_ONCE).await?;
        if overdue.is_empty() {
            break;
        }
        all.extend(end(hub, tenant, overdue.iter().map(|grant| grant.id).collect(), now).await?);
    }
    Ok(all)
}

/// What the store dropped by itself has expired, or was used; what it lost before its time cannot be used either.
async fn sweep(hub: &Hub, tenant: Tenant, now: Timestamp) -> Result<Ids, HubError> {
    let gone = store(hub).cleanup_expired_indices(tenant, now).await?;
    for some in gone.chunks(ENDED_AT_ONCE as usize) {
        end(hub, tenant, some.to_vec(), now).await?;
    }
    Ok(gone)
}

async fn forget(hub: &Hub, tenant: Tenant, now: Timestamp) -> Result<(), HubError> {
    let input = (tenant.id, now.minus(REMEMBERED));
    let forget = || {
        hub.records.write(input, |tx, &(org, cutoff)| {
            Box::pin(standalone_grants::forget(tx, org, cutoff, FORGOTTEN_AT_ONCE))
        })
    };
    while !hub.lifecycle.is_stopping() && forget().await? > 0 {}
    Ok(())
}

/// Ends those that are still pending, in one unit with what tells of it.
async fn end(hub: &Hub, tenant: Tenant, ids: Ids, now: Timestamp) -> Result<Ids, HubError> {
    let input = (hub.clone(), tenant, ids, now);
    let ended = hub
        .records
        .write(input, |tx, (hub, tenant, ids, now)| Box::pin(unit(tx, hub, *tenant, (ids.as_slice(), *now))));
    let ended = ended.await?;
    metrics::counter!(EXPIRED).increment(ended.len() as u64);
    for id in &ended {
        tracing::info!("[Approvals] ir.approval_expired: approval_id={id}");
    }
    Ok(ended)
}

async fn unit(
    tx: &mut Tx,
    hub: &Hub,
    tenant: Tenant,
    (ids, now): (&[Id<StandaloneGrant>], Timestamp),
) -> Result<Ids, HubError> {
    let ended = rows::ended(tx, tenant.id, ids, now).await?;
    if ended.is_empty() {
        return Ok(Vec::new());
    }
    let deed = ByItself::new(tx, hub, tenant.id, now).await?;
    for grant in &ended {
        announce(tx, &deed, TOLD_EXPIRED, subject(grant), facts(grant)).await?;
    }
    Ok(ended.iter().map(|grant| grant.id).collect())
}
