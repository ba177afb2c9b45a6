//! Projects.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::projects::{Project as DomainProject, ProjectChange};
use hub::idempotency::Answer;
use hub::projects::{self, NewProject};
use wire::{CreateProject, Page, Project, ProjectsQuery, UpdateProject};

use super::page::{List, limits};
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Projects, newest first.
#[utoipa::path(get, path = "/api/v1/projects", operation_id = "list_projects",
    tag = "projects", params(ProjectsQuery),
    responses((status = 200, description = "A page of projects", body = Page<Project>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<ProjectsQuery>,
) -> Result<Json<Page<Project>>, Problem> {
    if let Some(slug) = &query.slug {
        domain::text::slug(slug).map_err(|bad| Problem::field("/slug", bad.to_string()))?;
    }
    let list = List::new(&caller, "projects").filtered("slug", query.slug.as_ref());
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = projects::list(&app.hub, &caller, query.slug, after, read).await?;
    let place = |project: &DomainProject| {
        vec![CursorKey::Int(project.created_at.micros()), CursorKey::Uuid(project.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Makes a project.
#[utoipa::path(post, path = "/api/v1/projects", operation_id = "create_project",
    tag = "projects", request_body = CreateProject,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Project),
              (status = 403, description = "For authors and admins", body = wire::Problem),
              (status = 409, description = "The slug is taken", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateProject>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let wanted = NewProject { name: value.name, slug: value.slug };
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(projects::create(&app.hub, &caller, wanted, once).await?, rendered))
}

/// One project.
#[utoipa::path(get, path = "/api/v1/projects/{id}", operation_id = "get_project",
    tag = "projects", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The project, with `ETag`", body = Project),
              (status = 404, description = "No such project", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&projects::get(&app.hub, &caller, id.id()).await?))
}

/// Changes a project's name or slug.
#[utoipa::path(patch, path = "/api/v1/projects/{id}", operation_id = "change_project",
    tag = "projects", request_body = UpdateProject, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The project, changed", body = Project),
              (status = 404, description = "No such project", body = wire::Problem),
              (status = 409, description = "The slug is taken, or fixed", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<UpdateProject>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let change = ProjectChange { name: value.name, slug: value.slug };
    Ok(tagged(&projects::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Deletes a project that no task needs; its workspaces go with it.
#[utoipa::path(delete, path = "/api/v1/projects/{id}", operation_id = "delete_project",
    tag = "projects", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is gone"),
              (status = 404, description = "No such project", body = wire::Problem),
              (status = 409, description = "It is still needed", body = wire::Problem)))]
pub(crate) async fn delete(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    projects::delete(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn rendered(project: &DomainProject) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/projects/{}", project.id)), &shown(project))
}

fn tagged(project: &DomainProject) -> impl IntoResponse + use<> {
    versioned(hub::etag::of(project.updated_at), shown(project))
}

fn shown(project: &DomainProject) -> Project {
    Project {
        id: project.id.raw(),
        name: project.name.clone(),
        slug: project.slug.clone(),
        created_at: project.created_at.to_string(),
        updated_at: project.updated_at.to_string(),
    }
}
