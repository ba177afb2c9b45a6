//! What a task was to do at each time.

use axum::extract::{Path, State};
use domain::Id;
use domain::cursor::CursorKey;
use hub::{ListedRevision, tasks};
use wire::{Code, Diff, DiffQuery, Difference, Page, PageQuery, Revision, RevisionSummary};

use super::page::{List, limits};
use super::tasks::config;
use crate::App;
use crate::extract::{Asked, PathId, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Revisions of a task, newest first, without their configs.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/revisions", operation_id = "list_task_revisions",
    tag = "tasks", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of revisions", body = Page<RevisionSummary>),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<RevisionSummary>>, Problem> {
    let list = List::new(&caller, "task-revisions").filtered("task", Some(id.0));
    let before = match list.keys(query.cursor.as_deref())?.as_deref() {
        None => None,
        Some([CursorKey::Int(number)]) => Some(*number),
        Some(_) => return Err(Problem::field("/cursor", "not of this list")),
    };
    let (limit, read) = limits(query.limit);
    let found = tasks::list_revisions(&app.hub, &caller, id.id(), before, read).await?;
    let place = |revision: &ListedRevision| vec![CursorKey::Int(revision.number)];
    let shown = |revision: &ListedRevision| RevisionSummary {
        number: revision.number,
        content_hash: revision.content_hash.to_string(),
        edited_by: revision.edited_by.raw(),
        created_at: revision.created_at.to_string(),
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One revision with its config.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/revisions/{number}", operation_id = "get_task_revision",
    tag = "tasks", params(("id" = uuid::Uuid, Path), ("number" = i64, Path)),
    responses((status = 200, description = "The revision", body = Revision),
              (status = 404, description = "No such revision", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    Path((id, number)): Path<(String, String)>,
) -> Result<Json<Revision>, Problem> {
    let nothing = || Problem::new(Code::NotFound, "there is no such revision");
    let id = uuid::Uuid::parse_str(&id).map_err(|_| nothing())?;
    let number: i64 = number.parse().map_err(|_| nothing())?;
    let revision = tasks::get_revision(&app.hub, &caller, Id::new(id), number).await?;
    Ok(Json(Revision {
        number: revision.number,
        content_hash: revision.content_hash.to_string(),
        edited_by: revision.edited_by.raw(),
        provenance: revision.provenance.iter().map(Id::raw).collect(),
        created_at: revision.created_at.to_string(),
        config: config(&revision.config),
    }))
}

/// What is different between two revisions.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/diff", operation_id = "diff_task_revisions",
    tag = "tasks", params(("id" = uuid::Uuid, Path), DiffQuery),
    responses((status = 200, description = "Each place that differs", body = Diff),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 422, description = "No such revision", body = wire::Problem)))]
pub(crate) async fn diff(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<DiffQuery>,
) -> Result<Json<Diff>, Problem> {
    let (from, to, found) = tasks::difference(&app.hub, &caller, id.id(), (query.from, query.to)).await?;
    let changes =
        found.into_iter().map(|one| Difference { pointer: one.pointer, from: one.from, to: one.to });
    Ok(Json(Diff {
        from: from.number,
        to: to.number,
        from_hash: from.content_hash.to_string(),
        to_hash: to.content_hash.to_string(),
        changes: changes.collect(),
    }))
}
