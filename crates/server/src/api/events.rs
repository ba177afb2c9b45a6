//! The event log.

use std::time::Duration;

use axum::extract::State;
use domain::events::TypeFilter;
use hub::events::read::{Wanted, read as read_events};
use wire::events::LIMIT_DEFAULT;
use wire::{Event, Events, EventsQuery, Subject};

use crate::App;
use crate::extract::{Asked, Who};
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
    let types = match &query.types {
        Some(text) => TypeFilter::parse(text).map_err(|bad| Problem::field("/types", bad.to_string()))?,
        None => TypeFilter::EVERYTHING,
    };
    let wanted = Wanted {
        after: query.after,
        types,
        limit: query.limit.unwrap_or(LIMIT_DEFAULT) as usize,
        wait: Duration::from_secs(query.wait_seconds.unwrap_or(0).into()),
    };
    let found = read_events(&app.hub, &caller, wanted).await?;
    Ok(Json(Events { items: found.events.into_iter().map(shown).collect(), last_seq: found.last_seq }))
}

fn shown(event: domain::events::Event) -> Event {
    Event {
        seq: event.seq,
        kind: event.event_type,
        occurred_at: event.occurred_at.to_string(),
        actor: event.actor,
        source: event.source,
        subject: Subject { kind: event.subject_type, id: event.subject_id },
        payload: event.payload,
    }
}
