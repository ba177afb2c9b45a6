//! Who works on what. A claim ends with its attempt, whatever happened to locks.

use std::collections::BTreeMap;

use domain::executions::Execution;
use domain::gate::Claim;
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use serde_json::json;

use crate::{Result, Tx, args, row, statement};

struct Stored {
    resource: String,
    exclusive_by: Option<Id<Execution>>,
    shared_count: u32,
    high_fence: i64,
}
row!(Stored { resource, exclusive_by, shared_count, high_fence });

statement!(
    MEET = "INSERT INTO resource_claims (org_id, resource, shared_count, high_fence, created_at, updated_at) \
            VALUES ($1, $2, 0, 0, $3, $3) ON CONFLICT (org_id, resource) DO NOTHING"
);
statement!(
    LOCKED: Stored =
        lite "SELECT resource, exclusive_by, shared_count, high_fence FROM resource_claims WHERE org_id = $1 \
              AND resource IN (SELECT value FROM json_each($2)) ORDER BY resource",
        pg "SELECT resource, exclusive_by, shared_count, high_fence FROM resource_claims WHERE org_id = $1 \
            AND resource IN (SELECT value FROM jsonb_array_elements_text($2)) ORDER BY resource FOR UPDATE",
        pg_read "SELECT resource, exclusive_by, shared_count, high_fence FROM resource_claims WHERE org_id = $1 \
                 AND resource IN (SELECT value FROM jsonb_array_elements_text($2)) ORDER BY resource"
);
statement!(
    PUT = "UPDATE resource_claims SET exclusive_by = $1, shared_count = $2, high_fence = $3, updated_at = $4 \
           WHERE org_id = $5 AND resource = $6"
);

/// The claims on these resources, which nobody changes until this unit ends. Resources nobody ever claimed have one
/// from now on, so that there is something to keep others from.
pub async fn meet(
    tx: &mut Tx,
    org: Id<Organization>,
    resources: &[String],
    now: Timestamp,
) -> Result<BTreeMap<String, Claim>> {
    for resource in resources {
        tx.push(&MEET, args![org, resource, now]).await?;
    }
    look(tx, org, resources).await
}

/// The claims on these resources; inside a unit nobody changes them until it ends.
pub async fn look(
    tx: &mut Tx,
    org: Id<Organization>,
    resources: &[String],
) -> Result<BTreeMap<String, Claim>> {
    let found = tx.all(&LOCKED, args![org, &json!(resources)]).await?;
    let claim = |stored: Stored| {
        let Stored { resource, exclusive_by, shared_count, high_fence } = stored;
        (resource.clone(), Claim { resource, exclusive_by, shared_count, high_fence })
    };
    Ok(found.into_iter().map(claim).collect())
}

/// Writes a claim that this unit has met.
pub async fn put(tx: &mut Tx, org: Id<Organization>, claim: &Claim, now: Timestamp) -> Result<()> {
    let values =
        args![claim.exclusive_by, i64::from(claim.shared_count), claim.high_fence, now, org, &claim.resource];
    tx.change_one(&PUT, values, "a claim").await
}
