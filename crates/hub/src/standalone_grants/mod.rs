//! Standalone grants: single-use tokens for one tenant and one hash, which S002 calls approvals.
//!
//! Every grant has a row in the records, whichever store has it too. The row decides, in the unit that writes the audit
//! row and the event: a store that is lost, or comes back older than it was, makes no token good again. A store that does
//! not have a token makes it useless. A task's own Grant is another thing, which nothing here sees.

mod acknowledge;
mod cleanup;
mod consume;
mod follow;
mod health;
mod in_records;
mod mint;
mod read;
mod rows;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use domain::standalone_grants::{GrantRefusal, StandaloneGrant, StoreKind, is_tenant};
use domain::subject::Subject;
use records::Db;
use serde_json::{Value, json};

pub use acknowledge::acknowledge;
pub use cleanup::clean;
pub(crate) use cleanup::clean_all;
pub use consume::{Consumption, consume};
// Whoever puts a hub together chooses one of these.
pub use coordination::standalone_grants::{
    Answer, InMemory, InRedis, Options as RedisOptions, Store, StoreError, Tenant, Use,
};
pub use follow::follow;
pub use health::{Health, health, note_store};
pub use in_records::InRecords;
pub use mint::{Minted, NewGrant, mint};
pub use read::{Listed, Stats, get, pending, stats};
pub use worker::{WorkerHealth, WorkerStats};

use crate::{Caller, Hub, HubError};

/// The event of a grant that was made.
pub const TOLD_CREATED: &str = "grant:created";
/// The event of a token that was used.
pub const TOLD_CONSUMED: &str = "grant:consumed";
/// The event of a grant that nobody used in time.
pub const TOLD_EXPIRED: &str = "grant:expired";
const TOLD: [&str; 3] = [TOLD_CREATED, TOLD_CONSUMED, TOLD_EXPIRED];

/// Grants that were made.
pub const CREATED: &str = "countersign_grants_created_total";
/// Grants whose token was used.
pub const CONSUMED: &str = "countersign_grants_consumed_total";
/// Grants that nobody used in time.
pub const EXPIRED: &str = "countersign_grants_expired_total";
/// Runs of the cleanup.
pub const CLEANUP_RUNS: &str = "countersign_grant_cleanup_runs_total";
/// Grants whose remains the cleanup cleared away.
pub const CLEANUP_CLEANED: &str = "countersign_grant_cleanup_cleaned_total";
/// Whether the store of grants works.
pub const STORE_HEALTHY: &str = "countersign_grant_store_healthy";

/// What the operator decided about grants.
pub struct Settings {
    /// The store besides the records; none where the records are the store.
    pub apart: Option<Arc<dyn Store>>,
    /// How long a token lives when nobody says.
    pub default_ttl: Duration,
    /// How often what has expired is cleared away.
    pub cleanup_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let (default_ttl, cleanup_interval) = (Duration::from_secs(3600), Duration::from_secs(300));
        Self { apart: None, default_ttl, cleanup_interval }
    }
}

/// The store and the state of its cleanup.
pub(crate) struct Service {
    store: Arc<dyn Store>,
    worker: worker::Worker,
}

impl Service {
    pub(crate) fn new(records: &Db, settings: &Settings) -> Self {
        let in_records = || Arc::new(InRecords(records.clone())) as Arc<dyn Store>;
        let store = settings.apart.clone().unwrap_or_else(in_records);
        Self { store, worker: worker::Worker::default() }
    }
}

/// Says where grants are kept, and that they are cleaned up from now on.
pub(crate) fn start(hub: &Hub) {
    let store = match hub.coordination.grants.store.kind() {
        StoreKind::Records => "RecordsApprovalStore",
        StoreKind::Memory => "InMemoryApprovalStore",
        StoreKind::Redis => "RedisApprovalStore",
    };
    let place = hub.coordination.grants.store.place().map(|place| format!(" (url={place})"));
    tracing::info!("[ApprovalsService] Using {store}{}", place.unwrap_or_default());
    hub.coordination.grants.worker.start(hub.clock.now());
    let interval = hub.config.grants.cleanup_interval.as_secs();
    tracing::info!("[ApprovalCleanupWorker] Started (interval={interval}s)");
    // The job's hour may be far: what another store had, or a memory that is gone, should not look usable until then.
    let at_start = hub.clone();
    hub.lifecycle.spawn(async move {
        if let Err(error) = clean_all(&at_start).await {
            tracing::warn!("grants are cleaned up at the next hour of the job only: {error}");
        }
    });
}

fn store(hub: &Hub) -> &dyn Store {
    &*hub.coordination.grants.store
}

/// The store, where it is another place than the records.
fn apart(hub: &Hub) -> Option<&dyn Store> {
    Some(store(hub)).filter(|store| store.kind() != StoreKind::Records)
}

fn tenant(caller: &Caller) -> Tenant {
    Tenant::of(&caller.credential.organization)
}

fn must_be_tenant(caller: &Caller, named: &str) -> Result<(), HubError> {
    match is_tenant(&caller.credential.organization, named) {
        true => Ok(()),
        false => Err(HubError::Grant(GrantRefusal::TenantMismatch)),
    }
}

/// Who somebody says they are, or else who they are.
fn label(caller: &Caller, said: Option<String>) -> String {
    said.unwrap_or_else(|| caller.credential.account.id.to_string())
}

fn subject(grant: &StandaloneGrant) -> Subject {
    Subject::new("standalone_grant", grant.id)
}

/// What events tell of a grant.
fn facts(grant: &StandaloneGrant) -> Value {
    json!({
        "approval_id": grant.id.to_string(), "tenant_id": grant.org_id.to_string(), "ir_hash": grant.ir_hash,
        "status": grant.status.as_str(), "expires_at": grant.expires_at.to_string(),
    })
}
