//! Whether grants can be made and used right now.

use domain::permissions::Capability;
use domain::standalone_grants::StoreKind;

use super::worker::WorkerHealth;
use super::{STORE_HEALTHY, store};
use crate::{Caller, Hub, HubError};

/// How the service stands.
pub struct Health {
    /// Whether all is as it must be.
    pub healthy: bool,
    /// Whether grants are in Redis, and it answers.
    pub redis_available: bool,
    /// How the cleanup stands; none if it was never started.
    pub worker: Option<WorkerHealth>,
    /// In words.
    pub message: &'static str,
}

/// Asks the store, and looks at the cleanup.
pub async fn health(hub: &Hub, caller: &Caller) -> Result<Health, HubError> {
    caller.require(Capability::GrantsRead)?;
    let store_works = note_store(hub).await;
    let worker = hub.coordination.grants.worker.health(hub, caller.credential.organization.id);
    let worker_works = worker.as_ref().is_some_and(|worker| worker.healthy);
    let message = match (store_works, worker_works) {
        (true, true) => "Approval system is healthy",
        (false, _) => "The approval store does not answer",
        (true, false) => "The cleanup worker does not run as it should",
    };
    let redis_available = store_works && store(hub).kind() == StoreKind::Redis;
    Ok(Health { healthy: store_works && worker_works, redis_available, worker, message })
}

/// Asks the store whether it works, and notes the answer for those who watch.
pub async fn note_store(hub: &Hub) -> bool {
    let works = match store(hub).health_check().await {
        Ok(works) => works,
        Err(error) => {
            tracing::warn!("{error}");
            false
        }
    };
    metrics::gauge!(STORE_HEALTHY).set(if works { 1.0 } else { 0.0 });
    works
}
