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
    pub(crate) async fn frames(self, app: &App, response: &mut Response<Body>) {
        let is_theirs = response.extensions().get::<Problem>().is_some_and(|problem| {
            problem.code.status() < 500 && !matches!(problem.code, Code::RateLimited | Code::Unauthenticated)
        });
        if !is_theirs {
            return;
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
    let said = said(&problem, request_id);
    let text = match response.extensions_mut().remove::<Arc<Shell>>() {
        Some(shell) => FailedPage { shell: &shell, said: &said, way: way(&problem, method, uri) }.render(),
        None => ErrorPage { gate: &Gate::new(options, theme), said: &said }.render(),
    };
    *response.body_mut() = Body::from(text.unwrap_or_default());
    response.headers_mut().extend(problem.headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
}

/// Without the filters that are wrong, or to the page that has the form; else to where everybody begins.
fn way(problem: &Problem, method: &Method, uri: &Uri) -> (String, &'static str) {
    let section = uri.path().split('/').nth(1).map(|section| format!("/{section}"));
    match (problem.code, uri.query(), section) {
        (Code::ValidationFailed, Some(_), _) if method == Method::GET => {
            (uri.path().to_owned(), "The same page without filters")
        }
        (Code::MethodNotAllowed, _, Some(section)) => (section, "To the page with the form"),
        _ => ("/".to_owned(), "To the inbox"),
    }
}

fn said<'a>(problem: &'a Problem, request_id: &'a str) -> Said<'a> {
    let errors =
        problem.body.errors.iter().map(|error| {
            format!("{} {}", error.pointer.trim_start_matches('/').replace('_', " "), error.detail)
        });
    let detail = match problem.code {
        Code::NotFound if problem.body.detail == NO_SUCH_PATH => {
            "No page has this address. The link may be old, or cut off.".to_owned()
        }
        Code::MethodNotAllowed => {
            "This address takes what a form sends, and shows nothing by itself. Nothing changed.".to_owned()
        }
        _ => capitalised(&problem.body.detail),
    };
    Said {
        status: problem.code.status(),
        title: &problem.body.title,
        detail,
        errors: errors.collect(),
        code: &problem.body.code,
        request_id,
    }
}
