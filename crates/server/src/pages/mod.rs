//! Pages for people: to log in, here or at a provider, to answer a program that asks for a login, and one's own account.
//!
//! A page needs no JavaScript. It is a template in `templates/`, a `GET` that shows it and changes nothing, and a
//! `POST` of a form that changes something and then leads elsewhere (303). What goes wrong is a page too: problems of
//! paths that are pages are rendered here, those of all others by `frame`.

pub(crate) mod account;
mod agents;
pub(crate) mod assets;
mod audit;
pub(crate) mod decisions;
mod delegations;
pub(crate) mod device;
mod drawing;
pub(crate) mod failed;
mod form;
pub(crate) mod gate;
pub(crate) mod inbox;
mod lists;
pub(crate) mod live;
mod locks;
pub(crate) mod login;
mod next;
mod notifications;
pub(crate) mod oidc;
pub(crate) mod once;
mod overview;
mod plan;
mod policies;
mod program;
mod reading;
mod settings;
mod shell;
mod show;
#[cfg(test)]
mod snapshots;
mod task_list;
pub(crate) mod tasks;
#[cfg(test)]
mod vocabulary;
mod wrong;

use askama::Template;
use axum::body::Body;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::response::{Html, IntoResponse};
use axum::routing::{MethodRouter, get, post};
use domain::Timestamp;
use domain::secrets::Secret;
use wire::Code;

use crate::browser::Cookie;
use crate::guard::Needs;
use crate::problem::{Problem, internal};
use crate::{App, Options};

/// A page and what it asks of whoever opens it.
pub(crate) struct Page {
    pub(crate) needs: Needs,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) mount: MethodRouter<App>,
}

/// Every page.
pub(crate) fn table() -> Vec<Page> {
    let page = |needs, method, path, mount| Page { needs, method, path, mount };
    vec![
        page(Needs::Login, "GET", "/", get(inbox::show)),
        page(Needs::Login, "GET", "/approvals/batch", get(inbox::show_batch)),
        page(Needs::Login, "POST", "/approvals/batch", post(inbox::sign)),
        page(Needs::Login, "POST", "/approvals/{id}/approve", post(decisions::approve)),
        page(Needs::Login, "POST", "/approvals/{id}/reject", post(decisions::reject)),
        page(Needs::Login, "POST", "/approvals/{id}/request-changes", post(decisions::request_changes)),
        page(Needs::Login, "POST", "/approvals/{id}/delegate", post(decisions::delegate)),
        page(Needs::Login, "GET", "/tasks/{id}", get(tasks::show)),
        page(Needs::Login, "POST", "/tasks/{id}/comments", post(tasks::comment)),
        page(Needs::Nothing, "GET", "/login", get(login::show)),
        page(Needs::Nothing, "POST", "/login", post(login::submit)),
        page(Needs::Nothing, "GET", "/login/once", get(once::show)),
        page(Needs::Nothing, "POST", "/login/once", post(once::submit)),
        page(Needs::Nothing, "POST", "/login/oidc", post(oidc::start)),
        page(Needs::Nothing, "GET", "/login/oidc/callback", get(oidc::callback)),
        page(Needs::Login, "GET", "/login/device", get(device::show)),
        page(Needs::Login, "POST", "/login/device", post(device::submit)),
        page(Needs::Login, "GET", "/account", get(account::show)),
        page(Needs::Login, "POST", "/account/switch", post(account::switch)),
        page(Needs::Login, "POST", "/account/end", post(account::end)),
        page(Needs::Login, "POST", "/account/notifications", post(inbox::read_told)),
        page(Needs::Login, "GET", "/account/notifications/preferences", get(notifications::show)),
        page(Needs::Login, "POST", "/account/notifications/preferences", post(notifications::set)),
        page(Needs::Login, "POST", "/account/password", post(account::password)),
        page(Needs::Login, "POST", "/account/connect", post(oidc::connect)),
        page(Needs::Login, "POST", "/account/disconnect", post(oidc::disconnect)),
        page(Needs::Nothing, "POST", "/account/theme", post(account::theme)),
        page(Needs::Login, "POST", "/account/logout", post(account::log_out)),
        page(Needs::Login, "GET", "/live", get(live::socket)),
        page(Needs::Nothing, "GET", "/assets/{name}", get(assets::get)),
    ]
    .into_iter()
    .chain(tasks::acts::table())
    .chain(tasks::new::table())
    .chain(delegations::table())
    .chain(lists::table())
    .collect()
}

