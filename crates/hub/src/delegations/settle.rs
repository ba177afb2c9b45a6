//! Open requests when a delegation begins, ends or changes: those of whoever goes on leave move, those that came by
//! what no longer holds go back. Looking twice changes nothing the second time.

use domain::Id;
use domain::approvals::{Approval, ApprovalStatus};
use domain::delegations::Delegation;
use domain::jobs::Job;
use domain::organizations::Organization;
use records::approvals::{self, Filter, Order};
use records::delegations;
use uuid::Uuid;

use crate::reviews::{Cause, reroute};
use crate::{Hub, HubError};

/// The kind of job that does it.
pub(crate) const SETTLE: &str = "delegations:settle";

/// Requests looked at in one go.
const LOOKED_AT_ONCE: i64 = 100;

/// Settles the requests of one delegation. When it has to be looked at again.
pub(crate) async fn settle_job(hub: &Hub, job: &Job) -> Result<Option<domain::Timestamp>, HubError> {
    let org = job.payload["org_id"].as_str().and_then(|text| text.parse().ok());
    let Some((org, id)) = org.zip(job.key.parse::<Id<Delegation>>().ok()) else { return Ok(None) };
    let read = hub.records.read((org, id), |tx, &(org, id)| Box::pin(delegations::get(tx, org, id)));
    let Some(delegation) = read.await? else { return Ok(None) };
    let now = hub.clock.now();
    if delegation.is_leave() && delegation.is_in_force(now) {
        move_open(hub, &delegation).await?;
    }
    give_back(hub, org, id).await?;
    Ok(delegation.next_boundary(now))
}

/// What waits for somebody who is on leave now.
async fn move_open(hub: &Hub, leave: &Delegation) -> Result<(), HubError> {
    let mut after = None;
    while !hub.lifecycle.is_stopping() {
        let filter = Filter {
            reviewer: Some(leave.owner_id),
            status: Some(ApprovalStatus::Pending),
            task: None,
            order: Order::Age(after),
        };
        let read = hub.records.read((leave.org_id, filter), |tx, (org, filter)| {
            Box::pin(approvals::list(tx, *org, filter, LOOKED_AT_ONCE))
        });
        let found: Vec<Approval> = read.await?;
        let Some(last) = found.last() else { break };
        after = Some(last.id);
        for request in found {
            reroute(hub, leave.org_id, request.id, Cause::OnLeave).await?;
        }
    }
    Ok(())
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
