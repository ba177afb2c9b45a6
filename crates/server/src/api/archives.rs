//! Archives of finished tasks.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use domain::cursor::CursorKey;
use futures_util::stream;
use hub::{HubError, archives};
use wire::{Archive, Page, PageQuery};

use super::page::{List, limits};
use crate::App;
use crate::extract::{Asked, PathId, Who};
use crate::json::Json;
use crate::problem::Problem;

const NDJSON: [(axum::http::HeaderName, &str); 1] = [(CONTENT_TYPE, "application/x-ndjson")];

/// Archives, newest first.
#[utoipa::path(get, path = "/api/v1/archives", operation_id = "list_archives",
    tag = "archives", params(PageQuery),
    responses((status = 200, description = "A page of archives", body = Page<Archive>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Archive>>, Problem> {
    let list = List::new(&caller, "archives");
    let after = list.place(query.cursor.as_deref())?;
    let (limit, read) = limits(query.limit);
    let found = archives::list(&app.hub, &caller, after, read).await?;
    let place = |archive: &domain::archives::Archive| {
        vec![CursorKey::Int(archive.created_at.micros()), CursorKey::Uuid(archive.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One archive.
#[utoipa::path(get, path = "/api/v1/archives/{id}", operation_id = "get_archive",
    tag = "archives", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The archive", body = Archive),
              (status = 404, description = "No such archive", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Archive>, Problem> {
    Ok(Json(shown(&archives::get(&app.hub, &caller, id.id()).await?)))
}

/// The tasks in an archive, one line each, with the audit rows about them and their proofs.
#[utoipa::path(get, path = "/api/v1/archives/{id}/content", operation_id = "read_archive",
    tag = "archives", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "NDJSON", content_type = "application/x-ndjson", body = String),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such archive", body = wire::Problem)))]
pub(crate) async fn content(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    let archive = archives::get(&app.hub, &caller, id.id()).await?;
    let first = archives::read(&app.hub, &caller, &archive, 0).await?;
    let rest = stream::try_unfold((first, 0), move |(piece, offset)| {
        let (hub, caller, archive) = (app.hub.clone(), caller.clone(), archive.clone());
        async move {
            if piece.is_empty() {
                return Ok::<_, HubError>(None);
            }
            let offset = offset + i64::try_from(piece.len()).unwrap_or(i64::MAX);
            let next = archives::read(&hub, &caller, &archive, offset).await?;
            Ok(Some((Bytes::from(piece), (next, offset))))
        }
    });
    Ok((NDJSON, Body::from_stream(rest)))
}

/// The line of an archived task.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/archive", operation_id = "get_archived_task",
    tag = "archives", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "One line of NDJSON", content_type = "application/x-ndjson", body = String),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No archived task is called so", body = wire::Problem)))]
pub(crate) async fn of_task(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok((NDJSON, archives::line_of(&app.hub, &caller, id.id()).await?))
}

fn shown(archive: &domain::archives::Archive) -> Archive {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    Archive {
        id: archive.id.raw(),
        tasks: unsigned(archive.tasks),
        approvals: unsigned(archive.approvals),
        bytes: unsigned(archive.bytes),
        sha256: archive.sha256.to_string(),
        audit_id: archive.audit_id.raw(),
        first_ended_at: archive.first_ended_at.to_string(),
        last_ended_at: archive.last_ended_at.to_string(),
        created_at: archive.created_at.to_string(),
    }
}
