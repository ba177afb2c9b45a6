//! Webhooks.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::cursor::CursorKey;
use domain::webhooks::{self as rules, Webhook as DomainWebhook, WebhookChange};
use domain::{Id, Timestamp};
use hub::idempotency::{Answer, Outcome};
use hub::webhooks::endpoints::{self, Shown};
use wire::{
    CreateWebhook, CreatedWebhook, Page, PageQuery, RotateWebhookSecret, UpdateWebhook, Webhook,
    WebhookFormat,
};

use super::page::{List, limits};
use super::{answer, respond, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Webhooks, newest first.
#[utoipa::path(get, path = "/api/v1/webhooks", operation_id = "list_webhooks",
    tag = "webhooks", params(PageQuery),
    responses((status = 200, description = "A page of webhooks", body = Page<Webhook>),
              (status = 403, description = "For admins", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Webhook>>, Problem> {
    let list = List::new(&caller, "webhooks");
    let after = list.place(query.cursor.as_deref())?;
    let (limit, read) = limits(query.limit);
    let found = endpoints::list(&app.hub, &caller, after, read).await?;
    let place = |webhook: &DomainWebhook| {
        vec![CursorKey::Int(webhook.created_at.micros()), CursorKey::Uuid(webhook.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Makes a webhook. The answer is the only one that shows its secret.
#[utoipa::path(post, path = "/api/v1/webhooks", operation_id = "create_webhook",
    tag = "webhooks", request_body = CreateWebhook,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = CreatedWebhook),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 409, description = "There are as many as there may be", body = wire::Problem),
              (status = 422, description = "Not valid, or an address that is not called", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateWebhook>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let wanted = WebhookChange {
        url: Some(value.url),
        types: value.types,
        format: value.format.map(format),
        active: value.active,
    };
    let once = terms.once(&caller, body_hash, kept);
    Ok(made(endpoints::create(&app.hub, &caller, wanted, value.secret.as_deref(), once).await?))
}

/// One webhook.
#[utoipa::path(get, path = "/api/v1/webhooks/{id}", operation_id = "get_webhook",
    tag = "webhooks", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The webhook, with `ETag`", body = Webhook),
              (status = 404, description = "No such webhook", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&endpoints::get(&app.hub, &caller, id.id()).await?))
}

/// Changes a webhook.
#[utoipa::path(patch, path = "/api/v1/webhooks/{id}", operation_id = "change_webhook",
    tag = "webhooks", request_body = UpdateWebhook, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The webhook, changed", body = Webhook),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such webhook", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid, or an address that is not called", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<UpdateWebhook>,
) -> Result<impl IntoResponse, Problem> {
    let UpdateWebhook { url, types, format: how, active } = input.checked()?.value;
    let change = WebhookChange { url, types, format: how.map(format), active };
    Ok(tagged(&endpoints::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Deletes a webhook, with all that was or is to be sent there.
#[utoipa::path(delete, path = "/api/v1/webhooks/{id}", operation_id = "delete_webhook",
    tag = "webhooks", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is gone"),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such webhook", body = wire::Problem)))]
pub(crate) async fn delete(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    endpoints::delete(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a webhook another secret. Messages are signed with the old one too, for a while.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/rotate-secret", operation_id = "rotate_webhook_secret",
    tag = "webhooks", request_body = RotateWebhookSecret, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "The webhook with its new secret", body = CreatedWebhook),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such webhook", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn rotate_secret(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<RotateWebhookSecret>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, kept);
    let wanted = (value.secret.as_deref(), value.overlap_seconds);
    Ok(made(endpoints::rotate_secret(&app.hub, &caller, id.id(), wanted, once).await?))
}

fn made(outcome: Outcome<Shown>) -> Response<Body> {
    respond(match outcome {
        Outcome::Fresh(made) => rendered(&made, false),
        Outcome::Replayed(answer) => answer,
    })
}

fn kept(made: &Shown) -> Answer {
    rendered(made, true)
}

fn rendered(made: &Shown, replayed: bool) -> Answer {
    let secret = (!replayed).then(|| made.secret.expose());
    let body = CreatedWebhook { webhook: shown(&made.webhook), secret, replayed };
    answer(StatusCode::CREATED, Some(format!("/api/v1/webhooks/{}", made.webhook.id)), &body)
}

fn tagged(webhook: &DomainWebhook) -> impl IntoResponse + use<> {
    versioned(endpoints::tag(webhook), shown(webhook))
}

fn format(format: WebhookFormat) -> rules::Format {
    match format {
        WebhookFormat::Standard => rules::Format::Standard,
        WebhookFormat::Slack => rules::Format::Slack,
    }
}

fn shown(webhook: &DomainWebhook) -> Webhook {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    Webhook {
        id: webhook.id.raw(),
        url: webhook.url.clone(),
        types: webhook.types.clone(),
        format: match webhook.format {
            rules::Format::Standard => WebhookFormat::Standard,
            rules::Format::Slack => WebhookFormat::Slack,
        },
        active: webhook.active,
        previous_secret_until: text(webhook.previous_until),
        created_by: webhook.created_by.map(Id::raw),
        created_at: webhook.created_at.to_string(),
        updated_at: webhook.updated_at.to_string(),
    }
}
