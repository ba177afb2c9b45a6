//! The page of a one-time link. Looking at it changes nothing; programs look at links before people do.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use garde::Validate;
use hub::HubError;
use hub::identity::login_links::consume;
use serde::Deserialize;

use super::form::Filled;
use super::gate::Gate;
use super::show::filters;
use super::{capitalised, logged_in, page};
use crate::App;
use crate::extract::{Asked, Stranger};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "once.html")]
struct OncePage<'a> {
    gate: &'a Gate,
    token: Option<&'a str>,
    message: &'a str,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    #[garde(inner(length(bytes, max = wire::login_sessions::TOKEN_BYTES_MAX)))]
    token: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkForm {
    token: String,
}

pub(crate) async fn show(gate: Gate, Asked(link): Asked<Link>) -> Response<Body> {
    let token = link.token.as_deref().filter(|token| !token.is_empty());
    let status = if token.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let message = "The link is not whole. Copy all of it, up to its last character.";
    page(status, &OncePage { gate: &gate, token, message })
}

pub(crate) async fn submit(
    State(app): State<App>,
    gate: Gate,
    Stranger(origin): Stranger,
    Filled(form): Filled<LinkForm>,
) -> Result<Response<Body>, Problem> {
    let (status, message) = match consume(&app.hub, &form.token, &origin).await {
        Ok(done) => return Ok(logged_in(&app.options, &done.secret, "/account")),
        Err(HubError::NotFound(_)) => (
            StatusCode::NOT_FOUND,
            "There is no such link here. Copy all of it, up to its last character.".into(),
        ),
        Err(error @ HubError::Expired(_)) => (StatusCode::GONE, capitalised(&error.to_string())),
        Err(other) => return Err(other.into()),
    };
    Ok(page(status, &OncePage { gate: &gate, token: None, message: &message }))
}
