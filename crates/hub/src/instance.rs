//! This process among others: with local coordination only one may serve a database (DECISIONS 1).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::Timestamp;
use records::instances::{self, Instance};
use uuid::Uuid;

use crate::{Hub, HubError};

const SLOT: &str = "local-coordination";
const LEASE: Duration = Duration::from_secs(20);
const RENEWED_EVERY: Duration = Duration::from_secs(5);
// Several chances to renew before the lease ends.
const _: () = assert!(RENEWED_EVERY.as_secs() * 4 <= LEASE.as_secs());

/// The right of this process to be the one that coordinates.
#[derive(Clone)]
pub struct Lease {
    id: Uuid,
    valid_until_micros: Arc<AtomicI64>,
}

impl Lease {
    /// Whether nobody else can hold it at this time.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now.micros() < self.valid_until_micros.load(Ordering::Acquire)
    }
}

/// Takes the lease, or says who has it. It is renewed until the hub stops; a hub that loses it stops.
pub async fn hold(hub: &Hub) -> Result<Lease, HubError> {
    let lease = Lease { id: hub.ids.fresh(), valid_until_micros: Arc::new(AtomicI64::new(0)) };
    if !renew(hub, &lease).await? {
        let who = instances::holder(&hub.records, SLOT).await?;
        let until = who.map_or_else(String::new, |who| format!(", lease until {}", who.lease_until));
        return Err(HubError::Records(records::Error::Refused(format!(
            "another server uses this database with coordination of its own (process {SLOT}{until}). Stop it, or wait \
             {} s after a crash; several servers need REDIS_URL.",
            LEASE.as_secs()
        ))));
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
    let now = hub.clock.now();
    let instance = Instance {
        id: lease.id,
        kind: "server".into(),
        name: "serve".into(),
        slot: Some(SLOT.into()),
        lease_until: now.plus(LEASE),
    };
    let until = instance.lease_until.micros();
    let held = hub
        .records
        .write((instance, now), |tx, (instance, now)| Box::pin(instances::take_slot(tx, instance, *now)))
        .await?;
    if held {
        lease.valid_until_micros.store(until, Ordering::Release);
    }
    Ok(held)
}
