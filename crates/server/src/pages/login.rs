//! The page to log in with a password.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use garde::Validate;
use hub::HubError;
use hub::identity::password_logins::{Shown, log_in};
use serde::Deserialize;

use super::form::Filled;
use super::{host, logged_in, next, page};
use crate::App;
use crate::extract::{Asked, Stranger};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    host: &'a str,
    email: &'a str,
    next: Option<&'a str>,
    message: Option<&'a str>,
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

pub(crate) async fn show(State(app): State<App>, Asked(wanted): Asked<Wanted>) -> Response<Body> {
    let next = wanted.next.as_deref().and_then(next::local);
    page(StatusCode::OK, &LoginPage { host: host(&app.options), email: "", next, message: None })
}

pub(crate) async fn submit(
    State(app): State<App>,
    Stranger(origin): Stranger,
    Filled(form): Filled<LoginForm>,
) -> Result<Response<Body>, Problem> {
    let next = form.next.as_deref().and_then(next::local);
    let shown = Shown { email: form.email.clone(), password: form.password, org: None };
    let refused = match log_in(&app.hub, shown, &origin).await {
        Ok(done) => return Ok(logged_in(&app.options, &done.secret, next.unwrap_or("/account"))),
        Err(error) => error,
    };
    let message = refused.to_string();
    let (host, email, message) = (host(&app.options), form.email.as_str(), Some(message.as_str()));
    let again = |status| page(status, &LoginPage { host, email, next, message });
    match refused {
        HubError::Unauthenticated(_) => Ok(again(StatusCode::UNAUTHORIZED)),
        HubError::Forbidden(_) => Ok(again(StatusCode::FORBIDDEN)),
        other => Err(other.into()),
    }
}
