//! The way to the provider of logins and back, and the connection of one's own account to it.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, Response, StatusCode};
use domain::Id;
use domain::external_identities::ExternalIdentity;
use garde::Validate;
use hub::identity::external_identities::disconnect as end;
use hub::identity::oidc::Settings;
use hub::identity::oidc_flows::{Answer, Arrived, Leaving, Returned, Sent, begin, come_back};
use hub::{HubError, Origin};
use serde::Deserialize;
use uuid::Uuid;

use super::account::Nothing;
use super::form::Filled;
use super::gate::Gate;
use super::show::filters;
use super::{capitalised, lead_to, logged_in, login, next, page};
use crate::browser::Cookie;
use crate::extract::{Asked, Stranger, Who};
use crate::problem::{Problem, RETRY_AFTER_PROVIDER_SECONDS};
use crate::{App, Options};

/// Far more than a provider's code or name has.
const ANSWER_BYTES_MAX: usize = 4096;

#[derive(Template)]
#[template(path = "oidc.html")]
struct OidcPage<'a> {
    gate: &'a Gate,
    provider: &'a str,
    view: View<'a>,
}

enum View<'a> {
    Leaving { location: &'a str },
    Refused { message: String },
}

/// The provider, if the operator named one.
pub(super) fn settings(app: &App) -> Option<&Settings> {
    app.hub.config.oidc.as_ref().map(hub::identity::oidc::Provider::settings)
}

/// What is registered at the provider.
fn redirect_uri(options: &Options) -> String {
    format!("{}/login/oidc/callback", options.public_url.trim_end_matches('/'))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartForm {
    next: Option<String>,
}

pub(crate) async fn start(
    State(app): State<App>,
    gate: Gate,
    Stranger(origin): Stranger,
    Filled(form): Filled<StartForm>,
) -> Result<Response<Body>, Problem> {
    let next = form.next.as_deref().and_then(next::local);
    let leaving = Leaving { redirect_uri: &redirect_uri(&app.options), next, connects: None };
    match begin(&app.hub, &leaving, &origin).await {
        Ok(sent) => Ok(leave(&app, &gate, &sent)),
        Err(error @ HubError::ProviderUnavailable(_)) => {
            let message = capitalised(&error.to_string());
            let before = login::Before { next, message: Some(&message), ..login::Before::default() };
            Ok(later(login::shown(&app, &gate, StatusCode::SERVICE_UNAVAILABLE, &before)))
        }
        Err(other) => Err(other.into()),
    }
}

pub(crate) async fn connect(
    State(app): State<App>,
    gate: Gate,
    Who(caller): Who,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    let redirect_uri = redirect_uri(&app.options);
    let leaving = Leaving { redirect_uri: &redirect_uri, next: None, connects: Some(&caller) };
    match begin(&app.hub, &leaving, &caller.origin).await {
        Ok(sent) => Ok(leave(&app, &gate, &sent)),
        Err(error) => refused(&app, &gate, error),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DisconnectForm {
    identity_id: Uuid,
}

pub(crate) async fn disconnect(
    State(app): State<App>,
    Who(caller): Who,
    Filled(form): Filled<DisconnectForm>,
) -> Result<Response<Body>, Problem> {
    let id: Id<ExternalIdentity> = Id::new(form.identity_id);
    end(&app.hub, &caller, id).await?;
    Ok(lead_to("/account?done=disconnected"))
}

/// A page that leads on by itself. A redirect would do, but browsers take it for the target of the form, and the hub's
/// forms lead to the hub alone, whichever hosts the provider sends people through.
fn leave(app: &App, gate: &Gate, sent: &Sent) -> Response<Body> {
    let view = View::Leaving { location: &sent.location };
    let mut response = shown(app, gate, StatusCode::OK, view);
    response.headers_mut().append(SET_COOKIE, Cookie::Flow.keep(&app.options, sent.browser.expose()));
    response
}

/// What the provider has the browser bring. Providers add words of their own, which are nobody's business here.
#[derive(Deserialize, Validate)]
pub(crate) struct Brought {
    #[garde(inner(length(bytes, max = ANSWER_BYTES_MAX)))]
    state: Option<String>,
    #[garde(inner(length(bytes, max = ANSWER_BYTES_MAX)))]
    code: Option<String>,
    #[garde(inner(length(bytes, max = ANSWER_BYTES_MAX)))]
    error: Option<String>,
    #[garde(inner(length(bytes, max = ANSWER_BYTES_MAX)))]
    iss: Option<String>,
}

pub(crate) async fn callback(
    State(app): State<App>,
    gate: Gate,
    Stranger(origin): Stranger,
    headers: HeaderMap,
    Asked(brought): Asked<Brought>,
) -> Result<Response<Body>, Problem> {
    let mut response = arrived((&app, &gate), &origin, &headers, brought).await?;
    // Still kept where another browser's answer was brought, so that this one's own may yet come.
    if response.status() != StatusCode::GONE {
        response.headers_mut().append(SET_COOKIE, Cookie::Flow.forget(&app.options));
    }
    Ok(response)
}

async fn arrived(
    (app, gate): (&App, &Gate),
    origin: &Origin,
    headers: &HeaderMap,
    brought: Brought,
) -> Result<Response<Body>, Problem> {
    let sent = |cookie: Cookie| cookie.read(&app.options, headers).map(str::to_owned);
    let returned = Returned {
        state: brought.state.unwrap_or_default(),
        browser: sent(Cookie::Flow),
        login: sent(Cookie::Login),
        answer: match (brought.code, brought.error) {
            (Some(code), None) => Answer::Code(code),
            _ => Answer::Refusal,
        },
        issuer: brought.iss,
        redirect_uri: redirect_uri(&app.options),
    };
    match come_back(&app.hub, &returned, origin).await {
        Ok(Arrived::LoggedIn(done, wanted)) => {
            let to = wanted.as_deref().and_then(next::local).unwrap_or("/");
            Ok(logged_in(&app.options, &done.secret, to))
        }
        Ok(Arrived::Connected) => Ok(lead_to("/account?done=connected")),
        Err(error) => refused(app, gate, error),
    }
}

/// Says what became of it. The page is an end: what led here works once.
fn refused(app: &App, gate: &Gate, error: HubError) -> Result<Response<Body>, Problem> {
    let status = match &error {
        HubError::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        HubError::Forbidden(_) => StatusCode::FORBIDDEN,
        HubError::Conflict(_) => StatusCode::CONFLICT,
        HubError::NotFound(_) => return Ok(no_provider(app, gate)),
        HubError::Expired(_) => StatusCode::GONE,
        HubError::ProviderUnavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => return Err(error.into()),
    };
    let response = shown(app, gate, status, View::Refused { message: capitalised(&error.to_string()) });
    Ok(if status == StatusCode::SERVICE_UNAVAILABLE { later(response) } else { response })
}

/// Nobody named a provider here, or nobody does any more; a link or a bookmark may still lead to where it answers.
fn no_provider(app: &App, gate: &Gate) -> Response<Body> {
    let message = "Nobody signs in at this hub through a provider. Nothing was signed in; sign in here.";
    let before = login::Before { message: Some(message), ..login::Before::default() };
    login::shown(app, gate, StatusCode::NOT_FOUND, &before)
}

fn later(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_PROVIDER_SECONDS.into());
    response
}

fn shown(app: &App, gate: &Gate, status: StatusCode, view: View<'_>) -> Response<Body> {
    let provider = settings(app).map_or("the provider", |settings| settings.name.as_str());
    page(status, &OidcPage { gate, provider, view })
}
