//! Seals rows within a second of their commit.

use std::sync::Arc;
use std::time::Duration;

use domain::Id;
use domain::Timestamp;
use domain::audit::seal::{SEAL_LEAVES_MAX, Seal};
use domain::audit::{Chain, merkle};
use domain::events::{Event, EventDraft};
use domain::subject::Subject;
use ed25519_dalek::SigningKey;
use records::audit::seals;
use records::{Tx, events};
use serde_json::json;

use crate::{Hub, HubError};

/// Rows wait this long for company, so that a busy second makes few seals.
const GATHER: Duration = Duration::from_millis(300);
/// On PostgreSQL another server's rows give no signal here; and a failed round is tried again.
const LOOK_INTERVAL: Duration = Duration::from_millis(600);
/// Rows under one seal: every other unit waits while they are marked. Whoever checks takes seals of up to
/// [`SEAL_LEAVES_MAX`].
const SEALED_AT_ONCE: usize = 256;
const _: () = assert!(SEALED_AT_ONCE <= SEAL_LEAVES_MAX);
/// More often than this one does not lose to another sealer by chance.
const ATTEMPTS_MAX: u32 = 5;
// Sealing lags at most a second.
const _: () = assert!(GATHER.as_millis() + LOOK_INTERVAL.as_millis() < 1000);

/// Starts sealing.
pub fn start(hub: &Hub) {
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        let mut appended = hub.records.signals().audit.subscribe();
        while !hub.lifecycle.is_stopping() {
            if let Err(error) = seal_all(&hub).await {
                tracing::warn!("audit rows could not be sealed: {error}");
            }
            tokio::select! {
                _ = appended.changed() => {}
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                () = hub.lifecycle.stopping() => {}
            }
            tokio::select! {
                () = tokio::time::sleep(GATHER) => {}
                () = hub.lifecycle.stopping() => {}
            }
        }
    });
}

/// Seals everything that is not sealed. How many seals that took.
pub async fn seal_all(hub: &Hub) -> Result<usize, HubError> {
    let mut made = 0;
    for chain in seals::unsealed_chains(&hub.records).await? {
        while let Some(seal) = seal_some(hub, chain).await? {
            // The head kept elsewhere: a chain cut off later no longer contains it.
            tracing::info!(%chain, number = seal.number, "audit seal {} of {chain}: {}", seal.number, hex::encode(seal.hash));
            made += 1;
            if seal.leaves.len() < SEALED_AT_ONCE {
                break;
            }
        }
    }
    Ok(made)
}

struct Sealing {
    chain: Chain,
    seal: Id<Seal>,
    event: Id<Event>,
    signer: Arc<SigningKey>,
    now: Timestamp,
}

/// On PostgreSQL another sealer may take the number first; its seal is then the head that is sealed behind.
async fn seal_some(hub: &Hub, chain: Chain) -> Result<Option<Seal>, HubError> {
    let mut attempts = 1;
    loop {
        match seal_once(hub, chain).await {
            Err(HubError::Records(records::Error::Duplicate { .. })) if attempts < ATTEMPTS_MAX => {
                attempts += 1
            }
            made => return made,
        }
    }
}

async fn seal_once(hub: &Hub, chain: Chain) -> Result<Option<Seal>, HubError> {
    let sealing = Sealing {
        chain,
        seal: hub.ids.id(),
        event: hub.ids.id(),
        signer: Arc::new(hub.config.keys.signing_key()?),
        now: hub.clock.now(),
    };
    hub.records.write(sealing, |tx, sealing| Box::pin(unit(tx, sealing))).await
}

async fn unit(tx: &mut Tx, sealing: &Sealing) -> Result<Option<Seal>, HubError> {
    let head = seals::head_locked(tx, sealing.chain).await?;
    let bodies =
        seals::take_unsealed(tx, sealing.chain, sealing.seal, SEALED_AT_ONCE as i64, sealing.now).await?;
    if bodies.is_empty() {
        return Ok(None);
    }
    let leaves = bodies.iter().map(|body| merkle::leaf(body)).collect();
    let seal = Seal::make(&head, sealing.seal, leaves, sealing.now, &sealing.signer)
        .map_err(|_| records::Error::Misbehaved("it sealed more rows than a seal holds"))?;
    seals::insert_seal(tx, &seal).await?;
    events::append(tx, &announcement(sealing, &seal)).await?;
    Ok(Some(seal))
}

fn announcement(sealing: &Sealing, seal: &Seal) -> EventDraft {
    EventDraft {
        id: sealing.event,
        org: seal.chain.organization(),
        event_type: "audit:sealed".into(),
        occurred_at: sealing.now,
        actor: None,
        source: "sealer".into(),
        subject: Subject::new("audit_seal", seal.id),
        payload: json!({
            "chain": seal.chain.to_string(), "number": seal.number, "count": seal.count,
            "hash": hex::encode(seal.hash), "key_id": seal.key_id,
        }),
    }
}
