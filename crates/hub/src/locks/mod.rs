//! Locks: asked for, kept, given back, looked at.
//!
//! A lock is no record: its engine has a journal of its own. What somebody must not miss goes from there into the
//! event log, at least once (`notes`); what an admin does to locks is on record before it is done.

mod acquire;
mod circles;
mod force_release;
mod hold;
mod look;
mod notes;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coordination::locks::local::{self, Local, Options, Ports, Time};
use coordination::locks::{Locks, Refusal};
use domain::accounts::{Account, AccountStatus};
use domain::agents::AgentAct;
use domain::locks::{FENCES_KEPT_BACK, LockKey};
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use records::{Engine as Records, accounts, agents, fence_epochs};

pub(crate) use circles::break_circles;

pub use acquire::{Ask, AskMany, acquire, acquire_many};
// The server shows these; it does not depend on the engine.
pub use coordination::locks::{
    Acquired, Counts, Graph, Held, Refusal as LockRefusal, Standing, Ticket, TicketStatus,
};
pub use force_release::force_release;
pub use hold::{heartbeat, is_current, release};
pub use look::{Wanted, graph, leave, list, queue, ticket};

use crate::agents::admitted;
use crate::clock::Clock;
use crate::{Caller, Hub, HubError};

/// How long a file of the journal is made before it is used.
pub const LOG_BYTES: u64 = 4 << 20;

const ENGINE: &str = "local";
/// How often it is looked whether the epoch has tokens left.
const EPOCH_LOOK: Duration = Duration::from_secs(10);

/// The engine and what it tells.
pub(crate) struct Engine {
    locks: Arc<Local>,
    notes: notes::Notes,
}

/// Monotonic time from here on; the clock on the wall is the hub's.
struct EngineTime {
    started: Instant,
    clock: Arc<dyn Clock>,
}

