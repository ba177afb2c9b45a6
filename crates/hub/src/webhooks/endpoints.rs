//! Making, changing and deleting endpoints.

use std::time::Duration;

use domain::Id;
use domain::permissions::Capability;
use domain::webhooks::{
    Format, OVERLAP_DEFAULT, OVERLAP_MAX, WEBHOOKS_MAX, Webhook, WebhookChange, WebhookSecret, check_types,
};
use records::{Tx, jobs, webhooks};
use serde_json::{Value, json};

use super::{MISSING, deliver, details, facts, hurry, job, sealed, subject};
use crate::act::{Act, differences};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, WebhookPlace, etag, ids};

/// An endpoint with its secret, which is shown once.
pub struct Shown {
    /// The endpoint.
    pub webhook: Webhook,
    /// Its secret.
    pub secret: WebhookSecret,
}

/// The secret somebody chose, or a new one.
fn secret(chosen: Option<&str>) -> Result<WebhookSecret, HubError> {
    match chosen {
        Some(text) => WebhookSecret::parse(text).map_err(|bad| HubError::field("/secret", bad.to_string())),
        None => Ok(WebhookSecret::from_bytes(ids::random()?)),
    }
}

/// Makes an endpoint. It is told of what comes from now on.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: WebhookChange,
    chosen: Option<&str>,
    once: Option<Once<Shown>>,
) -> Result<Outcome<Shown>, HubError> {
    caller.require(Capability::WebhooksWrite)?;
    let secret = secret(chosen)?;
    let url = wanted.url.unwrap_or_default();
    hub.config.outgoing.address(&url)?;
    let types = wanted.types.unwrap_or_default();
    check_types(&types).map_err(HubError::Invalid)?;
    let (id, now, org_id) = (hub.ids.id(), hub.clock.now(), caller.credential.organization.id);
    let webhook = Webhook {
        id,
        org_id,
        url,
        types,
        format: wanted.format.unwrap_or(Format::Standard),
        active: wanted.active.unwrap_or(true),
        secret: sealed(hub, (org_id, id), &secret)?,
        previous_secret: None,
        previous_until: None,
        after_seq: 0,
        version: 1,
        created_by: Some(caller.credential.account.id),
        created_at: now,
        updated_at: now,
    };
    let input = Act::new(hub, caller, (webhook, secret));
    write_once(hub, once, input, |tx, act| Box::pin(create_unit(tx, act))).await
}

async fn create_unit(tx: &mut Tx, act: &Act<(Webhook, WebhookSecret)>) -> Result<Shown, HubError> {
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let (webhook, secret) = &act.input;
    if webhooks::count(tx, act.org()).await? >= WEBHOOKS_MAX {
        return Err(HubError::Conflict(format!(
            "an organization has at most {WEBHOOKS_MAX} webhooks; delete one first"
        )));
    }
    let webhook = Webhook { after_seq: records::events::head_in(tx).await?, ..webhook.clone() };
    webhooks::insert(tx, &webhook).await?;
    jobs::schedule(tx, &job(webhook.id, act.now), act.now).await?;
    told(tx, act, "webhook:created", &webhook, details(&facts(&webhook))).await?;
    Ok(Shown { webhook, secret: secret.clone() })
}

async fn told<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    webhook: &Webhook,
    details: serde_json::Map<String, Value>,
) -> Result<(), HubError> {
    act.record(tx, action, subject(webhook.id), details).await?;
    let payload = json!({"active": webhook.active, "format": webhook.format.as_str()});
    act.announce(tx, action, subject(webhook.id), payload).await
}

/// The version of an endpoint.
#[must_use]
pub fn tag(webhook: &Webhook) -> String {
    format!("\"{}\"", webhook.version)
}

/// Changes an endpoint.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Webhook>,
    change: WebhookChange,
    if_match: Option<String>,
) -> Result<Webhook, HubError> {
    caller.require(Capability::WebhooksWrite)?;
    if let Some(url) = &change.url {
        hub.config.outgoing.address(url)?;
    }
    let input = Act::new(hub, caller, (id, change, if_match));
    let changed = hub.records.write(input, |tx, act| Box::pin(change_unit(tx, act))).await?;
    hub.coordination.hurry.notify_one();
    Ok(changed)
}

