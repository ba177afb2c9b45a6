//! From the event log to deliveries: each event once for every endpoint that wants it.

use std::time::Duration;

use domain::events::Event;
use domain::webhooks::{self as rules, Delivery, Format, Webhook};
use records::{Tx, events, webhook_deliveries, webhooks};
use serde_json::json;

use super::hurry;
use crate::{Hub, HubError};

/// How soon a failed look is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const BATCH_EVENTS: i64 = 500;

/// Starts following the log.
pub fn start(hub: &Hub) {
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        let mut head = hub.coordination.head.subscribe();
        let mut reached = None;
        while !hub.lifecycle.is_stopping() {
            if let Err(error) = follow(&hub, &mut reached).await {
                tracing::warn!("events could not be made into deliveries to webhooks yet: {error}");
                reached = None;
                tokio::select! {
                    () = tokio::time::sleep(RETRY_INTERVAL) => {}
                    () = hub.lifecycle.stopping() => {}
                }
                continue;
            }
            tokio::select! {
                _ = head.changed() => {}
                () = hub.lifecycle.stopping() => {}
            }
        }
    });
}

/// How far the log was turned into deliveries.
struct Reached {
    /// On record.
    recorded: i64,
    /// Here: further, while nobody wants to be told.
    seq: i64,
}

async fn follow(hub: &Hub, reached: &mut Option<Reached>) -> Result<(), HubError> {
    loop {
        let Some(at) = reached else {
            *reached = Some(begin(hub).await?);
            continue;
        };
        // Before the endpoints are read: whoever is new wants only what comes after.
        let head = events::head(&hub.records).await?;
        let endpoints = webhooks::active(&hub.records).await?;
        if endpoints.is_empty() {
            at.seq = at.seq.max(head);
            return Ok(());
        }
        let batch = events::whole(&hub.records, at.seq, BATCH_EVENTS).await?;
        let Some(last) = batch.last().and_then(|event| event.seq) else { return Ok(()) };
        let deliveries = deliveries(hub, &endpoints, &batch);
        let input = (at.recorded, last, deliveries, hub.clock.now());
        let moved = hub.records.write(input, |tx, (from, to, deliveries, now)| {
            Box::pin(async move {
                if !webhooks::move_progress(tx, *from, *to, *now).await? {
                    return Ok(false);
                }
                put_in_line(tx, deliveries, *now).await.map(|()| true)
            })
        });
        *reached = match moved.await? {
            true => Some(Reached { recorded: last, seq: last }),
            // Another server has done it.
            false => None,
        };
        hub.coordination.hurry.notify_one();
    }
}

async fn begin(hub: &Hub) -> Result<Reached, HubError> {
    if let Some(seq) = webhooks::progress(&hub.records).await? {
        return Ok(Reached { recorded: seq, seq });
    }
    let (head, now) = (events::head(&hub.records).await?, hub.clock.now());
    hub.records
        .write((head, now), |tx, &(head, now)| Box::pin(webhooks::begin_progress(tx, head, now)))
        .await?;
    let seq = webhooks::progress(&hub.records).await?.unwrap_or(head);
    Ok(Reached { recorded: seq, seq })
}

async fn put_in_line(tx: &mut Tx, deliveries: &[Delivery], now: domain::Timestamp) -> Result<(), HubError> {
    for delivery in deliveries {
        webhook_deliveries::insert(tx, delivery).await?;
    }
    let mut endpoints: Vec<_> = deliveries.iter().map(|delivery| delivery.webhook_id).collect();
    endpoints.sort_unstable();
    endpoints.dedup();
    for id in endpoints {
        hurry(tx, id, now).await?;
    }
    Ok(())
}

fn deliveries(hub: &Hub, endpoints: &[Webhook], batch: &[Event]) -> Vec<Delivery> {
    let now = hub.clock.now();
    let wanted = |webhook: &&Webhook, event: &Event| {
        Some(webhook.org_id) == event.org_id
            && event.seq.is_some_and(|seq| seq > webhook.after_seq)
            && webhook.wants(&event.event_type)
            // What became of its own deliveries would be a delivery again.
            && !(event.event_type == "webhook:parked" && event.subject_id == webhook.id.to_string())
    };
    let mut found = Vec::new();
    for event in batch {
        for webhook in endpoints.iter().filter(|webhook| wanted(webhook, event)) {
            let about = (event.event_type.as_str(), event.seq);
            found.push(Delivery::due(hub.ids.id(), webhook, about, body(webhook, event), now));
        }
    }
    found
}

/// What an endpoint is sent of an event.
pub(super) fn body(webhook: &Webhook, event: &Event) -> Vec<u8> {
    match webhook.format {
        Format::Slack => rules::slack(event),
        Format::Standard => {
            let shown = json!({
                "seq": event.seq, "type": event.event_type, "occurred_at": event.occurred_at.to_string(),
                "actor": event.actor.map(|actor| actor.to_string()), "source": event.source,
                "subject": {"type": event.subject_type, "id": event.subject_id}, "payload": event.payload,
            });
            rules::standard(&event.event_type, event.occurred_at, &shown)
        }
    }
}
