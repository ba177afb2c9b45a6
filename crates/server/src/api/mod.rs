//! Handlers, one file per noun: from the wire to the hub and back.

pub(crate) mod accounts;
pub(crate) mod agents;
pub(crate) mod api_keys;
pub(crate) mod approval_batches;
pub(crate) mod approvals;
pub(crate) mod archives;
pub(crate) mod audit;
pub(crate) mod delegations;
pub(crate) mod device_logins;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod executions;
pub(crate) mod fallback;
pub(crate) mod health;
pub(crate) mod invitations;
pub(crate) mod locks;
pub(crate) mod login_sessions;
pub(crate) mod me;
pub(crate) mod notifications;
pub(crate) mod organizations;
pub(crate) mod page;
pub(crate) mod passwords;
pub(crate) mod policies;
pub(crate) mod projects;
pub(crate) mod resource_catalogue;
pub(crate) mod settings;
pub(crate) mod standalone_grants;
pub(crate) mod task_comments;
pub(crate) mod task_reviews;
pub(crate) mod task_revisions;
pub(crate) mod tasks;
pub(crate) mod webhook_deliveries;
pub(crate) mod webhooks;
pub(crate) mod workspaces;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use hub::idempotency::{Answer, Outcome};

use crate::json::Json;

/// An answer that can be kept for repeated requests.
fn answer<T: serde::Serialize>(status: StatusCode, location: Option<String>, body: &T) -> Answer {
    let body = serde_json::to_vec(body).unwrap_or_default();
    Answer { status: i64::from(status.as_u16()), location, body }
}

fn respond(answer: Answer) -> Response<Body> {
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(location) = answer.location.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// What came of a request to make something.
fn made<T>(outcome: Outcome<T>, rendered: fn(&T) -> Answer) -> Response<Body> {
    respond(match outcome {
        Outcome::Fresh(thing) => rendered(&thing),
        Outcome::Replayed(answer) => answer,
    })
}

/// A thing with its version.
fn versioned<T: serde::Serialize>(etag: String, body: T) -> impl IntoResponse + use<T> {
    ([(ETAG, etag)], Json(body))
}
