//! What an organization says about its resources.

use domain::canonical::Sha256Hash;
use domain::permissions::Capability;
use domain::resource_catalogue::ResourceCatalogue;
use domain::subject::Subject;
use records::Tx;
use records::rule_sets::{self, RuleSetRow};
use serde_json::{Map, json};

use crate::act::Act;
use crate::{Caller, Hub, HubError, etag as tags, rules};

/// What a reader must send to replace exactly this.
#[must_use]
pub fn etag(catalogue: &ResourceCatalogue) -> String {
    format!("\"{}\"", hex::encode(&Sha256Hash::of_value(&catalogue.to_value()).0[..16]))
}

/// The catalogue of the caller's organization.
pub async fn get(hub: &Hub, caller: &Caller) -> Result<ResourceCatalogue, HubError> {
    caller.require(Capability::PoliciesRead)?;
    let row = rule_sets::read(&hub.records, caller.credential.organization.id).await?;
    row.map(|row| row.catalogue).ok_or(HubError::NotFound("resource catalogue"))
}

struct Replacement {
    catalogue: ResourceCatalogue,
    if_match: Option<String>,
}

/// Replaces the catalogue, whole. Tasks that are being reviewed keep the score they were given.
pub async fn replace(
    hub: &Hub,
    caller: &Caller,
    catalogue: ResourceCatalogue,
    if_match: Option<String>,
) -> Result<ResourceCatalogue, HubError> {
    caller.require(Capability::PoliciesWrite)?;
    let input = Act::new(hub, caller, Replacement { catalogue, if_match });
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Replacement>) -> Result<ResourceCatalogue, HubError> {
    let Replacement { catalogue, if_match } = &act.input;
    let before = rule_sets::get_locked(tx, act.org()).await?;
    act.confirm(tx, Capability::PoliciesWrite).await?;
    tags::require(if_match.as_deref(), &etag(&before.catalogue))?;
    if before.catalogue == *catalogue {
        return Ok(before.catalogue);
    }
    let next = RuleSetRow { catalogue: catalogue.clone(), ..before.clone() };
    rules::renew(tx, &*act.hub.ids, act.org(), &next, act.now).await?;
    let details = json!({"from": before.catalogue.to_value(), "to": catalogue.to_value()});
    let details = Map::from_iter([("rules".to_owned(), details)]);
    act.record(tx, "resource_catalogue:changed", Subject::new("organization", act.org()), details).await?;
    Ok(catalogue.clone())
}