/// Where pages are.
const SECTIONS: [&str; 13] = [
    "/login",
    "/account",
    "/live",
    "/tasks",
    "/plan",
    "/locks",
    "/agents",
    "/policies",
    "/delegations",
    "/audit",
    "/overview",
    "/settings",
    "/approvals",
];

/// Whether people look at this path in a browser, so that its problems are pages too.
pub(crate) fn owns(path: &str) -> bool {
    path == "/" || SECTIONS.into_iter().any(|root| is_below(root, path))
}

fn is_below(root: &str, path: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether somebody has followed a wrong link in a browser: they are told so on a page, programs in JSON.
pub(crate) fn is_astray(
    problem: &Problem,
    (method, uri): (&Method, &Uri),
    accepts: Option<&HeaderValue>,
) -> bool {
    problem.code == Code::NotFound && is_link(method, uri.path(), accepts)
}

/// Whether this may be a link that somebody follows in a browser.
fn is_link(method: &Method, path: &str, accepts: Option<&HeaderValue>) -> bool {
    let is_browser =
        accepts.and_then(|types| types.to_str().ok()).is_some_and(|types| types.contains("text/html"));
    method == Method::GET && is_browser && !is_below("/api", path)
}

/// A rendered template.
fn page(status: StatusCode, template: &impl Template) -> Response<Body> {
    match template.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => internal(&error).into_response(),
    }
}

/// Leads elsewhere after a form was taken.
fn lead_to(path: &str) -> Response<Body> {
    let to = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// Has the browser keep the login and leads on.
fn logged_in(options: &Options, secret: &Secret, path: &str) -> Response<Body> {
    let mut response = lead_to(path);
    response.headers_mut().append(SET_COOKIE, Cookie::Login.keep(options, secret.expose()));
    response
}

/// A whole sentence.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        format!("{}{}.", first.to_uppercase(), letters.as_str().trim_end_matches('.'))
    })
}

/// A time to the minute, as people read it.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    let date_and_time = text.get(..16).map(|text| text.replace('T', " "));
    date_and_time.map_or(text, |text| format!("{text} UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_own_their_paths_and_no_others() {
        for path in [
            "/",
            "/login",
            "/login/once",
            "/login/anything",
            "/account",
            "/account/end",
            "/tasks/x",
            "/settings",
        ] {
            assert!(owns(path), "{path}");
        }
        for path in [
            "/api/v1/me",
            "/loginx",
            "/accounts",
            "/tasksx",
            "/liven",
            "/api/v1/auth/login",
            "/healthz",
            "//login",
            "",
        ] {
            assert!(!owns(path), "{path}");
        }
        assert!(table().iter().all(|page| owns(page.path) || page.path == "/assets/{name}"));
    }

    #[test]
    fn a_wrong_link_is_a_page_in_browsers_only() {
        let html = HeaderValue::from_static("text/html,application/xhtml+xml;q=0.9");
        let any = HeaderValue::from_static("*/*");
        let astray = |code, path: &'static str, accepts: Option<&HeaderValue>| {
            is_astray(&Problem::new(code, "no"), (&Method::GET, &Uri::from_static(path)), accepts)
        };
        assert!(astray(Code::NotFound, "/nowhere", Some(&html)));
        assert!(!astray(Code::NotFound, "/nowhere", Some(&any)));
        assert!(!astray(Code::NotFound, "/nowhere", None));
        assert!(!astray(Code::NotFound, "/api/v1/nowhere", Some(&html)));
        assert!(!astray(Code::Unauthenticated, "/metrics", Some(&html)));
    }

    #[test]
    fn times_are_shown_to_the_minute() {
        assert_eq!(minute(Timestamp::from_micros(1_773_847_800_123_456)), "2026-03-18 15:30 UTC");
    }
}
