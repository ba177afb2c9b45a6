//! This process among others: with local coordination only one may serve a database (DECISIONS 1).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use domain::Timestamp;
use records::instances::{self, Instance};
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{Hub, HubError};

const SLOT: &str = "local-coordination";
const LEASE: Duration = Duration::from_secs(20);
const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// How often a server that waits for the lease of another looks at it.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
// Several chances to renew before the lease ends.
const _: () = assert!(RENEWED_EVERY.as_secs() * 4 <= LEASE.as_secs());

/// The right of this process to be the one that coordinates.
#[derive(Clone)]
pub struct Lease {
    id: Uuid,
    valid_until_micros: Arc<AtomicI64>,
    /// The same, counted from the start of the machine.
    held_until_ms: Arc<AtomicU64>,
}

impl Lease {
    /// Whether nobody else can hold it at this time.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now.micros() < self.valid_until_micros.load(Ordering::Acquire)
    }

    /// The same for who must not be stopped by somebody who sets the clock: by time that only goes by, also while the
    /// machine sleeps.
    #[must_use]
    pub fn is_held(&self) -> bool {
        since_boot_ms() < self.held_until_ms.load(Ordering::Acquire)
    }
}

fn since_boot_ms() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0) * 1000 + nanos.unwrap_or(0) / 1_000_000
}

/// Takes the lease, after a crash as soon as that of the crashed server has ended, or says who has it. It is renewed
/// until the hub stops; a hub that loses it stops.
pub async fn hold(hub: &Hub) -> Result<Lease, HubError> {
    let lease =
        Lease { id: hub.ids.fresh(), valid_until_micros: Arc::default(), held_until_ms: Arc::default() };
    if !renew(hub, &lease).await? {
        outlast(hub, &lease).await?;
    }
    let (hub, renewed) = (hub.clone(), lease.clone());
    hub.lifecycle.clone().spawn(async move {
        keep(&hub, &renewed).await;
        let id = renewed.id;
        let released = hub.records.write(id, |tx, &id| Box::pin(instances::release(tx, id))).await;
        if let Err(error) = released {
            tracing::warn!("the lease could not be given back, it ends by itself: {error}");
        }
    });
    Ok(lease)
}

/// Waits for the end of another server's lease. If that server lives it renews the lease meanwhile, and keeps it: so
/// a restart after a crash needs nobody to try again, and a second server is refused as soon as the first has moved. One
/// that has not moved for as long as a lease lasts has none any more, whatever the clocks on the walls say: the one it
/// was counted by may have been set since.
async fn outlast(hub: &Hub, lease: &Lease) -> Result<(), HubError> {
    let deadline = Instant::now() + LEASE + RENEWED_EVERY;
    let mut first: Option<(Instance, Instant)> = None;
    loop {
        let Some(holder) = instances::holder(&hub.records, SLOT).await? else {
            if renew(hub, lease).await? {
                return Ok(());
            }
            continue;
        };
        let (before, seen) = first.get_or_insert_with(|| {
            tracing::warn!(
                "another server has used this database and holds it until {}; waiting whether it lives or has crashed",
                holder.lease_until
            );
            (holder.clone(), Instant::now())
        });
        let lives = (before.id, before.lease_until) != (holder.id, holder.lease_until);
        if lives || Instant::now() >= deadline {
            return Err(HubError::Records(records::Error::Refused(format!(
                "another server uses this database with coordination of its own (its lease lasts until {}). Stop it \
                 before this one is started, or give this one a database of its own with DATABASE_URL or \
                 COUNTERSIGN_PG_SCHEMA.",
                holder.lease_until
            ))));
        }
        // It was renewed before it was seen, and whoever did that has counted from before.
        let is_over = seen.elapsed() >= LEASE;
        let is_past = holder.lease_until <= hub.clock.now();
        if (is_over || is_past) && take(hub, lease, is_over.then_some(holder)).await? {
            return Ok(());
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn keep(hub: &Hub, lease: &Lease) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(RENEWED_EVERY) => {}
            () = hub.lifecycle.stopping() => return,
        }
        match renew(hub, lease).await {
            Ok(true) => {}
            Ok(false) => {
                tracing::error!("another server has taken over this database; stopping");
                hub.lifecycle.announce_stop();
                return;
            }
            Err(error) => tracing::warn!("the lease could not be renewed: {error}"),
        }
    }
}

async fn renew(hub: &Hub, lease: &Lease) -> Result<bool, HubError> {
    take(hub, lease, None).await
}

/// Takes the lease or renews it; also from another process, if it still has the one that is over.
async fn take(hub: &Hub, lease: &Lease, over: Option<Instance>) -> Result<bool, HubError> {
    // Before it is asked for: nobody else counts from an earlier moment.
    let held_until_ms = since_boot_ms() + LEASE.as_secs() * 1000;
    let now = hub.clock.now();
    // Another time than the last, also where the clock stands because it was set back: whoever looks sees that it moves.
    let last = Timestamp::from_micros(lease.valid_until_micros.load(Ordering::Acquire));
    let instance = Instance {
        id: lease.id,
        kind: "server".into(),
        name: "serve".into(),
        slot: Some(SLOT.into()),
        lease_until: now.plus(LEASE).after(last),
    };
    let until = instance.lease_until.micros();
    let held = hub
        .records
        .write((instance, now, over), |tx, (instance, now, over)| {
            Box::pin(async move {
                if let Some(over) = over {
                    instances::forget(tx, over).await?;
                }
                instances::take_slot(tx, instance, *now).await
            })
        })
        .await?;
    if held {
        lease.valid_until_micros.store(until, Ordering::Release);
        lease.held_until_ms.store(held_until_ms, Ordering::Release);
    }
    Ok(held)
}
