//! Forgetting events after the organization's retention.

use std::time::Duration;

use domain::Id;
use domain::organizations::Organization;
use records::{events, organizations};

use crate::{Hub, HubError, notifications, settings};

/// How long the instance's own events are kept.
const INSTANCE_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// Forgets what is too old, and what people were told of it, in small units.
pub async fn forget_old(hub: &Hub) -> Result<(), HubError> {
    for organization in organizations::all(&hub.records).await? {
        forget_of(hub, organization.id).await?;
    }
    let cutoff = hub.clock.now().minus(INSTANCE_RETENTION);
    let forget = || hub.records.write(cutoff, |tx, &cutoff| Box::pin(events::forget_instance(tx, cutoff)));
    while !hub.lifecycle.is_stopping() && forget().await? > 0 {}
    Ok(())
}

async fn forget_of(hub: &Hub, org: Id<Organization>) -> Result<(), HubError> {
    let retention = settings::of(hub, org).await?.events_retention;
    let now = hub.clock.now();
    let cutoff = now.minus(Duration::from_secs(retention.into()));
    let forget = || {
        hub.records.write((org, cutoff, now), |tx, &(org, cutoff, now)| {
            Box::pin(events::forget(tx, org, cutoff, now))
        })
    };
    while !hub.lifecycle.is_stopping() && forget().await? > 0 {}
    notifications::forget_of(hub, org, cutoff).await
}
