//! The event log.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use hub::events::follow::follow;
use hub::events::read::{Wanted, read as read_events};
use wire::events::LIMIT_DEFAULT;
use wire::{Event, Events, EventsQuery, SocketQuery, StreamQuery, Subject};

use crate::App;
use crate::connection::Connection;
use crate::extract::{Asked, Who};
use crate::feeds::{self, Tells, Upgrade};
use crate::json::Json;
use crate::problem::Problem;

/// What happened after a number, in order; waits for it where there is nothing yet.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "read_events",
    tag = "events", params(EventsQuery),
    responses((status = 200, description = "Events, and how far the log was searched", body = Events),
              (status = 410, description = "The log no longer goes back that far", body = wire::Problem)))]
pub(crate) async fn read(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<EventsQuery>,
) -> Result<Json<Events>, Problem> {
    let wanted = Wanted {
        after: query.after,
        types: feeds::filter(query.types.as_deref())?,
        limit: query.limit.unwrap_or(LIMIT_DEFAULT) as usize,
        wait: Duration::from_secs(query.wait_seconds.unwrap_or(0).into()),
    };
    let found = read_events(&app.hub, &caller, wanted).await?;
    Ok(Json(Events { items: found.events.iter().map(shown).collect(), last_seq: found.last_seq }))
}

/// The same as they come, as server-sent events. `Last-Event-ID` says where to continue; without it only what comes.
#[utoipa::path(get, path = "/api/v1/events/stream", operation_id = "stream_events",
    tag = "events", params(StreamQuery, ("last-event-id" = Option<i64>, Header, description = "The last `id` that was read")),
    responses((status = 200, description = "Events, each with its `seq` as `id`", content_type = "text/event-stream", body = Event),
              (status = 410, description = "The log no longer goes back that far", body = wire::Problem)))]
pub(crate) async fn stream(
    State(app): State<App>,
    Who(caller): Who,
    headers: HeaderMap,
    connection: Option<Extension<Connection>>,
    Asked(query): Asked<StreamQuery>,
) -> Result<Response<Body>, Problem> {
    let wanted = feeds::wanted(&app, last_event_id(&headers)?, query.types.as_deref())?;
    let follower = follow(&app.hub, &caller, wanted).await?;
    Ok(feeds::open_stream(&app, connection.map(|Extension(connection)| connection), follower))
}

/// Where a stream broke off. Browsers send it by themselves, and empty while they have none.
fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse::<i64>().ok()).filter(|number| *number >= 0);
    let wrong =
        || Problem::field("/last-event-id", "must be the number of an event, as the stream's ids are");
    number.map(Some).ok_or_else(wrong)
}

/// The same over a WebSocket. A text `ping` is answered with `{"type":"heartbeat","message":"pong"}`.
#[utoipa::path(get, path = "/api/v1/ws", operation_id = "follow_events",
    tag = "events", params(SocketQuery),
    responses((status = 101, description = "The socket: events, and heartbeats that say how far the log was searched"),
              (status = 410, description = "The log no longer goes back that far", body = wire::Problem),
              (status = 426, description = "The request does not ask for a WebSocket", body = wire::Problem)))]
pub(crate) async fn socket(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<SocketQuery>,
    upgrade: Upgrade,
) -> Result<Response<Body>, Problem> {
    let wanted = feeds::wanted(&app, query.since, query.types.as_deref())?;
    let follower = follow(&app.hub, &caller, wanted).await?;
    Ok(feeds::run_socket(&app, upgrade, follower, Tells::Events))
}

/// An event as everybody gets it.
pub(crate) fn shown(event: &domain::events::Event) -> Event {
    Event {
        seq: event.seq,
        kind: event.event_type.clone(),
        occurred_at: event.occurred_at.to_string(),
        actor: event.actor,
        source: event.source.clone(),
        subject: Subject { kind: event.subject_type.clone(), id: event.subject_id.clone() },
        payload: event.payload.clone(),
    }
}
