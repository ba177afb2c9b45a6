//! Workspaces of projects.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::workspaces::{Workspace as DomainWorkspace, WorkspaceChange};
use hub::idempotency::Answer;
use hub::workspaces::{self, NewWorkspace, Place};
use wire::{CreateWorkspace, Page, PageQuery, UpdateWorkspace, Workspace};

use super::page::{List, limits};
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, PathIds, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Workspaces of a project, newest first.
#[utoipa::path(get, path = "/api/v1/projects/{id}/workspaces", operation_id = "list_workspaces",
    tag = "projects", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of workspaces", body = Page<Workspace>),
              (status = 404, description = "No such project", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Workspace>>, Problem> {
    let list = List::new(&caller, "workspaces").filtered("project", Some(id.0));
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = workspaces::list(&app.hub, &caller, id.id(), after, read).await?;
    let place = |workspace: &DomainWorkspace| {
        vec![CursorKey::Int(workspace.created_at.micros()), CursorKey::Uuid(workspace.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Adds a workspace to a project.
#[utoipa::path(post, path = "/api/v1/projects/{id}/workspaces", operation_id = "create_workspace",
    tag = "projects", request_body = CreateWorkspace, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Added", body = Workspace),
              (status = 404, description = "No such project", body = wire::Problem),
              (status = 409, description = "The name is taken", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<CreateWorkspace>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let wanted = NewWorkspace { project: id.id(), name: value.name, path: value.path };
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(workspaces::create(&app.hub, &caller, wanted, once).await?, rendered))
}

/// One workspace.
#[utoipa::path(get, path = "/api/v1/projects/{id}/workspaces/{workspace_id}", operation_id = "get_workspace",
    tag = "projects", params(("id" = uuid::Uuid, Path), ("workspace_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The workspace, with `ETag`", body = Workspace),
              (status = 404, description = "No such workspace", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&workspaces::get(&app.hub, &caller, place(&ids)).await?))
}

/// Changes a workspace's name or path.
#[utoipa::path(patch, path = "/api/v1/projects/{id}/workspaces/{workspace_id}", operation_id = "change_workspace",
    tag = "projects", request_body = UpdateWorkspace,
    params(("id" = uuid::Uuid, Path), ("workspace_id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The workspace, changed", body = Workspace),
              (status = 404, description = "No such workspace", body = wire::Problem),
              (status = 409, description = "The name is taken", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
    terms: Terms,
    input: Input<UpdateWorkspace>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let change = WorkspaceChange { name: value.name, path: value.path };
    Ok(tagged(&workspaces::change(&app.hub, &caller, place(&ids), change, terms.if_match).await?))
}

/// Removes a workspace.
#[utoipa::path(delete, path = "/api/v1/projects/{id}/workspaces/{workspace_id}", operation_id = "delete_workspace",
    tag = "projects", params(("id" = uuid::Uuid, Path), ("workspace_id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is gone"),
              (status = 404, description = "No such workspace", body = wire::Problem)))]
pub(crate) async fn delete(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
) -> Result<StatusCode, Problem> {
    workspaces::delete(&app.hub, &caller, place(&ids)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn place(ids: &PathIds) -> Place {
    let (project, workspace) = ids.ids();
    Place { project, workspace }
}

fn rendered(workspace: &DomainWorkspace) -> Answer {
    let location = format!("/api/v1/projects/{}/workspaces/{}", workspace.project_id, workspace.id);
    answer(StatusCode::CREATED, Some(location), &shown(workspace))
}

fn tagged(workspace: &DomainWorkspace) -> impl IntoResponse + use<> {
    versioned(hub::etag::of(workspace.updated_at), shown(workspace))
}

fn shown(workspace: &DomainWorkspace) -> Workspace {
    Workspace {
        id: workspace.id.raw(),
        project_id: workspace.project_id.raw(),
        name: workspace.name.clone(),
        path: workspace.path.clone(),
        created_at: workspace.created_at.to_string(),
        updated_at: workspace.updated_at.to_string(),
    }
}
