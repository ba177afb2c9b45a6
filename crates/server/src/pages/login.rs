//! The page to log in, with a password or at the provider.

use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{Response, StatusCode};
use domain::Timestamp;
use garde::Validate;
use hub::HubError;
use hub::identity::password_logins::{Shown, log_in};
use serde::Deserialize;

use super::form::Filled;
use super::gate::Gate;
use super::show::{clock, filters, span};
use super::{capitalised, logged_in, next, oidc, page};
use crate::App;
use crate::extract::{Asked, Stranger};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    gate: &'a Gate,
    email: &'a str,
    next: Option<&'a str>,
    message: Option<&'a str>,
    provider: Option<&'a str>,
}

/// What somebody said before, and why that was not enough.
#[derive(Default)]
pub(super) struct Before<'a> {
    pub(super) email: &'a str,
    pub(super) next: Option<&'a str>,
    pub(super) message: Option<&'a str>,
}

/// The page, for the first time or again.
pub(super) fn shown(app: &App, gate: &Gate, status: StatusCode, before: &Before<'_>) -> Response<Body> {
    let Before { email, next, message } = *before;
    let provider = oidc::settings(app).map(|settings| settings.name.as_str());
    page(status, &LoginPage { gate, email, next, message, provider })
}

/// Where to go afterwards.
#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[garde(skip)]
    next: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginForm {
    email: String,
    password: String,
    next: Option<String>,
}

pub(crate) async fn show(State(app): State<App>, gate: Gate, Asked(wanted): Asked<Wanted>) -> Response<Body> {
    let next = wanted.next.as_deref().and_then(next::local);
    shown(&app, &gate, StatusCode::OK, &Before { next, ..Before::default() })
}

pub(crate) async fn submit(
    State(app): State<App>,
    gate: Gate,
    Stranger(origin): Stranger,
    Filled(form): Filled<LoginForm>,
) -> Result<Response<Body>, Problem> {
    let next = form.next.as_deref().and_then(next::local);
    let proof = Shown { email: form.email.clone(), password: form.password, org: None };
    let refused = match log_in(&app.hub, proof, &origin).await {
        Ok(done) => return Ok(logged_in(&app.options, &done.secret, next.unwrap_or("/"))),
        Err(error) => error,
    };
    let message = capitalised(&refused.to_string());
    let before = Before { email: &form.email, next, message: Some(&message) };
    match refused {
        HubError::Unauthenticated(_) => Ok(shown(&app, &gate, StatusCode::UNAUTHORIZED, &before)),
        HubError::Forbidden(_) => Ok(shown(&app, &gate, StatusCode::FORBIDDEN, &before)),
        HubError::TooMany { what, retry_after_seconds } => {
            let now = app.hub.clock.now();
            let message = again(what, retry_after_seconds, now);
            let before = Before { email: &form.email, next, message: Some(&message) };
            let mut response = shown(&app, &gate, StatusCode::TOO_MANY_REQUESTS, &before);
            response.headers_mut().insert(RETRY_AFTER, retry_after_seconds.into());
            Ok(response)
        }
        other => Err(other.into()),
    }
}

/// When it may be tried again, in minutes that are over by then and as the clock says it.
fn again(what: &str, seconds: u32, now: Timestamp) -> String {
    let minutes = Duration::from_secs(u64::from(seconds).div_ceil(60) * 60);
    let at = now.plus(minutes);
    capitalised(&format!(
        "{what}; try again in {}, {}, or use a one-time link",
        span(minutes),
        clock(at, now)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_to_try_again_is_told_as_people_tell_time() {
        let now = Timestamp::from_micros(1_773_847_800_000_000);
        let said = again("too many failed attempts", 889, now);
        assert_eq!(said, "Too many failed attempts; try again in 15 min, 15:45 UTC, or use a one-time link.");
    }
}
