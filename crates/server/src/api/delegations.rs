//! Delegations: who decides for whom.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::cursor::CursorKey;
use domain::delegations::{self as rules, Conditions, Delegation as DomainDelegation, DelegationChange};
use domain::{Id, Timestamp};
use hub::approvals::{self, PassOn as Passed};
use hub::delegations::{self, Filter};
use hub::idempotency::Answer;
use wire::{
    Approval, Delegation, DelegationConditions, DelegationForm, DelegationKind, DelegationsQuery, Page,
    PassOn,
};

use super::page::{List, limits};
use super::tasks::account;
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Delegations, the newest first, also those that are over.
#[utoipa::path(get, path = "/api/v1/delegations", operation_id = "list_delegations",
    tag = "delegations", params(DelegationsQuery),
    responses((status = 200, description = "A page of delegations", body = Page<Delegation>),
              (status = 422, description = "A filter is not valid", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<DelegationsQuery>,
) -> Result<Json<Page<Delegation>>, Problem> {
    let owner = account(&caller, "/owner", query.owner.as_deref())?;
    let list = List::new(&caller, "delegations").filtered("owner", owner).filtered("active", query.active);
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let filter = Filter { owner, active: query.active, after };
    let found = delegations::list(&app.hub, &caller, filter, read).await?;
    let place =
        |one: &DomainDelegation| vec![CursorKey::Int(one.created_at.micros()), CursorKey::Uuid(one.id.raw())];
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Has somebody else decide on what the caller is asked, or go before.
#[utoipa::path(post, path = "/api/v1/delegations", operation_id = "create_delegation",
    tag = "delegations", request_body = DelegationForm,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Delegation),
              (status = 403, description = "For people", body = wire::Problem),
              (status = 409, description = "Requests would go round in a circle", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<DelegationForm>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(delegations::create(&app.hub, &caller, wanted(value)?, once).await?, rendered))
}

/// One delegation.
#[utoipa::path(get, path = "/api/v1/delegations/{id}", operation_id = "get_delegation",
    tag = "delegations", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The delegation, with `ETag`", body = Delegation),
              (status = 404, description = "No such delegation", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&delegations::get(&app.hub, &caller, id.id()).await?))
}

/// Changes a delegation of the caller's. Open requests that came by it and no longer would go back.
#[utoipa::path(patch, path = "/api/v1/delegations/{id}", operation_id = "change_delegation",
    tag = "delegations", request_body = DelegationForm, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The delegation, changed", body = Delegation),
              (status = 403, description = "Somebody else's", body = wire::Problem),
              (status = 404, description = "No such delegation", body = wire::Problem),
              (status = 409, description = "Requests would go round in a circle", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<DelegationForm>,
) -> Result<impl IntoResponse, Problem> {
    let change = wanted(input.checked()?.value)?;
    Ok(tagged(&delegations::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Ends a delegation; what it was stays on record. Repeating it changes nothing.
#[utoipa::path(delete, path = "/api/v1/delegations/{id}", operation_id = "end_delegation",
    tag = "delegations", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It no longer holds"),
              (status = 403, description = "For its owner and admins", body = wire::Problem),
              (status = 404, description = "No such delegation", body = wire::Problem)))]
pub(crate) async fn end(State(app): State<App>, Who(caller): Who, id: PathId) -> Result<StatusCode, Problem> {
    delegations::end(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Passes a request on to somebody who decides instead.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/delegate", operation_id = "delegate_approval",
    tag = "approvals", request_body = PassOn, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Passed on", body = Approval),
              (status = 403, description = "Not yours, or not to be passed on", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem),
              (status = 409, description = "It is answered, or the review is over", body = wire::Problem),
              (status = 422, description = "Nobody who could decide", body = wire::Problem)))]
pub(crate) async fn pass_on(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<PassOn>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, super::approvals::rendered);
    let passed = Passed { approval_id: id.id(), to: Id::new(value.to), reason: value.reason };
    Ok(made(approvals::delegate(&app.hub, &caller, passed, once).await?, super::approvals::rendered))
}

fn rendered(delegation: &DomainDelegation) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/delegations/{}", delegation.id)), &shown(delegation))
}

fn tagged(delegation: &DomainDelegation) -> impl IntoResponse + use<> {
    versioned(delegations::etag(delegation), shown(delegation))
}

fn wanted(form: DelegationForm) -> Result<DelegationChange, Problem> {
    Ok(DelegationChange {
        delegate_to: form.delegate_to.map(Id::new),
        kind: form.kind.map(|kind| match kind {
            DelegationKind::Transfer => rules::DelegationKind::Transfer,
            DelegationKind::Follow => rules::DelegationKind::Follow,
        }),
        conditions: form.conditions.map(|said| Conditions {
            task_types: said.task_types,
            resource_patterns: said.resource_patterns,
            risk_above: said.risk_above,
        }),
        cascade: form.cascade,
        active: form.active,
        starts_at: time("/starts_at", form.starts_at)?,
        expires_at: time("/expires_at", form.expires_at)?,
    })
}

fn time(pointer: &str, said: Option<Option<String>>) -> Result<Option<Option<Timestamp>>, Problem> {
    let Some(text) = said else { return Ok(None) };
    let read = text.map(|text| text.parse::<Timestamp>()).transpose();
    read.map(Some).map_err(|_| Problem::field(pointer, "must be a time such as 2026-03-18T15:30:00Z"))
}

fn shown(delegation: &DomainDelegation) -> Delegation {
    let said = delegation.conditions.clone();
    Delegation {
        id: delegation.id.raw(),
        owner_id: delegation.owner_id.raw(),
        delegate_to: delegation.delegate_to.raw(),
        kind: match delegation.kind {
            rules::DelegationKind::Transfer => DelegationKind::Transfer,
            rules::DelegationKind::Follow => DelegationKind::Follow,
        },
        conditions: DelegationConditions {
            task_types: said.task_types,
            resource_patterns: said.resource_patterns,
            risk_above: said.risk_above,
        },
        cascade: delegation.cascade,
        active: delegation.active,
        starts_at: delegation.starts_at.map(|at| at.to_string()),
        expires_at: delegation.expires_at.map(|at| at.to_string()),
        version: delegation.version,
        created_at: delegation.created_at.to_string(),
        updated_at: delegation.updated_at.to_string(),
    }
}
