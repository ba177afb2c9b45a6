//! Handlers, one file per noun: from the wire to the hub and back.

pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod device_logins;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod fallback;
pub(crate) mod health;
pub(crate) mod invitations;
pub(crate) mod login_sessions;
pub(crate) mod me;
pub(crate) mod organizations;
mod page;
pub(crate) mod passwords;
pub(crate) mod settings;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Response, StatusCode};
use hub::idempotency::Answer;

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