impl Time for EngineTime {
    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wall(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Opens the engine on its journal, in an epoch above all that were.
pub async fn open(hub: &Hub, dir: &Path, log_bytes: u64) -> Result<(), HubError> {
    let refused =
        |error: &dyn std::fmt::Display| HubError::Records(records::Error::Refused(error.to_string()));
    let path = dir.to_owned();
    let found = tokio::task::spawn_blocking(move || local::recover(&path)).await;
    let found = found.map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
    if found.dropped_bytes > 0 {
        tracing::warn!(
            "the lock journal breaks off; its last {} bytes were no whole batch and are left out. Nothing in them was \
             answered, unless the disk has changed them since",
            found.dropped_bytes
        );
    }
    let mut epoch = raise(hub, 1).await?;
    if epoch <= found.state.newest_epoch() {
        // The records are older than the journal, as after a restore of the database alone.
        epoch = raise(hub, found.state.newest_epoch() - epoch + 1).await?;
    }
    let (told, notes) = notes::channel(hub);
    let clock = Arc::clone(&hub.clock);
    let ids = Arc::clone(&hub.ids);
    let ports = Ports {
        time: Arc::new(EngineTime { started: Instant::now(), clock }),
        fresh: Arc::new(move || ids.fresh()),
        told,
    };
    let askers_patience = local::ASKERS_PATIENCE;
    let options = Options { dir: dir.to_owned(), log_bytes, may_commit: may_commit(hub), askers_patience };
    let started = tokio::task::spawn_blocking(move || Local::start(found, epoch, ports, options)).await;
    let locks = started.map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
    drop(hub.coordination.locks.set(Engine { locks: Arc::new(locks), notes }));
    Ok(())
}

/// Where several processes could share the records, only the one with the lease may go on.
fn may_commit(hub: &Hub) -> Box<dyn Fn() -> bool + Send> {
    if hub.records.engine() == Records::Sqlite {
        return Box::new(|| true);
    }
    // The engine is a part of this; it must not keep it.
    let coordination = Arc::downgrade(&hub.coordination);
    Box::new(move || {
        coordination
            .upgrade()
            .is_none_or(|coordination| coordination.lease.get().is_none_or(|lease| lease.is_held()))
    })
}

async fn raise(hub: &Hub, step: i64) -> Result<i64, HubError> {
    let input = (step, hub.clock.now());
    let raised = hub
        .records
        .write(input, |tx, (step, now)| Box::pin(fence_epochs::raise(tx, ENGINE, *step, *now)))
        .await;
    Ok(raised?)
}

/// Starts what ends locks whose time is over, and what notes happenings.
pub(crate) fn start(hub: &Hub) {
    let Some(engine) = hub.coordination.locks.get() else { return };
    notes::start(hub, engine);
    let (hub, locks) = (hub.clone(), Arc::clone(&engine.locks));
    hub.lifecycle.clone().spawn(async move {
        circles::sweep(&hub, &locks).await;
        let (mut looked, mut swept) = (Instant::now(), Instant::now());
        while !hub.lifecycle.is_stopping() {
            tokio::select! {
                () = tokio::time::sleep(local::TICK) => {}
                () = hub.lifecycle.stopping() => {}
            }
            locks.tick();
            if looked.elapsed() >= EPOCH_LOOK {
                looked = Instant::now();
                renew_epoch(&hub, &locks).await;
            }
            if swept.elapsed() >= circles::SWEEP {
                circles::sweep(&hub, &locks).await;
                swept = Instant::now();
            }
        }
        // Everybody who waits is answered now. It waits for the disk, so not on this thread.
        drop(tokio::task::spawn_blocking(move || locks.close()).await);
    });
}

async fn renew_epoch(hub: &Hub, locks: &Local) {
    if locks.fences_left() > FENCES_KEPT_BACK {
        return;
    }
    match raise(hub, 1).await {
        Ok(epoch) => locks.begin_epoch(epoch),
        Err(error) => {
            tracing::error!("the fencing tokens of this epoch end and there is no other yet: {error}")
        }
    }
}

/// The engine.
pub(crate) fn engine(hub: &Hub) -> Result<Arc<dyn Locks>, HubError> {
    let engine = hub.coordination.locks.get();
    let locks = engine.map(|engine| Arc::clone(&engine.locks) as Arc<dyn Locks>);
    locks.ok_or_else(|| Refusal::Unavailable("this server has no locks".into()).into())
}

/// What keeps locks from working; none if nothing does, or if this server has none.
#[must_use]
pub fn failure(hub: &Hub) -> Option<String> {
    hub.coordination.locks.get().and_then(|engine| engine.locks.failure()).map(|refusal| refusal.to_string())
}

/// How much there is, for the metrics.
#[must_use]
pub fn counts(hub: &Hub) -> Counts {
    hub.coordination.locks.get().map(|engine| engine.locks.counts()).unwrap_or_default()
}

/// Another number whenever anything about locks may be otherwise than it was.
pub(crate) fn changes(hub: &Hub) -> u64 {
    hub.coordination.locks.get().map_or(0, |engine| engine.locks.changes())
}

/// Ends what somebody holds and waits for who may not act any more. What it misses ends by itself: nobody can renew
/// it.
pub(crate) async fn let_go(hub: &Hub, org: Id<Organization>, agent: Id<Account>) {
    let Ok(locks) = engine(hub) else { return };
    if let Err(refusal) = locks.release_all(org, agent).await {
        tracing::warn!("locks of an agent that may not act any more end by themselves: {refusal}");
    }
}

/// For whom the caller acts: itself, or an agent it answers for.
async fn acting(hub: &Hub, caller: &Caller, asked: Option<Id<Account>>) -> Result<Id<Account>, HubError> {
    caller.require(Capability::LocksWrite)?;
    let me = caller.credential.account.id;
    let Some(agent) = asked.filter(|agent| *agent != me) else { return Ok(me) };
    let input = (caller.credential.organization.id, agent);
    let found = hub.records.read(input, |tx, &(org, id)| {
        Box::pin(async move {
            let Some(agent) = agents::get(tx, org, id).await? else { return Ok(None) };
            Ok::<_, HubError>(accounts::get(tx, id).await?.map(|account| (agent, account)))
        })
    });
    let (agent, account) = found.await?.ok_or(HubError::NotFound("agent"))?;
    let agent = admitted(&caller.credential, Some(agent), AgentAct::Lock)?;
    if agent.deactivated_at.is_some() || account.status != AccountStatus::Active {
        return Err(HubError::Forbidden("this agent may not act any more".into()));
    }
    Ok(agent.id)
}

fn key(pointer: &str, text: &str) -> Result<LockKey, HubError> {
    text.parse().map_err(|bad: domain::text::BadText| HubError::field(pointer, bad.to_string()))
}
