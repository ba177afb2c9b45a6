//! What a change of a grant writes: its row, and the counts of its organization.

use std::collections::BTreeMap;

use domain::organizations::Organization;
use domain::standalone_grants::{GrantCounts, StandaloneGrant};
use domain::{Id, Timestamp};
use records::{Error, Tx, standalone_grants};

/// A new grant.
pub(super) async fn made(tx: &mut Tx, grant: &StandaloneGrant) -> Result<(), Error> {
    standalone_grants::add(tx, grant).await?;
    let (org, now) = (grant.org_id, grant.created_at);
    standalone_grants::count(tx, org, grant.shard(), GrantCounts::MADE, now).await
}

/// A grant whose token was used. [`Error::Duplicate`] if it was used before.
pub(super) async fn used(tx: &mut Tx, grant: &StandaloneGrant, now: Timestamp) -> Result<(), Error> {
    standalone_grants::use_token(tx, grant, now).await?;
    standalone_grants::change(tx, grant).await?;
    standalone_grants::count(tx, grant.org_id, grant.shard(), GrantCounts::USED, now).await
}

/// Ends those of these grants that are pending; which they were.
pub(super) async fn ended(
    tx: &mut Tx,
    org: Id<Organization>,
    ids: &[Id<StandaloneGrant>],
    now: Timestamp,
) -> Result<Vec<StandaloneGrant>, Error> {
    let mut ended = Vec::new();
    let mut counts: BTreeMap<u8, GrantCounts> = BTreeMap::new();
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    for id in ids {
        let known = standalone_grants::get_locked(tx, org, id).await?;
        let Some(grant) = known.and_then(|grant| grant.expired(now)) else { continue };
        standalone_grants::change(tx, &grant).await?;
        let count = counts.entry(grant.shard()).or_default();
        *count = count.plus(GrantCounts::LOST);
        ended.push(grant);
    }
    for (shard, count) in counts {
        standalone_grants::count(tx, org, shard, count, now).await?;
    }
    Ok(ended)
}
