//! Forgetting what people were told together with the events, read or not: what it told of is no longer in the log either.

use domain::organizations::Organization;
use domain::{Id, Timestamp};
use records::notifications;

use crate::{Hub, HubError};

/// Forgets what the organization's people were told before this time, in small units.
pub(crate) async fn forget_of(hub: &Hub, org: Id<Organization>, cutoff: Timestamp) -> Result<(), HubError> {
    let forget = || {
        hub.records
            .write((org, cutoff), |tx, &(org, cutoff)| Box::pin(notifications::forget(tx, org, cutoff)))
    };
    while !hub.lifecycle.is_stopping() && forget().await? > 0 {}
    Ok(())
}
