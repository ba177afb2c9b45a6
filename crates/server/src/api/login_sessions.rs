//! Logging in and out, and the logins one has.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{AppendHeaders, IntoResponse};
use domain::Id;
use domain::cursor::CursorKey;
use hub::Caller;
use hub::identity::login_sessions::{self, Seen};
use hub::identity::password_logins::{self, Shown};
use wire::{LogIn, LoggedIn, LoginSession, Organization, Page, PageQuery, SwitchOrganization};

use super::me;
use super::page::{List, limits};
use crate::App;
use crate::browser::Cookie;
use crate::extract::{Asked, Input, NoInput, PathId, Stranger, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Logs in with a password. The token is in the cookie and nowhere else.
#[utoipa::path(post, path = "/api/v1/auth/login", operation_id = "log_in",
    tag = "login", security(()), request_body = LogIn,
    responses((status = 200, description = "Logged in", body = LoggedIn,
               headers(("set-cookie" = String, description = "The login, for a browser to keep"))),
              (status = 401, description = "E-mail or password is wrong", body = wire::Problem),
              (status = 429, description = "Too many failures", body = wire::Problem)))]
pub(crate) async fn log_in(
    State(app): State<App>,
    Stranger(origin): Stranger,
    input: Input<LogIn>,
) -> Result<impl IntoResponse, Problem> {
    let LogIn { email, password, organization_id } = input.checked()?.value;
    let shown = Shown { email, password, org: organization_id.map(Id::new) };
    let logged_in = password_logins::log_in(&app.hub, shown, &origin).await?;
    let cookie = Cookie::Login.keep(&app.options, logged_in.secret.expose());
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Json(begun(&logged_in))))
}

/// Ends the login this request is made with.
#[utoipa::path(post, path = "/api/v1/auth/logout", operation_id = "log_out",
    tag = "login",
    responses((status = 204, description = "It has ended"),
              (status = 409, description = "This is an API key, no login", body = wire::Problem)))]
pub(crate) async fn log_out(
    State(app): State<App>,
    Who(caller): Who,
    _: NoInput,
) -> Result<impl IntoResponse, Problem> {
    login_sessions::log_out(&app.hub, &caller).await?;
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(SET_COOKIE, Cookie::Login.forget(&app.options))])))
}

/// Your own logins that are still good, newest first.
#[utoipa::path(get, path = "/api/v1/auth/sessions", operation_id = "list_login_sessions",
    tag = "login", params(PageQuery),
    responses((status = 200, description = "A page of logins", body = Page<LoginSession>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<LoginSession>>, Problem> {
    let list = List::new(&caller, "login-sessions");
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let logins = login_sessions::list(&app.hub, &caller, after, read).await?;
    let place = |seen: &Seen| {
        vec![CursorKey::Int(seen.login.created_at.micros()), CursorKey::Uuid(seen.login.id.raw())]
    };
    Ok(Json(list.page(logins, limit, place, |seen| shown(seen, &caller))))
}

/// One of your logins.
#[utoipa::path(get, path = "/api/v1/auth/sessions/{id}", operation_id = "get_login_session",
    tag = "login", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The login", body = LoginSession),
              (status = 404, description = "No such login of yours", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<LoginSession>, Problem> {
    let seen = login_sessions::get(&app.hub, &caller, id.id()).await?;
    Ok(Json(shown(&seen, &caller)))
}

/// Ends one of your logins at once. Repeating it changes nothing.
#[utoipa::path(delete, path = "/api/v1/auth/sessions/{id}", operation_id = "end_login_session",
    tag = "login", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It has ended"),
              (status = 404, description = "No such login of yours", body = wire::Problem)))]
pub(crate) async fn end(State(app): State<App>, Who(caller): Who, id: PathId) -> Result<StatusCode, Problem> {
    login_sessions::end(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Moves the login this request is made with to another organization of yours.
#[utoipa::path(post, path = "/api/v1/auth/switch", operation_id = "switch_organization",
    tag = "login", request_body = SwitchOrganization,
    responses((status = 200, description = "Where the login acts now", body = Organization),
              (status = 404, description = "No such organization of yours", body = wire::Problem),
              (status = 409, description = "This is an API key, no login", body = wire::Problem)))]
pub(crate) async fn switch(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<SwitchOrganization>,
) -> Result<Json<Organization>, Problem> {
    let org = Id::new(input.checked()?.value.organization_id);
    Ok(Json(me::organization(&login_sessions::switch(&app.hub, &caller, org).await?)))
}

/// The answer to a login that has just begun.
pub(super) fn begun(logged_in: &login_sessions::LoggedIn) -> LoggedIn {
    LoggedIn {
        login_session: LoginSession { current: true, ..rendered(&logged_in.seen) },
        account: me::account(&logged_in.account),
        organization: me::organization(&logged_in.organization),
    }
}

fn shown(seen: &Seen, caller: &Caller) -> LoginSession {
    let current = caller.credential.login().is_some_and(|login| login.id == seen.login.id);
    LoginSession { current, ..rendered(seen) }
}

fn rendered(seen: &Seen) -> LoginSession {
    let login = &seen.login;
    LoginSession {
        id: login.id.raw(),
        organization_id: login.org_id.raw(),
        method: login.method.as_str().to_owned(),
        ip_address: login.ip.clone(),
        user_agent: login.user_agent.clone(),
        roles: seen.roles.clone(),
        permissions: seen.permissions.iter().map(|&name| name.to_owned()).collect(),
        current: false,
        last_active: login.last_active_at.to_string(),
        expires_at: login.expires_at.to_string(),
        created_at: login.created_at.to_string(),
    }
}
