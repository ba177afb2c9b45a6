//! From what the engine tells to events: live ones at once, the others into the log, at least once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coordination::locks::{Happening, Locks, Receipt, Told as Listener, What};
use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::events::EventDraft;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, accounts, events};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::Engine;
use crate::caller::plain_entry;
use crate::events::follow::Told;
use crate::identity::bootstrap::SYSTEM_EMAIL;
use crate::{Coordination, Hub, HubError, audit};

/// Happenings written in one unit.
const BATCH_MAX: usize = 500;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const SERVICE: &str = "locks";

/// Where happenings arrive that must be noted. The journal keeps them too, so this is as long as the log is behind.
pub(super) struct Notes {
    arriving: Mutex<Option<mpsc::UnboundedReceiver<Happening>>>,
}

struct Teller {
    coordination: std::sync::Weak<Coordination>,
    ids: Arc<dyn crate::ids::Ids>,
    notes: mpsc::UnboundedSender<Happening>,
}

pub(super) fn channel(hub: &Hub) -> (Arc<dyn Listener>, Notes) {
    let (notes, arriving) = mpsc::unbounded_channel();
    // The hub owns the engine, and the engine this.
    let coordination = Arc::downgrade(&hub.coordination);
    let teller = Teller { coordination, ids: Arc::clone(&hub.ids), notes };
    (Arc::new(teller), Notes { arriving: Mutex::new(Some(arriving)) })
}

impl Listener for Teller {
    fn listens(&self) -> bool {
        self.coordination.upgrade().is_some_and(|coordination| coordination.live.has_listeners())
    }

    fn tell(&self, happening: Happening) {
        if happening.receipt.is_some() {
            // Without a reader it stays in the journal, and is told again at the next start.
            drop(self.notes.send(happening));
            return;
        }
        if let Some(coordination) = self.coordination.upgrade() {
            coordination.live.tell(Arc::new(Told::new(event(&happening, self.ids.id()).at(None))));
        }
    }
}

fn event(happening: &Happening, id: Id<domain::events::Event>) -> EventDraft {
    let agent = happening.owner.agent;
    let by_itself = matches!(happening.what, What::Expired | What::Deadlock);
    EventDraft {
        id,
        org: Some(happening.owner.org),
        event_type: happening.what.event_type().to_owned(),
        occurred_at: happening.at,
        actor: (!by_itself).then(|| agent.raw()),
        source: SERVICE.into(),
        subject: Subject::new("lock", &happening.key),
        payload: payload(happening),
    }
}

fn payload(happening: &Happening) -> Value {
    let mut payload = json!({
        "key": happening.key.as_str(), "agent_id": happening.owner.agent.to_string(),
        "owner": happening.owner.name, "lock_id": happening.lock.map(|id| id.to_string()),
        "fencing_token": happening.fence, "ticket_id": happening.ticket.map(|id| id.to_string()),
    });
    if happening.what == What::Deadlock {
        payload["cycle"] = cycle(happening);
    }
    payload
}

fn cycle(happening: &Happening) -> Value {
    let edges = happening.circle.iter().map(|[agent, owner, key, blocking_agent, blocking_owner]| {
        json!({
            "agent_id": agent, "owner": owner, "waits_for": key, "held_by_agent_id": blocking_agent,
            "held_by_owner": blocking_owner,
        })
    });
    edges.collect()
}

/// Starts writing down what arrives.
pub(super) fn start(hub: &Hub, engine: &Engine) {
    let arriving = engine.notes.arriving.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut arriving) = arriving else { return };
    let (hub, locks) = (hub.clone(), Arc::clone(&engine.locks));
    hub.lifecycle.clone().spawn(async move {
        let mut batch = Vec::new();
        while !hub.lifecycle.is_stopping() {
            if batch.is_empty() {
                tokio::select! {
                    count = arriving.recv_many(&mut batch, BATCH_MAX) => if count == 0 { return },
                    () = hub.lifecycle.stopping() => return,
                }
            }
            match write(&hub, &batch).await {
                Ok(()) => {
                    let receipts: Vec<Receipt> = batch.drain(..).filter_map(|told| told.receipt).collect();
                    locks.noted(&receipts);
                }
                Err(error) => {
                    tracing::warn!("what happened to locks could not be noted yet: {error}");
                    tokio::select! {
                        () = tokio::time::sleep(RETRY_INTERVAL) => {}
                        () = hub.lifecycle.stopping() => {}
                    }
                }
            }
        }
    });
}

/// A happening with the ids of what is written of it.
struct Note {
    event: EventDraft,
    loser: Option<(Happening, Id<AuditEntry>)>,
}

async fn write(hub: &Hub, batch: &[Happening]) -> Result<(), HubError> {
    let note = |told: &Happening| Note {
        event: event(told, hub.ids.id()),
        loser: (told.what == What::Deadlock).then(|| (told.clone(), hub.ids.id())),
    };
    let input: (Vec<Note>, Timestamp) = (batch.iter().map(note).collect(), hub.clock.now());
    hub.records
        .write(input, |tx, (notes, now)| {
            Box::pin(async move {
                for note in notes {
                    events::append(tx, &note.event).await?;
                    if let Some((happening, id)) = &note.loser {
                        record_loser(tx, happening, *id, *now).await?;
                    }
                }
                Ok(())
            })
        })
        .await
}

/// Nobody did this: the hub itself chose who loses.
async fn record_loser(
    tx: &mut Tx,
    happening: &Happening,
    id: Id<AuditEntry>,
    now: Timestamp,
) -> Result<(), HubError> {
    let system = accounts::by_email(tx, SYSTEM_EMAIL).await?;
    let actor: Id<Account> = system.map_or(happening.owner.agent, |system| system.id);
    let chain = Chain::Organization(happening.owner.org);
    let subject = Subject::new("lock", &happening.key);
    let mut entry = plain_entry(id, chain, actor, (happening.what.event_type(), subject, SERVICE), now);
    entry.details = Map::from_iter([
        ("agent_id".to_owned(), json!(happening.owner.agent.to_string())),
        ("owner".to_owned(), json!(happening.owner.name)),
        ("cycle".to_owned(), cycle(happening)),
    ]);
    audit::record(tx, &entry).await
}
