//! Finding policies.

use domain::Id;
use domain::permissions::Capability;
use domain::policies::Policy;
use records::policies::{self, Filter};

use super::MISSING;
use crate::{Caller, Hub, HubError};

/// One policy, as it is or as it was in a version.
pub async fn get(
    hub: &Hub,
    caller: &Caller,
    id: Id<Policy>,
    version: Option<i64>,
) -> Result<Policy, HubError> {
    caller.require(Capability::PoliciesRead)?;
    let input = (caller.credential.organization.id, id, version);
    hub.records
        .read(input, |tx, &(org, id, version)| {
            Box::pin(async move {
                let found = match version {
                    None => policies::get(tx, org, id).await?,
                    Some(version) => policies::get_version(tx, org, id, version).await?,
                };
                found.ok_or(MISSING)
            })
        })
        .await
}

/// Policies by name.
pub async fn list(hub: &Hub, caller: &Caller, filter: Filter, limit: i64) -> Result<Vec<Policy>, HubError> {
    caller.require(Capability::PoliciesRead)?;
    Ok(policies::list(&hub.records, caller.credential.organization.id, filter, limit).await?)
}
