//! The rules an organization decides with: its policies and its catalogue, as they are in this unit.

use std::sync::Arc;

use domain::Id;
use domain::organizations::Organization;
use domain::policies::RuleSet;
use domain::{Timestamp, resource_catalogue::ResourceCatalogue};
use records::rule_sets::{self, RuleSetRow};
use records::{Tx, policies};

use crate::ids::Ids;
use crate::{Hub, HubError};

/// The rules in force; nobody changes them until this unit ends. Worked out once for each change of them.
pub async fn load(tx: &mut Tx, hub: &Hub, org: Id<Organization>) -> Result<Arc<RuleSet>, HubError> {
    let stamp = rule_sets::stamp_shared(tx, org).await?;
    if let Some(ready) = hub.coordination.rules.get(&org, &stamp) {
        return Ok(ready);
    }
    let RuleSetRow { version, catalogue, .. } = rule_sets::get(tx, org).await?;
    let in_force = policies::active(tx, org).await?;
    let earlier = hub.coordination.rules.last(&org);
    let ready = RuleSet::new(version, in_force, catalogue, earlier.as_deref()).map_err(|missing| {
        HubError::Records(records::Error::BadRow {
            column: "policies.is_default",
            reason: missing.to_string(),
        })
    })?;
    Ok(hub.coordination.rules.put(org, stamp, ready))
}

/// The first rules of an organization.
pub(crate) fn first(ids: &dyn Ids, now: Timestamp) -> RuleSetRow {
    let catalogue = ResourceCatalogue::default();
    RuleSetRow { version: 1, stamp: ids.fresh(), catalogue, updated_at: now }
}

/// Says that the rules are no longer what they were. The unit has locked them.
pub(crate) async fn renew(
    tx: &mut Tx,
    ids: &dyn Ids,
    org: Id<Organization>,
    before: &RuleSetRow,
    now: Timestamp,
) -> Result<(), HubError> {
    let stamp = ids.fresh();
    let updated_at = now.after(before.updated_at);
    let next = RuleSetRow { version: before.version + 1, stamp, updated_at, ..before.clone() };
    Ok(rule_sets::update(tx, org, &next).await?)
}