type Change = (Id<Webhook>, WebhookChange, Option<String>);

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Webhook, HubError> {
    let (id, change, if_match) = &act.input;
    let before = webhooks::get_locked(tx, act.org(), *id).await?;
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let before = before.ok_or(MISSING)?;
    etag::require(if_match.as_deref(), &tag(&before))?;
    let head = records::events::head_in(tx).await?;
    let after = before.changed(change, head, act.now).map_err(HubError::Invalid)?;
    if after == before {
        return Ok(before);
    }
    webhooks::update(tx, &after).await?;
    hurry(tx, after.id, act.now).await?;
    let mut differing = differences(&facts(&before), &facts(&after));
    if before.url != after.url {
        differing.insert("url".into(), json!("changed"));
    }
    told(tx, act, "webhook:updated", &after, differing).await?;
    Ok(after)
}

/// Gives an endpoint another secret. What is sent is signed with the old one too, for a while.
pub async fn rotate_secret(
    hub: &Hub,
    caller: &Caller,
    id: Id<Webhook>,
    (chosen, overlap_seconds): (Option<&str>, Option<u32>),
    once: Option<Once<Shown>>,
) -> Result<Outcome<Shown>, HubError> {
    caller.require(Capability::WebhooksWrite)?;
    let secret = secret(chosen)?;
    let overlap = overlap_seconds.map_or(OVERLAP_DEFAULT, |seconds| Duration::from_secs(seconds.into()));
    if overlap > OVERLAP_MAX {
        return Err(HubError::field("/overlap_seconds", "must be at most 2592000, which is 30 days"));
    }
    let fresh = sealed(hub, (caller.credential.organization.id, id), &secret)?;
    let input = Act::new(hub, caller, Rotation { id, secret, sealed: fresh, overlap });
    write_once(hub, once, input, |tx, act| Box::pin(rotate_unit(tx, act))).await
}

struct Rotation {
    id: Id<Webhook>,
    secret: WebhookSecret,
    sealed: Vec<u8>,
    overlap: Duration,
}

async fn rotate_unit(tx: &mut Tx, act: &Act<Rotation>) -> Result<Shown, HubError> {
    let Rotation { id, secret, sealed, overlap } = &act.input;
    let before = webhooks::get_locked(tx, act.org(), *id).await?;
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let before = before.ok_or(MISSING)?;
    let until = act.now.plus(*overlap);
    let webhook = Webhook {
        secret: sealed.clone(),
        previous_secret: Some(before.secret.clone()),
        previous_until: Some(until),
        version: before.version + 1,
        updated_at: act.now.after(before.updated_at),
        ..before
    };
    webhooks::update(tx, &webhook).await?;
    let about = json!({"previous_until": until.to_string()});
    told(tx, act, "webhook:secret_rotated", &webhook, details(&about)).await?;
    Ok(Shown { webhook, secret: secret.clone() })
}

/// Deletes an endpoint, with all that was or is to be sent there.
pub async fn delete(hub: &Hub, caller: &Caller, id: Id<Webhook>) -> Result<(), HubError> {
    caller.require(Capability::WebhooksWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(delete_unit(tx, act))).await
}

async fn delete_unit(tx: &mut Tx, act: &Act<Id<Webhook>>) -> Result<(), HubError> {
    let webhook = webhooks::get_locked(tx, act.org(), act.input).await?;
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let webhook = webhook.ok_or(MISSING)?;
    jobs::remove(tx, deliver::JOB, &webhook.id.to_string()).await?;
    webhooks::delete(tx, act.org(), webhook.id).await?;
    told(tx, act, "webhook:deleted", &webhook, details(&facts(&webhook))).await
}

/// One endpoint.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Webhook>) -> Result<Webhook, HubError> {
    caller.require(Capability::WebhooksRead)?;
    let org = caller.credential.organization.id;
    let found = hub.records.read((org, id), |tx, &(org, id)| Box::pin(webhooks::get(tx, org, id))).await?;
    found.ok_or(MISSING)
}

/// Endpoints, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    after: Option<WebhookPlace>,
    limit: i64,
) -> Result<Vec<Webhook>, HubError> {
    caller.require(Capability::WebhooksRead)?;
    Ok(webhooks::list(&hub.records, caller.credential.organization.id, after, limit).await?)
}
