//! What people and agents say about a task.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::cursor::CursorKey;
use domain::tasks::comments::Comment as DomainComment;
use hub::idempotency::Answer;
use hub::tasks;
use wire::{Comment, CreateComment, Page, PageQuery};

use super::page::{List, limits};
use super::{answer, made};
use crate::App;
use crate::extract::{Asked, Input, PathId, PathIds, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// What was said about a task, newest first.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/comments", operation_id = "list_task_comments",
    tag = "tasks", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of comments", body = Page<Comment>),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Comment>>, Problem> {
    let list = List::new(&caller, "task-comments").filtered("task", Some(id.0));
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = tasks::list_comments(&app.hub, &caller, id.id(), after, read).await?;
    let place = |comment: &DomainComment| {
        vec![CursorKey::Int(comment.created_at.micros()), CursorKey::Uuid(comment.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Says something about a task, whatever state it is in.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/comments", operation_id = "comment_task",
    tag = "tasks", request_body = CreateComment, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Said", body = Comment),
              (status = 403, description = "Your key may not speak", body = wire::Problem),
              (status = 404, description = "No such task", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<CreateComment>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(tasks::comment(&app.hub, &caller, id.id(), value.body, once).await?, rendered))
}

/// One comment.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/comments/{comment_id}", operation_id = "get_task_comment",
    tag = "tasks", params(("id" = uuid::Uuid, Path), ("comment_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The comment", body = Comment),
              (status = 404, description = "No such comment", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    ids: PathIds,
) -> Result<Json<Comment>, Problem> {
    let (task, comment) = ids.ids();
    Ok(Json(shown(&tasks::get_comment(&app.hub, &caller, task, comment).await?)))
}

fn rendered(comment: &DomainComment) -> Answer {
    let location = format!("/api/v1/tasks/{}/comments/{}", comment.task_id, comment.id);
    answer(StatusCode::CREATED, Some(location), &shown(comment))
}

fn shown(comment: &DomainComment) -> Comment {
    Comment {
        id: comment.id.raw(),
        task_id: comment.task_id.raw(),
        author_id: comment.author_id.raw(),
        author_name: comment.author_name.clone(),
        body: comment.body.clone(),
        created_at: comment.created_at.to_string(),
    }
}
