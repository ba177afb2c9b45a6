//! What the caller was told, and what they do not want to be told.

use axum::extract::State;
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::json::FieldError;
use domain::notifications::{Notification as Told, NotificationKind, Preferences};
use hub::HubError;
use hub::notifications::{self, Filter};
use wire::{Notification, NotificationPreferences, NotificationsQuery, Page, SetNotificationPreferences};

use super::page::{List, limits};
use super::versioned;
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// What the caller was told, the newest first.
#[utoipa::path(get, path = "/api/v1/notifications", operation_id = "list_notifications",
    tag = "notifications", params(NotificationsQuery),
    responses((status = 200, description = "A page of notifications", body = Page<Notification>),
              (status = 422, description = "A filter is not valid", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<NotificationsQuery>,
) -> Result<Json<Page<Notification>>, Problem> {
    let account = Some(caller.credential.account.id);
    let list =
        List::new(&caller, "notifications").filtered("account", account).filtered("unread", query.unread);
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let filter = Filter { unread: query.unread, after };
    let found = notifications::list(&app.hub, &caller, filter, read).await?;
    let place = |one: &Told| vec![CursorKey::Int(one.created_at.micros()), CursorKey::Uuid(one.id.raw())];
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One thing the caller was told.
#[utoipa::path(get, path = "/api/v1/notifications/{id}", operation_id = "get_notification",
    tag = "notifications", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The notification", body = Notification),
              (status = 404, description = "The caller was told no such thing", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Notification>, Problem> {
    Ok(Json(shown(&notifications::get(&app.hub, &caller, id.id()).await?)))
}

/// Says that the caller has read it. Repeating it changes nothing.
#[utoipa::path(post, path = "/api/v1/notifications/{id}/read", operation_id = "read_notification",
    tag = "notifications", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The notification, read", body = Notification),
              (status = 404, description = "The caller was told no such thing", body = wire::Problem)))]
pub(crate) async fn read(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<Json<Notification>, Problem> {
    Ok(Json(shown(&notifications::read(&app.hub, &caller, id.id()).await?)))
}

/// What the caller does not want to be told.
#[utoipa::path(get, path = "/api/v1/notifications/preferences", operation_id = "get_notification_preferences",
    tag = "notifications",
    responses((status = 200, description = "The preferences, with `ETag`", body = NotificationPreferences)))]
pub(crate) async fn preferences(
    State(app): State<App>,
    Who(caller): Who,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&notifications::preferences(&app.hub, &caller).await?))
}

/// Says which kinds the caller does not want to be told. What asks for a decision is always told.
#[utoipa::path(put, path = "/api/v1/notifications/preferences", operation_id = "set_notification_preferences",
    tag = "notifications", request_body = SetNotificationPreferences,
    params(("If-Match" = Option<String>, Header, description = "Only if they are still those of this `ETag`")),
    responses((status = 200, description = "The preferences, changed", body = NotificationPreferences),
              (status = 412, description = "They were changed since", body = wire::Problem),
              (status = 422, description = "Not a kind, or one that cannot be muted", body = wire::Problem)))]
pub(crate) async fn set_preferences(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<SetNotificationPreferences>,
) -> Result<impl IntoResponse, Problem> {
    let muted = kinds(&input.checked()?.value.muted)?;
    Ok(tagged(&notifications::set_preferences(&app.hub, &caller, muted, terms.if_match).await?))
}

fn kinds(words: &[String]) -> Result<Vec<NotificationKind>, Problem> {
    let mut kinds = Vec::new();
    let mut errors = Vec::new();
    for (place, word) in words.iter().enumerate() {
        match word.parse() {
            Ok(kind) => kinds.push(kind),
            Err(_) => errors.push(FieldError {
                pointer: format!("/muted/{place}"),
                detail: format!("{word:?} is no kind of notification"),
            }),
        }
    }
    if errors.is_empty() { Ok(kinds) } else { Err(HubError::Invalid(errors).into()) }
}

fn tagged(preferences: &Preferences) -> impl IntoResponse + use<> {
    let words =
        |kinds: &[NotificationKind]| kinds.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
    let (always, mutable): (Vec<_>, Vec<_>) = NotificationKind::ALL.into_iter().partition(|kind| kind.asks());
    let shown = NotificationPreferences {
        muted: words(&preferences.muted),
        mutable: words(&mutable),
        always: words(&always),
    };
    versioned(notifications::etag(preferences), shown)
}

fn shown(told: &Told) -> Notification {
    Notification {
        id: told.id.raw(),
        kind: told.kind.as_str().to_owned(),
        task_id: told.task_id.raw(),
        approval_id: told.approval_id.map(|id| id.raw()),
        event_type: told.event_type.clone(),
        event_seq: told.event_seq,
        actor_id: told.actor_id,
        facts: told.facts.clone(),
        created_at: told.created_at.to_string(),
        delivered_at: told.delivered_at.map(|at| at.to_string()),
        read_at: told.read_at.map(|at| at.to_string()),
    }
}
