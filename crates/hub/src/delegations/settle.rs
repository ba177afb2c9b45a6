//! Open requests when a delegation begins, ends or changes: those of whoever goes on leave move, those that came by
//! what no longer holds go back. Looking twice changes nothing the second time.

use domain::Id;
use domain::approvals::Approval;
use domain::delegations::Delegation;
use domain::jobs::Job;
use domain::organizations::Organization;
use records::{approvals, delegations};
use uuid::Uuid;

use crate::reviews::{Cause, LOOKED_AT_ONCE, reroute, reroute_all};
use crate::{Hub, HubError};

/// The kind of job that does it.
pub(crate) const SETTLE: &str = "delegations:settle";

/// Settles the requests of one delegation. When it has to be looked at again.
pub(crate) async fn settle_job(hub: &Hub, job: &Job) -> Result<Option<domain::Timestamp>, HubError> {
    let org = job.payload["org_id"].as_str().and_then(|text| text.parse().ok());
    let Some((org, id)) = org.zip(job.key.parse::<Id<Delegation>>().ok()) else { return Ok(None) };
    let read = hub.records.read((org, id), |tx, &(org, id)| Box::pin(delegations::get(tx, org, id)));
    let Some(delegation) = read.await? else { return Ok(None) };
    let now = hub.clock.now();
    if delegation.is_leave() && delegation.is_in_force(now) {
        reroute_all(hub, org, delegation.owner_id, Cause::OnLeave).await?;
    }
    give_back(hub, org, id).await?;
    Ok(delegation.next_boundary(now))
}

/// What was passed on by this delegation.
async fn give_back(hub: &Hub, org: Id<Organization>, by: Id<Delegation>) -> Result<(), HubError> {
    let mut after = Id::new(Uuid::nil());
    while !hub.lifecycle.is_stopping() {
        let read = hub.records.read((org, after), |tx, &(org, after)| {
            Box::pin(approvals::passed_on(tx, org, after, LOOKED_AT_ONCE))
        });
        let found: Vec<Approval> = read.await?;
        let Some(last) = found.last() else { break };
        after = last.id;
        for request in found.into_iter().filter(|request| request.routing.via.contains(&Some(by))) {
            reroute(hub, org, request.id, Cause::Ended).await?;
        }
    }
    Ok(())
}
