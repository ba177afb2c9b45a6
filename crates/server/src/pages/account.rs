//! The page about oneself: who, where, the logins one has, single sign-on, the password.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::external_identities::ExternalIdentity;
use domain::login_sessions::{LoginMethod, LoginSession};
use domain::members::Seated;
use domain::organizations::Organization;
use garde::Validate;
use hub::identity::external_identities;
use hub::identity::login_sessions::{self, Seen};
use hub::identity::oidc::Settings;
use hub::identity::passwords::{self, NewPassword};
use hub::{Caller, HubError};
use serde::Deserialize;
use uuid::Uuid;

use super::form::Filled;
use super::shell::Shell;
use super::show::filters;
use super::{lead_to, minute, next, oidc, page, program};
use crate::App;
use crate::browser::{Cookie, Theme};
use crate::extract::{Asked, Who};
use crate::problem::Problem;

const LOGINS_SHOWN: i64 = 50;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    shell: &'a Shell,
    name: &'a str,
    email: &'a str,
    organization: &'a str,
    roles: Vec<String>,
    places: Vec<Organization>,
    logins: Vec<Login>,
    more: bool,
    connections: Vec<Connection>,
    connectable: Option<&'a str>,
    asks_current: bool,
    done: Option<&'static str>,
    message: Option<&'a str>,
}

struct Login {
    id: Uuid,
    program: String,
    user_agent: String,
    method: &'static str,
    ip: String,
    place: Option<String>,
    created_at: String,
    last_active: String,
    current: bool,
}

struct Connection {
    id: Uuid,
    name: String,
    since: String,
}

/// What has just been done.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Done {
    Connected,
    Disconnected,
    Ended,
    Password,
    Switched,
}

impl Done {
    fn words(self) -> &'static str {
        match self {
            Self::Connected => "Your account is connected. You can sign in that way from now on.",
            Self::Disconnected => "Your account is disconnected. Your other sign-ins have ended.",
            Self::Ended => "The sign-in has ended.",
            Self::Password => "Your password is set. Your other sign-ins have ended.",
            Self::Switched => "You act in another organization now.",
        }
    }
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    done: Option<Done>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    shown(&app, &shell, asking.done, None).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchForm {
    organization_id: Uuid,
}

