//! What is done with a whole task: handed in, given up, made anew, its review joined, its approval taken back.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::tasks::TaskState;
use hub::ApprovalFilter;
use hub::approvals;
use hub::idempotency::Answer;
use hub::tasks::{self, Seen, Urgency};
use wire::{Approval, GiveReason, GiveUrgency, Page, PageQuery, Resubmit, Task};

use super::page::{List, limits};
use super::tasks::shown;
use super::{answer, made};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Hands a draft in: reviewers are asked, or every policy lets it pass.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/submit", operation_id = "submit_task",
    tag = "tasks", params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 202, description = "Handed in", body = Task),
              (status = 403, description = "Not yours", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is no draft", body = wire::Problem)))]
pub(crate) async fn submit(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    _: NoInput,
) -> Result<Response<Body>, Problem> {
    let once = terms.once(&caller, [0; 32], accepted);
    Ok(made(tasks::submit(&app.hub, &caller, id.id(), once).await?, accepted))
}

/// Gives a task up before it is applied.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/cancel", operation_id = "cancel_task",
    tag = "tasks", request_body = GiveReason, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Given up", body = Task),
              (status = 403, description = "Not yours", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is too late", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<GiveReason>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, done);
    Ok(made(tasks::cancel(&app.hub, &caller, id.id(), value.reason, once).await?, done))
}

/// Makes a new draft of a task that was rejected or cancelled, or that failed.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/resubmit", operation_id = "resubmit_task",
    tag = "tasks", request_body = Resubmit, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "The new draft", body = Task),
              (status = 403, description = "Not yours", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is still on its way, or done", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn resubmit(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<Resubmit>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let takes_over = value.take_over_dependents.unwrap_or(true);
    let once = terms.once(&caller, body_hash, written);
    Ok(made(tasks::resubmit(&app.hub, &caller, id.id(), takes_over, once).await?, written))
}

/// Takes the approval of a task back before it is applied.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/withdraw-approval", operation_id = "withdraw_approval",
    tag = "tasks", request_body = GiveReason, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Taken back", body = Task),
              (status = 403, description = "For those who approved it, and admins", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is not approved", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn withdraw(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<GiveReason>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, done);
    Ok(made(tasks::withdraw(&app.hub, &caller, id.id(), value.reason, once).await?, done))
}

/// Gives an admin who was not asked a request of their own.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/join-review", operation_id = "join_review",
    tag = "tasks", params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "The request", body = Approval),
              (status = 403, description = "For admins who had no hand in it", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is not reviewed", body = wire::Problem)))]
pub(crate) async fn join(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    _: NoInput,
) -> Result<Response<Body>, Problem> {
    let once = terms.once(&caller, [0; 32], super::approvals::rendered);
    Ok(made(approvals::join(&app.hub, &caller, id.id(), once).await?, super::approvals::rendered))
}

/// Asks the other admins to end the review with yes; the first who signs does.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/override", operation_id = "override_review",
    tag = "tasks", request_body = GiveUrgency, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 202, description = "Asked; nothing changes until somebody signs", body = Task),
              (status = 403, description = "For admins who had no hand in it", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is not reviewed, or nobody could sign", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn ask_override(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<GiveUrgency>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, accepted);
    let urgency = Urgency { id: id.id(), reason: value.reason, ticket: value.incident_ticket };
    Ok(made(tasks::ask_override(&app.hub, &caller, urgency, once).await?, accepted))
}

/// Puts an approved task at the head of the queue; of one that is reviewed it asks for an override that then does so. Past
/// what an approved task waits for it asks the other admins too, and the first who signs lets it go. Locks are never
/// skipped.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/force-apply", operation_id = "force_apply",
    tag = "tasks", request_body = GiveUrgency, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "It is first", body = Task),
              (status = 202, description = "Asked; nothing changes until somebody signs", body = Task),
              (status = 403, description = "For admins, who had no hand in it where a signature is asked for", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is neither approved nor reviewed, or nobody could sign", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn force_apply(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<GiveUrgency>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, forced);
    let urgency = Urgency { id: id.id(), reason: value.reason, ticket: value.incident_ticket };
    Ok(made(tasks::force_apply(&app.hub, &caller, urgency, once).await?, forced))
}

/// Every request about a task, of all its reviews.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/approvals", operation_id = "list_task_approvals",
    tag = "tasks", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of requests", body = Page<Approval>),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn approvals(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Approval>>, Problem> {
    tasks::get(&app.hub, &caller, id.id()).await?;
    let list = List::new(&caller, "task-approvals").filtered("task", Some(id.0));
    let order = super::approvals::order(&list, query.cursor.as_deref())?;
    let filter = ApprovalFilter { task: Some(Id::new(id.0)), order, ..ApprovalFilter::default() };
    let (limit, read) = limits(query.limit);
    let found = hub::approvals::list(&app.hub, &caller, filter, read).await?;
    Ok(Json(list.page(found, limit, super::approvals::place, super::approvals::shown)))
}

fn accepted(seen: &Seen) -> Answer {
    answer(StatusCode::ACCEPTED, None, &shown(seen))
}

fn forced(seen: &Seen) -> Answer {
    match seen.task.state {
        // What still waits for others was only asked for.
        TaskState::Approved if !seen.task.is_blocked() => done(seen),
        _ => accepted(seen),
    }
}

fn done(seen: &Seen) -> Answer {
    answer(StatusCode::OK, None, &shown(seen))
}

fn written(seen: &Seen) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/tasks/{}", seen.task.id)), &shown(seen))
}
