//! What was sent to an endpoint, and having it sent again.

use domain::Id;
use domain::permissions::Capability;
use domain::webhooks::{Delivery, DeliveryState, Webhook, test_event};
use records::{Tx, webhook_deliveries, webhooks};
use serde_json::json;

use super::{MISSING, details, dispatch, hurry, subject};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, WebhookPlace};

const DELIVERY_MISSING: HubError = HubError::NotFound("delivery");

/// Which deliveries.
#[derive(Default)]
pub struct Filter {
    /// Only those that stand so.
    pub state: Option<DeliveryState>,
    /// Only those behind this place.
    pub after: Option<WebhookPlace>,
}

/// Deliveries to an endpoint, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    id: Id<Webhook>,
    filter: Filter,
    limit: i64,
) -> Result<Vec<Delivery>, HubError> {
    let webhook = super::endpoints::get(hub, caller, id).await?;
    let of = (webhook.org_id, webhook.id);
    Ok(webhook_deliveries::list(&hub.records, of, filter.state, filter.after, limit).await?)
}

/// One delivery.
pub async fn get(
    hub: &Hub,
    caller: &Caller,
    (webhook, id): (Id<Webhook>, Id<Delivery>),
) -> Result<Delivery, HubError> {
    caller.require(Capability::WebhooksRead)?;
    let input = ((caller.credential.organization.id, webhook), id);
    let found =
        hub.records.read(input, |tx, &(of, id)| Box::pin(webhook_deliveries::get(tx, of, id))).await?;
    found.ok_or(DELIVERY_MISSING)
}

/// Has a delivery sent again: the same message with the same id, from the beginning.
pub async fn redeliver(
    hub: &Hub,
    caller: &Caller,
    ids: (Id<Webhook>, Id<Delivery>),
    once: Option<Once<Delivery>>,
) -> Result<Outcome<Delivery>, HubError> {
    caller.require(Capability::WebhooksWrite)?;
    let input = Act::new(hub, caller, ids);
    let outcome = write_once(hub, once, input, |tx, act| Box::pin(redeliver_unit(tx, act))).await?;
    hub.coordination.hurry.notify_one();
    Ok(outcome)
}

async fn redeliver_unit(tx: &mut Tx, act: &Act<(Id<Webhook>, Id<Delivery>)>) -> Result<Delivery, HubError> {
    let (webhook, id) = act.input;
    let webhook = webhooks::get_locked(tx, act.org(), webhook).await?;
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let webhook = webhook.ok_or(MISSING)?;
    require_active(&webhook)?;
    let before = webhook_deliveries::get_locked(tx, (act.org(), webhook.id), id).await?;
    let before = before.ok_or(DELIVERY_MISSING)?;
    if before.state == DeliveryState::Pending && before.attempts == 0 {
        return Ok(before);
    }
    let after = before.again(act.now);
    if !webhook_deliveries::update(tx, &before, &after).await? {
        return Err(records::Error::LostRace { what: "a delivery".into() }.into());
    }
    hurry(tx, webhook.id, act.now).await?;
    let about = json!({"delivery_id": id.to_string(), "event_type": after.event_type});
    act.record(tx, "webhook:redelivered", subject(webhook.id), details(&about)).await?;
    Ok(after)
}

fn require_active(webhook: &Webhook) -> Result<(), HubError> {
    match webhook.active {
        true => Ok(()),
        false => Err(HubError::InvalidState {
            state: "inactive".into(),
            detail: "the webhook is switched off; switch it on first".into(),
        }),
    }
}

/// Sends an endpoint something that nothing has happened for.
pub async fn test(
    hub: &Hub,
    caller: &Caller,
    id: Id<Webhook>,
    once: Option<Once<Delivery>>,
) -> Result<Outcome<Delivery>, HubError> {
    caller.require(Capability::WebhooksWrite)?;
    let input = Act::new(hub, caller, id);
    let outcome = write_once(hub, once, input, |tx, act| Box::pin(test_unit(tx, act))).await?;
    hub.coordination.hurry.notify_one();
    Ok(outcome)
}

async fn test_unit(tx: &mut Tx, act: &Act<Id<Webhook>>) -> Result<Delivery, HubError> {
    let webhook = webhooks::get_locked(tx, act.org(), act.input).await?;
    act.confirm(tx, Capability::WebhooksWrite).await?;
    let webhook = webhook.ok_or(MISSING)?;
    require_active(&webhook)?;
    let event = test_event(act.hub.ids.id(), &webhook, act.now);
    let body = dispatch::body(&webhook, &event);
    let about = (event.event_type.as_str(), None);
    let delivery = Delivery::due(act.hub.ids.id(), &webhook, about, body, act.now);
    webhook_deliveries::insert(tx, &delivery).await?;
    hurry(tx, webhook.id, act.now).await?;
    let said = json!({"delivery_id": delivery.id.to_string()});
    act.record(tx, "webhook:tested", subject(webhook.id), details(&said)).await?;
    Ok(delivery)
}