pub(crate) async fn switch(
    State(app): State<App>,
    Who(caller): Who,
    Filled(form): Filled<SwitchForm>,
) -> Result<Response<Body>, Problem> {
    login_sessions::switch(&app.hub, &caller, Id::new(form.organization_id)).await?;
    Ok(lead_to("/account?done=switched"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndForm {
    login_session_id: Uuid,
}

pub(crate) async fn end(
    State(app): State<App>,
    Who(caller): Who,
    Filled(form): Filled<EndForm>,
) -> Result<Response<Body>, Problem> {
    let id: Id<LoginSession> = Id::new(form.login_session_id);
    login_sessions::end(&app.hub, &caller, id).await?;
    Ok(lead_to("/account?done=ended"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordForm {
    /// For the browser's keeper of passwords; who it is, is known.
    #[serde(rename = "username")]
    _username: Option<String>,
    current_password: Option<String>,
    new_password: String,
}

pub(crate) async fn password(
    State(app): State<App>,
    shell: Shell,
    Filled(form): Filled<PasswordForm>,
) -> Result<Response<Body>, Problem> {
    let current = form.current_password.filter(|text| !text.is_empty());
    match passwords::set(&app.hub, &shell.caller, NewPassword { current, new: form.new_password }).await {
        Ok(()) => Ok(lead_to("/account?done=password")),
        Err(HubError::Invalid(errors)) => {
            let words: Vec<String> = errors.iter().map(in_words).collect();
            shown(&app, &shell, None, Some(&words.join(" "))).await
        }
        Err(other) => Err(other.into()),
    }
}

fn in_words(error: &domain::json::FieldError) -> String {
    let field = match error.pointer.as_str() {
        "/current_password" => "The current password",
        _ => "The new password",
    };
    format!("{field} {}.", error.detail)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThemeForm {
    /// `light`, `dark`, or `system`.
    theme: String,
    next: String,
}

/// Has the browser keep how pages look, and leads back.
pub(crate) async fn theme(
    State(app): State<App>,
    Filled(form): Filled<ThemeForm>,
) -> Result<Response<Body>, Problem> {
    let cookie = match form.theme.parse::<Theme>() {
        Ok(theme) => Cookie::Theme.keep(&app.options, theme.as_str()),
        Err(()) if form.theme == "system" => Cookie::Theme.forget(&app.options),
        Err(()) => return Err(Problem::field("/theme", "must be light, dark or system")),
    };
    let mut response = lead_to(next::local(&form.next).unwrap_or("/"));
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

pub(crate) async fn log_out(
    State(app): State<App>,
    Who(caller): Who,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    login_sessions::log_out(&app.hub, &caller).await?;
    let mut response = lead_to("/login");
    response.headers_mut().append(SET_COOKIE, Cookie::Login.forget(&app.options));
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

async fn shown(
    app: &App,
    shell: &Shell,
    done: Option<Done>,
    message: Option<&str>,
) -> Result<Response<Body>, Problem> {
    let caller = &shell.caller;
    let credential = &caller.credential;
    let mut logins = login_sessions::list(&app.hub, caller, None, LOGINS_SHOWN + 1).await?;
    let more = logins.len() > LOGINS_SHOWN as usize;
    logins.truncate(LOGINS_SHOWN as usize);
    let places = login_sessions::places(&app.hub, caller).await?;
    let logins = logins.iter().map(|seen| login(seen, caller, &places)).collect();
    let here = credential.organization.id;
    let identities = external_identities::list(&app.hub, caller).await?;
    let provider = oidc::settings(app);
    let is_of_provider = |identity: &ExternalIdentity| {
        provider.is_some_and(|provider| provider.issuer.as_str() == identity.issuer)
    };
    let connectable = provider.filter(|_| !identities.iter().any(is_of_provider));
    let template = AccountPage {
        shell,
        name: &credential.account.display_name,
        email: &credential.account.email,
        organization: &credential.organization.name,
        roles: credential.seat.as_ref().map(Seated::role_names).unwrap_or_default(),
        places: places.into_iter().filter(|place| place.id != here).collect(),
        logins,
        more,
        connections: identities.iter().map(|identity| connection(identity, provider)).collect(),
        connectable: connectable.map(|provider| provider.name.as_str()),
        asks_current: !passwords::needs_no_proof(caller),
        done: done.map(Done::words),
        message,
    };
    let status = if message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page(status, &template))
}

/// Of a provider that the operator no longer names, the address is all that is left of its name.
fn connection(identity: &ExternalIdentity, provider: Option<&Settings>) -> Connection {
    let provider = provider.filter(|provider| provider.issuer.as_str() == identity.issuer);
    Connection {
        id: identity.id.raw(),
        name: provider.map_or(&identity.issuer, |provider| &provider.name).clone(),
        since: minute(identity.created_at),
    }
}

fn login(seen: &Seen, caller: &Caller, places: &[Organization]) -> Login {
    let login = &seen.login;
    let unknown = || "unknown".to_owned();
    // Where it is, only where that is not here.
    let elsewhere = places.iter().find(|place| place.id == login.org_id);
    let elsewhere = elsewhere.filter(|place| place.id != caller.credential.organization.id);
    Login {
        id: login.id.raw(),
        program: login.user_agent.as_deref().map_or("Unknown program".to_owned(), program::named),
        user_agent: login.user_agent.clone().unwrap_or_default(),
        method: match login.method {
            LoginMethod::Password => "Password",
            LoginMethod::Link => "One-time link",
            LoginMethod::Device => "Granted in a browser",
            LoginMethod::Oidc => "Single sign-on",
        },
        ip: login.ip.clone().unwrap_or_else(unknown),
        place: elsewhere.map(|place| place.name.clone()),
        created_at: minute(login.created_at),
        last_active: minute(login.last_active_at),
        current: caller.credential.login().is_some_and(|current| current.id == login.id),
    }
}
