//! What was sent to webhooks.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Timestamp;
use domain::cursor::CursorKey;
use domain::webhooks::{self as rules, Delivery as DomainDelivery};
use hub::idempotency::Answer;
use hub::webhooks::deliveries::{self, Filter};
use wire::{DeliveriesQuery, Delivery, DeliveryRequest, DeliveryResponse, DeliveryState, Page};

use super::page::{List, limits};
use super::{answer, made};
use crate::App;
use crate::extract::{Asked, NoInput, PathId, PathIds, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// What was sent to a webhook, and what is to be, newest first.
#[utoipa::path(get, path = "/api/v1/webhooks/{id}/deliveries", operation_id = "list_webhook_deliveries",
    tag = "webhooks", params(("id" = uuid::Uuid, Path), DeliveriesQuery),
    responses((status = 200, description = "A page of deliveries", body = Page<Delivery>),
              (status = 404, description = "No such webhook", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<DeliveriesQuery>,
) -> Result<Json<Page<Delivery>>, Problem> {
    let state = query.state.map(|state| match state {
        DeliveryState::Pending => rules::DeliveryState::Pending,
        DeliveryState::Delivered => rules::DeliveryState::Delivered,
        DeliveryState::Parked => rules::DeliveryState::Parked,
    });
    let list = List::new(&caller, "deliveries")
        .filtered("webhook", Some(id.0))
        .filtered("state", state.map(rules::DeliveryState::as_str));
    let after = list.place(query.cursor.as_deref())?;
    let (limit, read) = limits(query.limit);
    let found = deliveries::list(&app.hub, &caller, id.id(), Filter { state, after }, read).await?;
    let place = |delivery: &DomainDelivery| {
        vec![CursorKey::Int(delivery.created_at.micros()), CursorKey::Uuid(delivery.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One delivery.
#[utoipa::path(get, path = "/api/v1/webhooks/{id}/deliveries/{delivery_id}", operation_id = "get_webhook_delivery",
    tag = "webhooks", params(("id" = uuid::Uuid, Path), ("delivery_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The delivery", body = Delivery),
              (status = 404, description = "No such delivery", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
) -> Result<Json<Delivery>, Problem> {
    Ok(Json(shown(&deliveries::get(&app.hub, &caller, ids.ids()).await?)))
}

/// Sends a delivery again: the same message with the same id.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver",
    operation_id = "redeliver_webhook_delivery", tag = "webhooks",
    params(("id" = uuid::Uuid, Path), ("delivery_id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 202, description = "It is in line again", body = Delivery),
              (status = 404, description = "No such delivery", body = wire::Problem),
              (status = 409, description = "The webhook is switched off", body = wire::Problem)))]
pub(crate) async fn redeliver(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
    terms: Terms,
    input: NoInput,
) -> Result<Response<Body>, Problem> {
    let once = terms.once(&caller, input.body_hash, rendered);
    Ok(made(deliveries::redeliver(&app.hub, &caller, ids.ids(), once).await?, rendered))
}

/// Sends a webhook something of type `webhook:test`.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/test", operation_id = "test_webhook",
    tag = "webhooks", params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 202, description = "It is in line", body = Delivery),
              (status = 404, description = "No such webhook", body = wire::Problem),
              (status = 409, description = "The webhook is switched off", body = wire::Problem)))]
pub(crate) async fn test(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: NoInput,
) -> Result<Response<Body>, Problem> {
    let once = terms.once(&caller, input.body_hash, rendered);
    Ok(made(deliveries::test(&app.hub, &caller, id.id(), once).await?, rendered))
}

fn rendered(delivery: &DomainDelivery) -> Answer {
    let location = format!("/api/v1/webhooks/{}/deliveries/{}", delivery.webhook_id, delivery.id);
    answer(StatusCode::ACCEPTED, Some(location), &shown(delivery))
}

fn shown(delivery: &DomainDelivery) -> Delivery {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    Delivery {
        id: delivery.id.raw(),
        webhook_id: delivery.webhook_id.raw(),
        event_seq: delivery.event_seq,
        event_type: delivery.event_type.clone(),
        state: match delivery.state {
            rules::DeliveryState::Pending => DeliveryState::Pending,
            rules::DeliveryState::Delivered => DeliveryState::Delivered,
            rules::DeliveryState::Parked => DeliveryState::Parked,
        },
        attempts: delivery.attempts,
        next_attempt_at: text(delivery.next_attempt_at),
        last_attempt_at: text(delivery.last_attempt_at),
        request: DeliveryRequest {
            headers: delivery.request_headers.clone(),
            body: String::from_utf8_lossy(&delivery.body).into_owned(),
        },
        response: delivery.response_status.map(|status| DeliveryResponse {
            status,
            body: delivery.response_body.clone().unwrap_or_default(),
        }),
        error: delivery.error.clone(),
        took_ms: delivery.took_ms,
        created_at: delivery.created_at.to_string(),
        updated_at: delivery.updated_at.to_string(),
    }
}
