//! Pages that say what went wrong. Whoever is logged in sees them in the frame of every other page, so that the way on is
//! where it always is; everybody else gets the plain one.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use hub::Caller;
use wire::Code;

use super::gate::Gate;
use super::shell::{self, Shell};
use super::show::filters;
use super::{capitalised, is_below, is_link, next, owns};
use crate::api::fallback::NO_SUCH_PATH;
use crate::browser::Theme;
use crate::problem::Problem;
use crate::{App, Options, guard};

/// Somebody who is logged in and asks for a page.
pub(crate) struct Onlooker {
    caller: Caller,
    request: shell::Request,
}

impl Onlooker {
    /// Whoever asks, if a page of theirs has a frame.
    pub(crate) fn of(app: &App, request: &Request) -> Option<Self> {
        let caller = request.extensions().get::<Caller>().filter(|_| has_frame(request))?;
        caller.credential.login()?;
        let of = shell::Request::of(app, request.method(), request.uri(), request.headers());
        Some(Self { caller: caller.clone(), request: of })
    }

    /// Puts the frame beside what went wrong, for when that is rendered. What is wrong with the hub itself is said
    /// without one: the frame would ask the same that does not answer.
    pub(crate) async fn frames(mut self, app: &App, response: &mut Response<Body>) {
        let code = response.extensions().get::<Problem>().map(|problem| problem.code);
        let is_theirs =
            |code: &Code| code.status() < 500 && !matches!(code, Code::RateLimited | Code::Unauthenticated);
        let Some(code) = code.filter(is_theirs) else { return };
        if code == Code::MethodNotAllowed {
            let (to, _) = form_of(self.request.here());
            self.request.leads_back_to(to);
        }
        // Where it cannot be made, the plain page says the same.
        if let Ok(shell) = Shell::of(app, self.caller, self.request).await {
            response.extensions_mut().insert(Arc::new(shell));
        }
    }
}

/// Whether what goes wrong here is told in the frame. Pages before a login stand alone for everybody.
fn has_frame(request: &Request) -> bool {
    let path = request.uri().path();
    let accepts = request.headers().get(ACCEPT);
    !is_below("/login", path) && (owns(path) || is_link(request.method(), path, accepts))
}

/// The answer to a path or a method that does not exist, which has no guard.
pub(crate) async fn astray(app: &App, mut request: Request, problem: Problem) -> Response<Body> {
    let mut response = problem.into_response();
    if !has_frame(&request) || !guard::recognises(app, &mut request).await {
        return response;
    }
    if let Some(onlooker) = Onlooker::of(app, &request) {
        onlooker.frames(app, &mut response).await;
    }
    response
}

/// What is said, wherever it is said.
struct Said<'a> {
    status: u16,
    title: &'a str,
    detail: String,
    errors: Vec<String>,
    code: &'a str,
    request_id: &'a str,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    gate: &'a Gate,
    said: &'a Said<'a>,
    way: (String, &'static str),
}

#[derive(Template)]
#[template(path = "failed.html")]
struct FailedPage<'a> {
    shell: &'a Shell,
    said: &'a Said<'a>,
    /// Where one can go on, and what that is.
    way: (String, &'static str),
}

/// Makes a problem a page. Whoever is not logged in is led to where they can.
pub(crate) fn render(
    response: &mut Response<Body>,
    problem: Problem,
    (options, theme): (&Options, Option<Theme>),
    (method, uri): (&Method, &Uri),
    request_id: &str,
) {
    response.headers_mut().remove(CONTENT_LENGTH);
    if problem.code == Code::Unauthenticated {
        // What a form would have changed is not changed later, behind the person's back.
        let wanted = uri.path_and_query().filter(|_| method == Method::GET && uri.path() != "/");
        let to = wanted.map_or("/login".to_owned(), |wanted| next::after_login(wanted.as_str()));
        let to = HeaderValue::try_from(to).unwrap_or(HeaderValue::from_static("/login"));
        *response.status_mut() = StatusCode::SEE_OTHER;
        *response.body_mut() = Body::empty();
        response.headers_mut().insert(LOCATION, to);
        return;
    }
    let said = said(&problem, uri, request_id);
    let way = way(&problem, method, uri);
    let text = match response.extensions_mut().remove::<Arc<Shell>>() {
        Some(shell) => FailedPage { shell: &shell, said: &said, way }.render(),
        None => ErrorPage { gate: &Gate::new(options, theme), said: &said, way }.render(),
    };
    *response.body_mut() = Body::from(text.unwrap_or_default());
    response.headers_mut().extend(problem.headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
}

/// Without the filters that are wrong, or to what the form is about; else to where everybody begins.
fn way(problem: &Problem, method: &Method, uri: &Uri) -> (String, &'static str) {
    match problem.code {
        Code::ValidationFailed if method == Method::GET && uri.query().is_some() && !lacks(problem) => {
            (uri.path().to_owned(), "The same page without filters")
        }
        Code::ValidationFailed if lacks(problem) => form_of(uri.path()),
        _ if is_below("/login", uri.path()) => ("/login".to_owned(), "To the sign-in page"),
        Code::MethodNotAllowed => form_of(uri.path()),
        _ => ("/".to_owned(), "To the inbox"),
    }
}

/// Whether the address lacks something, so that with less in it it says no more.
fn lacks(problem: &Problem) -> bool {
    problem.body.errors.iter().any(|error| error.detail.starts_with("missing field"))
}

/// The page that has the form whose answer this address gives: that of what is named in it, else that of its section.
fn form_of(path: &str) -> (String, &'static str) {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let named = parts.get(1).and_then(|id| id.parse::<uuid::Uuid>().ok());
    match (parts.first().copied().unwrap_or_default(), named) {
        ("agents", Some(id)) => (format!("/agents?agent={id}"), "To the agent"),
        ("policies", Some(id)) => (format!("/policies?policy={id}"), "To the policy"),
        ("tasks", Some(id)) => (format!("/tasks/{id}"), "To the task"),
        ("approvals", Some(id)) => (format!("/?open={id}"), "To the task that was asked about"),
        ("approvals", None) => ("/".to_owned(), "To the inbox"),
        (section, _) => (format!("/{section}"), "To the page with the form"),
    }
}

/// What is said of an address that only a form leads to.
fn of_form(path: &str) -> &'static str {
    match is_below("/agents", path) && path.ends_with("/key") {
        true => {
            "A key is shown once, right after it was made, and never again. Opening this address made none and \
             ended none; whoever has lost one makes another at the agent."
        }
        false => "This address takes what a form sends, and shows nothing by itself. Nothing changed.",
    }
}

