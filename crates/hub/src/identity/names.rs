//! What those are called whom the records name by their id. Only for ids that the caller was shown already: a name is no
//! secret to whoever sees what somebody did.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::accounts::Account;
use records::accounts::{self, Called};

use crate::{Caller, Hub, HubError};

/// What these are called. Whoever is not there any more is not in it.
pub async fn names(
    hub: &Hub,
    caller: &Caller,
    ids: impl IntoIterator<Item = Id<Account>>,
) -> Result<BTreeMap<Id<Account>, Called>, HubError> {
    let ids: BTreeSet<Id<Account>> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let input = (caller.credential.organization.id, ids.into_iter().collect::<Vec<_>>());
    let found: Vec<Called> = hub
        .records
        .read(input, |tx, (org, ids)| Box::pin(async move { accounts::called(tx, *org, ids).await }))
        .await?;
    Ok(found.into_iter().map(|called| (called.id, called)).collect())
}
