//! Finding delegations. Every member may know who decides for whom.

use domain::Id;
use domain::delegations::Delegation;
use domain::permissions::Capability;
use records::delegations::{self, Filter};

use super::MISSING;
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
