//! Webhooks: telling others of an organization's events, wherever they want to be told.
//!
//! `dispatch` turns the event log into deliveries; `deliver` sends them, one job for each endpoint, so that none waits for
//! another. `endpoints` and `deliveries` are what admins do.

pub mod deliver;
pub mod deliveries;
pub mod dispatch;
pub mod endpoints;
mod sign;

use domain::Id;
use domain::Timestamp;
use domain::jobs::Job;
use domain::organizations::Organization;
use domain::subject::Subject;
use domain::webhooks::{DELIVERIES_KEPT, Webhook, WebhookSecret};
use records::{Tx, jobs, webhook_deliveries};
use serde_json::{Map, Value, json};

use crate::keys::Place;
use crate::{Hub, HubError};

const MISSING: HubError = HubError::NotFound("webhook");
const FORGOTTEN_AT_ONCE: i64 = 1000;

fn subject(id: Id<Webhook>) -> Subject {
    Subject::new("webhook", id)
}

/// What the log and the audit trail say of an endpoint. Whoever knows the address of some can send to it, and members read
/// both: so no more than the host.
fn facts(webhook: &Webhook) -> Value {
    let mut facts = webhook.facts();
    facts["url"] = Value::Null;
    facts["host"] =
        json!(reqwest::Url::parse(&webhook.url).ok().and_then(|url| url.host_str().map(str::to_owned)));
    facts
}

fn details(facts: &Value) -> Map<String, Value> {
    facts.as_object().cloned().unwrap_or_default()
}

fn place(column: &str, (org, id): (Id<Organization>, Id<Webhook>)) -> Place<'_> {
    Place { table: "webhooks", column, row: id.raw(), org: org.raw() }
}

const SECRET: &str = "secret";

/// Encrypts a secret. It stays openable when it becomes the previous one, so both columns are one place.
fn sealed(
    hub: &Hub,
    of: (Id<Organization>, Id<Webhook>),
    secret: &WebhookSecret,
) -> Result<Vec<u8>, HubError> {
    Ok(hub.config.keys.encrypt(place(SECRET, of), secret.expose().as_bytes())?)
}

fn opened(hub: &Hub, webhook: &Webhook, sealed: &[u8]) -> Result<WebhookSecret, HubError> {
    let text = hub.config.keys.decrypt(place(SECRET, (webhook.org_id, webhook.id)), sealed)?;
    let text = String::from_utf8(text).unwrap_or_default();
    WebhookSecret::parse(&text).map_err(|_| crate::keys::KeyError::Ciphertext.into())
}

/// The job that sends to an endpoint.
fn job(id: Id<Webhook>, run_at: Timestamp) -> Job {
    Job {
        kind: deliver::JOB.into(),
        key: id.to_string(),
        run_at,
        lease_until: None,
        owner: None,
        attempts: 0,
        payload: json!({}),
    }
}

/// Has an endpoint looked at now.
async fn hurry(tx: &mut Tx, id: Id<Webhook>, now: Timestamp) -> Result<(), HubError> {
    Ok(jobs::hurry(tx, deliver::JOB, &id.to_string(), now).await?)
}

/// Forgets deliveries that were over long ago, in small units.
pub(crate) async fn forget_old(hub: &Hub) -> Result<(), HubError> {
    let cutoff = hub.clock.now().minus(DELIVERIES_KEPT);
    let forget = || {
        hub.records
            .write(cutoff, |tx, &cutoff| Box::pin(webhook_deliveries::forget(tx, cutoff, FORGOTTEN_AT_ONCE)))
    };
    while !hub.lifecycle.is_stopping() && forget().await? > 0 {}
    Ok(())
}
