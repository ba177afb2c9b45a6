//! Saying that one has seen a grant.

use domain::Id;
use domain::permissions::Capability;
use domain::standalone_grants::{StandaloneGrant, wrong_label};
use records::{Tx, standalone_grants};
use serde_json::json;

use super::read::MISSING;
use super::{apart, subject, tenant};
use crate::act::Act;
use crate::{Caller, Hub, HubError};

/// Notes that somebody has seen the grant; its token is not used by that.
pub async fn acknowledge(
    hub: &Hub,
    caller: &Caller,
    id: Id<StandaloneGrant>,
    by: String,
) -> Result<StandaloneGrant, HubError> {
    caller.require(Capability::GrantsConsume)?;
    if let Some(wrong) = wrong_label("acknowledged_by", Some(&by)) {
        return Err(HubError::Invalid(vec![wrong]));
    }
    let act = Act::new(hub, caller, (id, by));
    let grant = hub.records.write(act, |tx, act| Box::pin(unit(tx, act))).await?;
    if let Some(store) = apart(hub)
        && let Err(error) = store.update(tenant(caller), &grant).await
    {
        tracing::warn!("grant {} was acknowledged, and its store was not told: {error}", grant.id);
    }
    Ok(grant)
}

async fn unit(tx: &mut Tx, act: &Act<(Id<StandaloneGrant>, String)>) -> Result<StandaloneGrant, HubError> {
    let (id, by) = &act.input;
    let known = standalone_grants::get_locked(tx, act.org(), *id).await?;
    act.confirm(tx, Capability::GrantsConsume).await?;
    let known = known.filter(|grant| grant.is_remembered(act.now)).ok_or(MISSING)?;
    let grant = known.acknowledged(by, act.now).map_err(HubError::Grant)?;
    standalone_grants::change(tx, &grant).await?;
    let details = json!({"acknowledged_by": by}).as_object().cloned().unwrap_or_default();
    act.record(tx, "grant:acknowledged", subject(&grant), details).await?;
    Ok(grant)
}