/// What a parser says of a value, in words for people; programs are told what it said.
fn plainly(detail: &str) -> String {
    let quoted = || detail.split('`').nth(1).unwrap_or_default().replace('_', " ");
    let begins = |words: &[&str]| words.iter().any(|word| detail.starts_with(word));
    match detail {
        _ if begins(&["UUID parsing failed"]) => "is not an id; it may have been cut off".to_owned(),
        _ if begins(&["missing field"]) => format!("{} is missing from this address", quoted()),
        _ if begins(&["unknown field"]) => format!("{} is nothing that this page can be asked for", quoted()),
        _ if begins(&["duplicate field"]) => format!("{} is there more than once", quoted()),
        _ if begins(&["unknown variant"]) => format!("{} is not one of those it can be", quoted()),
        _ if begins(&["invalid digit", "cannot parse integer", "number too"]) => {
            "is not a number that it can be".to_owned()
        }
        _ if begins(&["invalid type", "invalid value", "invalid length"]) => {
            "is not what it can be".to_owned()
        }
        _ => detail.to_owned(),
    }
}

fn said<'a>(problem: &'a Problem, uri: &Uri, request_id: &'a str) -> Said<'a> {
    let errors = problem.body.errors.iter().map(|error| {
        let place = error.pointer.trim_start_matches('/').replace('_', " ");
        let (plain, is_parsers) = (plainly(&error.detail), plainly(&error.detail) != error.detail);
        // What a parser says of a whole query names the field that it is about.
        let names_itself = is_parsers && error.detail.contains("field `");
        capitalised(if names_itself { plain } else { format!("{place} {plain}") }.trim_start())
    });
    let detail = match problem.code {
        Code::NotFound if problem.body.detail == NO_SUCH_PATH => {
            "No page has this address. The link may be old, or cut off.".to_owned()
        }
        Code::MethodNotAllowed => of_form(uri.path()).to_owned(),
        _ => capitalised(&problem.body.detail),
    };
    let title = match problem.code {
        Code::MethodNotAllowed => "Only a form leads here",
        _ => &problem.body.title,
    };
    Said {
        status: problem.code.status(),
        title,
        detail,
        errors: errors.collect(),
        code: &problem.body.code,
        request_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_is_about_has_a_page() {
        let id = uuid::Uuid::nil();
        for (path, to) in [
            (format!("/agents/{id}/key"), format!("/agents?agent={id}")),
            (format!("/policies/{id}/backtest"), format!("/policies?policy={id}")),
            (format!("/tasks/{id}/comments"), format!("/tasks/{id}")),
            (format!("/approvals/{id}/approve"), format!("/?open={id}")),
            ("/policies/simulate".to_owned(), "/policies".to_owned()),
            ("/approvals/x/approve".to_owned(), "/".to_owned()),
        ] {
            assert_eq!(form_of(&path).0, to, "{path}");
        }
        assert!(of_form("/agents/x/key").starts_with("A key is shown once"));
        assert!(of_form("/agents/x/drain").starts_with("This address takes"));
    }

    #[test]
    fn what_a_parser_says_is_said_in_words() {
        for (said, plain) in [
            (
                "UUID parsing failed: invalid character: found `z` at 0",
                "is not an id; it may have been cut off",
            ),
            ("missing field `key`", "key is missing from this address"),
            ("unknown field `no_pe`, expected `a`", "no pe is nothing that this page can be asked for"),
            ("duplicate field `open`", "open is there more than once"),
            ("must be mine, done or told", "must be mine, done or told"),
        ] {
            assert_eq!(plainly(said), plain);
        }
    }
}
