//! Tasks.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::accounts::Account;
use domain::cursor::CursorKey;
use domain::tasks::metadata::check_tag;
use domain::tasks::place::check_path_prefix;
use domain::tasks::{TaskChange, check_resource_id, check_resource_kind};
use domain::{Id, Timestamp};
use hub::audit::list::{self as reading, Row};
use hub::idempotency::Answer;
use hub::tasks::{self, NewTask, Seen};
use hub::{AuditFilter, Caller, TaskFilter};
use serde_json::json;
use wire::{
    AttachPreview, AuditRow, CreateTask, Page, PageQuery, Simulation, Task, TaskQuery, TasksQuery, UpdateTask,
};

use super::page::{List, limits};
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

mod shown;

pub(super) use shown::{config, shown, state};
use shown::{domain_state, domain_status, simulation};

/// Tasks, newest first.
#[utoipa::path(get, path = "/api/v1/tasks", operation_id = "list_tasks",
    tag = "tasks", params(TasksQuery),
    responses((status = 200, description = "A page of tasks", body = Page<Task>),
              (status = 422, description = "A filter is not valid", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<TasksQuery>,
) -> Result<Json<Page<Task>>, Problem> {
    let mut filter = filter(&caller, &query)?;
    let list = List::new(&caller, "tasks")
        .filtered("state", filter.state.map(domain::tasks::TaskState::as_str))
        .filtered("status", filter.status.map(domain::tasks::TaskStatus::as_str))
        .filtered("author", filter.author)
        .filtered("resource", query.resource.as_ref())
        .filtered("tag", query.tag.as_ref())
        .filtered("project_id", query.project_id)
        .filtered("assignee", filter.assignee)
        .filtered("path_prefix", query.path_prefix.as_ref());
    filter.after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = tasks::list(&app.hub, &caller, filter, read).await?;
    let place = |seen: &Seen| {
        vec![CursorKey::Int(seen.task.created_at.micros()), CursorKey::Uuid(seen.task.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

fn filter(caller: &Caller, query: &TasksQuery) -> Result<TaskFilter, Problem> {
    if let Some(resource) = &query.resource {
        let name =
            resource.split_once(':').ok_or_else(|| Problem::field("/resource", "must read type:id"))?;
        let check = check_resource_kind(name.0).and_then(|()| check_resource_id(name.1));
        check.map_err(|bad| Problem::field("/resource", bad.to_string()))?;
    }
    if let Some(tag) = &query.tag {
        check_tag(tag).map_err(|bad| Problem::field("/tag", bad.to_string()))?;
    }
    if let Some(prefix) = &query.path_prefix {
        check_path_prefix(prefix).map_err(|bad| Problem::field("/path_prefix", bad.to_string()))?;
    }
    Ok(TaskFilter {
        state: query.state.map(domain_state),
        status: query.status.map(domain_status),
        open: false,
        risk_from: None,
        author: account(caller, "/author", query.author.as_deref())?,
        resource: query.resource.clone(),
        tag: query.tag.clone(),
        project: query.project_id.map(Id::new),
        assignee: account(caller, "/assignee", query.assignee.as_deref())?,
        path_prefix: query.path_prefix.clone(),
        after: None,
    })
}

/// An account by its id; `me` is the caller.
pub(crate) fn account(
    caller: &Caller,
    pointer: &str,
    text: Option<&str>,
) -> Result<Option<Id<Account>>, Problem> {
    match text {
        None => Ok(None),
        Some("me") => Ok(Some(caller.credential.account.id)),
        Some(id) => {
            let id =
                id.parse().map_err(|_| Problem::field(pointer, "must be the id of an account, or me"))?;
            Ok(Some(id))
        }
    }
}

/// Proposes a task. It begins as a draft, and is handed in at once with `submit`.
#[utoipa::path(post, path = "/api/v1/tasks", operation_id = "create_task",
    tag = "tasks", request_body = CreateTask,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Written", body = Task),
              (status = 403, description = "For authors, admins and agents", body = wire::Problem),
              (status = 409, description = "The slug is taken", body = wire::Problem),
              (status = 422, description = "Not valid, or nobody here carries it out", body = wire::Problem),
              (status = 429, description = "Too many of your tasks are on their way", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateTask>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(tasks::create(&app.hub, &caller, new_task(value)?, once).await?, rendered))
}

/// Says what would happen to a task that was handed in now. Nothing changes.
#[utoipa::path(post, path = "/api/v1/tasks/simulate", operation_id = "simulate_task",
    tag = "tasks", request_body = CreateTask,
    responses((status = 200, description = "What would happen", body = Simulation),
              (status = 403, description = "For authors, admins and agents", body = wire::Problem),
              (status = 422, description = "Not valid, or nobody here carries it out", body = wire::Problem),
              (status = 429, description = "Too many of your tasks are on their way", body = wire::Problem)))]
pub(crate) async fn simulate(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<CreateTask>,
) -> Result<Json<Simulation>, Problem> {
    let wanted = new_task(input.checked()?.value)?;
    Ok(Json(simulation(&tasks::simulate(&app.hub, &caller, wanted).await?)))
}

/// What is wanted, from the wire.
pub(crate) fn new_task(value: CreateTask) -> Result<NewTask, Problem> {
    Ok(NewTask {
        config: value.config,
        metadata: value.metadata.unwrap_or_default(),
        project_id: value.project_id.map(Id::new),
        slug: value.slug,
        path: value.path,
        assignee: value.assignee.map(Id::new),
        due_at: value.due_at.as_deref().map(due_at).transpose()?,
        depends_on: value.depends_on.unwrap_or_default().into_iter().map(Id::new).collect(),
        submit: value.submit.unwrap_or(false),
    })
}

fn due_at(text: &str) -> Result<Timestamp, Problem> {
    text.parse().map_err(|error: domain::time::NotATime| Problem::field("/due_at", error.to_string()))
}

/// One task.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", operation_id = "get_task",
    tag = "tasks", params(("id" = uuid::Uuid, Path), TaskQuery),
    responses((status = 200, description = "The task, with `ETag`", body = Task),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<TaskQuery>,
) -> Result<impl IntoResponse, Problem> {
    let seen = match query.wait_seconds.unwrap_or(0) {
        0 => tasks::get(&app.hub, &caller, id.id()).await?,
        seconds => tasks::watch(&app.hub, &caller, id.id(), Duration::from_secs(seconds.into())).await?,
    };
    Ok(tagged(&seen))
}

/// Changes a task. Under review a change of what reviewers decide about begins the review anew.
#[utoipa::path(patch, path = "/api/v1/tasks/{id}", operation_id = "change_task",
    tag = "tasks", request_body = UpdateTask, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The task, changed", body = Task),
              (status = 403, description = "Not yours to change", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "Its state does not allow it, or the slug is taken", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<UpdateTask>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let ids = |ids: Vec<uuid::Uuid>| ids.into_iter().map(Id::new).collect();
    let change = TaskChange {
        config: value.config,
        metadata: value.metadata,
        slug: value.slug,
        path: value.path,
        assignee: value.assignee.map(|assignee| assignee.map(Id::new)),
        due_at: value.due_at.map(|text| text.as_deref().map(due_at).transpose()).transpose()?,
        project_id: value.project_id.map(Id::new),
        depends_on: value.depends_on.map(ids),
    };
    Ok(tagged(&tasks::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Deletes a draft that no task waits for.
#[utoipa::path(delete, path = "/api/v1/tasks/{id}", operation_id = "delete_task",
    tag = "tasks", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is gone"),
              (status = 403, description = "Not yours to delete", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is no draft, or tasks wait for it", body = wire::Problem)))]
pub(crate) async fn delete(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    tasks::delete(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Attaches what the author says a draft would change. Nothing is run for it, and reviewers see whose word it is.
#[utoipa::path(put, path = "/api/v1/tasks/{id}/preview", operation_id = "attach_task_preview",
    tag = "tasks", request_body = AttachPreview, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The task with its preview", body = Task),
              (status = 403, description = "For its author", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 409, description = "It is no draft", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn attach_preview(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<AttachPreview>,
) -> Result<impl IntoResponse, Problem> {
    let AttachPreview { changes, warnings, errors } = input.checked()?.value;
    let sent = json!({"changes": changes, "warnings": warnings, "errors": errors});
    Ok(tagged(&tasks::attach_preview(&app.hub, &caller, id.id(), &sent, terms.if_match).await?))
}

/// Who did what to a task, newest first. Addresses are shown to admins.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/audit", operation_id = "list_task_audit_rows",
    tag = "tasks", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of rows", body = Page<AuditRow>),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn audit(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<AuditRow>>, Problem> {
    // The rows of a task that is gone are found in the trail of the organization.
    tasks::get(&app.hub, &caller, id.id()).await?;
    let list = List::new(&caller, "task-audit").filtered("task", Some(id.0));
    let after = list.place(query.cursor.as_deref())?;
    let filter = AuditFilter { tasks: vec![id.0], after, ..AuditFilter::default() };
    let (limit, read) = limits(query.limit);
    let rows = reading::list(&app.hub, &caller, filter, read).await?;
    let place =
        |row: &Row| vec![CursorKey::Int(row.entry.occurred_at.micros()), CursorKey::Uuid(row.entry.id.raw())];
    Ok(Json(list.page(rows, limit, place, super::audit::shown)))
}

fn rendered(seen: &Seen) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/tasks/{}", seen.task.id)), &shown(seen))
}

fn tagged(seen: &Seen) -> impl IntoResponse + use<> {
    versioned(seen.etag(), shown(seen))
}
