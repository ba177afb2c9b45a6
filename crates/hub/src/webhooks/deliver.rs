//! Sending what is due to one endpoint.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use domain::Id;
use domain::jobs::Job;
use domain::webhooks::{Delivery, DeliveryState, Webhook};
use records::{Tx, jobs, webhook_deliveries, webhooks};
use reqwest::Url;
use serde_json::json;

use super::sign::signed;
use super::subject;
use crate::act::{ByItself, Deed as _, announce};
use crate::{Hub, HubError, audit};

/// The kind of the job of each endpoint.
pub(crate) const JOB: &str = "webhooks:deliver";
/// Attempts by their end.
pub const ATTEMPTS: &str = "countersign_webhook_attempts_total";
/// Deliveries that nobody took for a day.
pub const PARKED: &str = "countersign_webhook_parked_total";

/// How long a run goes on with what is due; with the last attempt it stays within the lease of its job.
const RUN_FOR: Duration = Duration::from_secs(15);
/// A job that nobody hurries looks at its endpoint this often.
const LOOK_INTERVAL: Duration = Duration::from_secs(3600);
/// How soon a run that failed is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
const NO_ROOM_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the job of an endpoint beside everything else.
pub(crate) fn start(hub: &Hub, job: Job) {
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        let now = hub.clock.now();
        let next = match hub.coordination.deliveries.try_acquire() {
            Err(_) => Some(now.plus(NO_ROOM_INTERVAL)),
            Ok(_place) => match run(&hub, &job).await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!("deliveries to webhook {} failed: {error}", job.key);
                    Some(hub.clock.now().plus(RETRY_INTERVAL))
                }
            },
        };
        let input = (job, next, hub.clock.now());
        let rested = hub.records.write(input, |tx, (job, next, now)| {
            Box::pin(async move {
                match next {
                    Some(next) => jobs::rest(tx, job, *next, *now).await,
                    None => jobs::done(tx, job).await,
                }
            })
        });
        if let Err(error) = rested.await {
            tracing::warn!("the job of a webhook was not given back, and comes back by itself: {error}");
        }
    });
}

/// Sends what is due; when to look again. None if the endpoint is gone.
async fn run(hub: &Hub, job: &Job) -> Result<Option<domain::Timestamp>, HubError> {
    let Ok(id) = job.key.parse::<Id<Webhook>>() else { return Ok(None) };
    let began = Instant::now();
    loop {
        // Each time: it may have moved, have another secret, or be gone.
        let Some(webhook) = webhooks::by_id(&hub.records, id).await? else { return Ok(None) };
        let (of, now) = ((webhook.org_id, webhook.id), hub.clock.now());
        let later = now.plus(LOOK_INTERVAL);
        if !webhook.active {
            return Ok(Some(later));
        }
        let due = webhook_deliveries::due(&hub.records, of, now, 1).await?;
        let Some(delivery) = due.into_iter().next() else {
            let next = webhook_deliveries::next_at(&hub.records, of).await?;
            return Ok(Some(next.unwrap_or(later).min(later)));
        };
        if began.elapsed() >= RUN_FOR || hub.lifecycle.is_stopping() {
            return Ok(Some(now));
        }
        tokio::select! {
            sent = send(hub, &webhook, delivery) => sent?,
            // It is sent again after the next start; whether it arrived now nobody knows.
            () = hub.lifecycle.stopping() => {}
        }
    }
}

async fn send(hub: &Hub, webhook: &Webhook, delivery: Delivery) -> Result<(), HubError> {
    let began = hub.clock.now();
    let signed = signed(hub, webhook, &delivery, began)?;
    let mut attempt = match Url::parse(&webhook.url) {
        Ok(url) => hub.config.outgoing.post(url, signed.headers, delivery.body.clone()).await,
        Err(error) => domain::webhooks::Attempt { error: Some(error.to_string()), ..Default::default() },
    };
    attempt.request_headers = Some(signed.kept);
    let now = hub.clock.now();
    let jitter = (RandomState::new().hash_one(now) % 1000) as f64 / 1000.0;
    let after = delivery.after(&attempt, began, now, jitter);
    let end = if attempt.is_taken() { "taken" } else { "failed" };
    metrics::counter!(ATTEMPTS, "end" => end).increment(1);
    let input = (hub.clone(), delivery, after, now);
    hub.records
        .write(input, |tx, (hub, before, after, now)| Box::pin(note(tx, hub, (before, after), *now)))
        .await
}

/// Writes down what came of an attempt. Whoever has put the delivery in line again meanwhile wins.
async fn note(
    tx: &mut Tx,
    hub: &Hub,
    (before, after): (&Delivery, &Delivery),
    now: domain::Timestamp,
) -> Result<(), HubError> {
    let noted = webhook_deliveries::update(tx, before, after).await?;
    if !noted || after.state != DeliveryState::Parked {
        return Ok(());
    }
    metrics::counter!(PARKED).increment(1);
    let deed = ByItself::new(tx, hub, after.org_id, now).await?;
    let about = json!({"delivery_id": after.id.to_string(), "event_type": after.event_type, "attempts": after.attempts});
    let mut entry = deed.entry("webhook:parked", subject(after.webhook_id));
    entry.details = super::details(&about);
    audit::record(tx, &entry).await?;
    announce(tx, &deed, "webhook:parked", subject(after.webhook_id), about).await
}
