//! Finding delegations. Every member may know who decides for whom.

use domain::Id;
use domain::accounts::Account;
use domain::delegations::{Delegation, may_stand_in};
use domain::permissions::Capability;
use domain::policies::PolicyRules;
use records::delegations::{self, Filter};

use super::MISSING;
use crate::reviews::candidates;
use crate::{Caller, Hub, HubError};

/// One delegation.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Delegation>) -> Result<Delegation, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.credential.organization.id, id);
    hub.records
        .read(input, |tx, &(org, id)| {
            Box::pin(async move { delegations::get(tx, org, id).await?.ok_or(MISSING) })
        })
        .await
}

/// Delegations, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    filter: Filter,
    limit: i64,
) -> Result<Vec<Delegation>, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    Ok(delegations::list(&hub.records, caller.credential.organization.id, filter, limit).await?)
}

/// Everybody who may decide in the caller's place.
pub async fn stand_ins_for(hub: &Hub, caller: &Caller) -> Result<Vec<Id<Account>>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = (caller.credential.organization.id, caller.credential.account.id);
    let read = hub.records.read(input, |tx, &(org, me)| {
        Box::pin(async move {
            // Those whom the default policy asks are those who may stand in for each other.
            let asked = PolicyRules::of_default().quorum;
            let found = candidates(tx, org, std::iter::once(&asked)).await?;
            let others = found.iter().filter(|other| other.account_id != me && may_stand_in(other));
            Ok::<_, HubError>(others.map(|other| other.account_id).collect())
        })
    });
    read.await
}
