//! API keys.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::api_keys::ApiKey as DomainKey;
use domain::cursor::CursorKey;
use domain::{Id, Timestamp};
use hub::idempotency::{Answer, Outcome};
use hub::identity::api_keys::{self, MintedKey, NewKey};
use wire::{ApiKey, CreateApiKey, CreatedApiKey, Page, PageQuery};

use super::page::{List, limits};
use super::{answer, respond};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Keys, newest first: your own, for an admin the organization's.
#[utoipa::path(get, path = "/api/v1/api-keys", operation_id = "list_api_keys",
    tag = "identity", params(PageQuery),
    responses((status = 200, description = "A page of keys", body = Page<ApiKey>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<ApiKey>>, Problem> {
    let list = List::new(&caller, "api-keys");
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let keys = api_keys::list(&app.hub, &caller, after, read).await?;
    let place =
        |key: &DomainKey| vec![CursorKey::Int(key.created_at.micros()), CursorKey::Uuid(key.id.raw())];
    Ok(Json(list.page(keys, limit, place, shown)))
}

/// Mints a key. The answer is the only one that shows it.
#[utoipa::path(post, path = "/api/v1/api-keys", operation_id = "create_api_key",
    tag = "identity", request_body = CreateApiKey,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Minted", body = CreatedApiKey),
              (status = 403, description = "Not yours to mint", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateApiKey>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let expires_at = value.expires_at.map(|text| text.parse::<Timestamp>()).transpose();
    let wanted = NewKey {
        owner: value.account_id.map(Id::new),
        org: value.organization_id.map(Id::new),
        name: value.name,
        scopes: value.scopes,
        expires_at: expires_at.map_err(|error| Problem::field("/expires_at", error.to_string()))?,
    };
    let once = terms.once(&caller, body_hash, kept);
    Ok(minted(api_keys::mint(&app.hub, &caller, wanted, once).await?))
}

/// One key.
#[utoipa::path(get, path = "/api/v1/api-keys/{id}", operation_id = "get_api_key",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The key", body = ApiKey),
              (status = 404, description = "No such key of yours", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(shown(&api_keys::get(&app.hub, &caller, id.id()).await?)))
}

/// Replaces a key of yours by a new one with the same rights.
#[utoipa::path(post, path = "/api/v1/api-keys/{id}/rotate", operation_id = "rotate_api_key",
    tag = "identity", params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "The new key; the old one has ended", body = CreatedApiKey),
              (status = 404, description = "No such key of yours", body = wire::Problem),
              (status = 409, description = "It has ended already", body = wire::Problem)))]
pub(crate) async fn rotate(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: NoInput,
) -> Result<Response<Body>, Problem> {
    let once = terms.once(&caller, input.body_hash, kept);
    Ok(minted(api_keys::rotate(&app.hub, &caller, id.id(), once).await?))
}

/// Ends a key at once. Repeating it changes nothing.
#[utoipa::path(delete, path = "/api/v1/api-keys/{id}", operation_id = "revoke_api_key",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It has ended"),
              (status = 404, description = "No such key of yours", body = wire::Problem)))]
pub(crate) async fn revoke(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    api_keys::revoke(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn minted(outcome: Outcome<MintedKey>) -> Response<Body> {
    respond(match outcome {
        Outcome::Fresh(minted) => rendered(&minted, false),
        Outcome::Replayed(answer) => answer,
    })
}

fn kept(minted: &MintedKey) -> Answer {
    rendered(minted, true)
}

fn rendered(minted: &MintedKey, replayed: bool) -> Answer {
    let key = (!replayed).then(|| minted.secret.expose().to_owned());
    let body = CreatedApiKey { api_key: shown(&minted.key), key, replayed };
    answer(StatusCode::CREATED, Some(format!("/api/v1/api-keys/{}", minted.key.id)), &body)
}

fn shown(key: &DomainKey) -> ApiKey {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    ApiKey {
        id: key.id.raw(),
        organization_id: key.org_id.raw(),
        account_id: key.owner_id.raw(),
        name: key.name.clone(),
        prefix: key.prefix.clone(),
        scopes: key.scopes.clone(),
        enabled: key.enabled,
        expires_at: text(key.expires_at),
        revoked_at: text(key.revoked_at),
        rotated_to_id: key.rotated_to_id.map(Id::raw),
        minted_by: key.minted_by.raw(),
        last_used_at: text(key.last_used_at),
        created_at: key.created_at.to_string(),
        updated_at: key.updated_at.to_string(),
    }
}
