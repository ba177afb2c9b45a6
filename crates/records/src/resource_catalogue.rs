//! What an organization says about its resources.

use domain::Id;
use domain::organizations::Organization;
use domain::resource_catalogue::ResourceCatalogue;
use serde_json::Value as Json;

use crate::{Error, Result, Tx, args, row, statement};

struct Stored {
    catalogue: Json,
}
row!(Stored { catalogue });

statement!(GET: Stored = "SELECT catalogue FROM rule_sets WHERE org_id = $1");

/// The catalogue; an organization that said nothing has an empty one.
pub async fn get(tx: &mut Tx, org: Id<Organization>) -> Result<ResourceCatalogue> {
    let Some(stored) = tx.opt(&GET, args![org]).await? else { return Ok(ResourceCatalogue::default()) };
    ResourceCatalogue::from_value(&stored.catalogue).map_err(|errors| Error::BadRow {
        column: "catalogue",
        reason: errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })
}
