//! Circles of those who wait for each other that were closed while nobody looked.

use std::sync::Arc;
use std::time::Duration;

use coordination::locks::Locks;
use domain::Id;
use domain::organizations::Organization;

use super::engine;
use crate::{Hub, settings};

/// How often all that wait are looked at (DEADLOCK-02). Nothing waits for this: a circle is broken when it is closed,
/// unless the search was off then, or the hub ended in between.
pub(super) const SWEEP: Duration = Duration::from_secs(30);

/// Breaks what circles there are, where organizations want that.
pub(super) async fn sweep(hub: &Hub, locks: &Arc<impl Locks + 'static>) {
    for org in locks.waiting_in() {
        match settings::of(hub, org).await {
            Ok(settings) if settings.feature_deadlock_detection => break_in(Arc::clone(locks), org).await,
            Ok(_) => {}
            Err(error) => tracing::warn!("circles of locks are looked for again later: {error}"),
        }
    }
}

/// Breaks the circles of an organization that has switched the search on.
pub(crate) async fn break_circles(hub: &Hub, org: Id<Organization>) {
    if let Ok(locks) = engine(hub) {
        break_in(locks, org).await;
    }
}

/// It looks at everybody who waits, so not on a thread that others need.
async fn break_in(locks: Arc<impl Locks + ?Sized + 'static>, org: Id<Organization>) {
    drop(tokio::task::spawn_blocking(move || locks.break_circles(org)).await);
}
