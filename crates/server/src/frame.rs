//! What stands around every request: its id, its log line and metrics, problems rendered, headers set, time limited.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use axum::response::IntoResponse;
use domain::rendering::visible_json;
use domain::secrets::SecretKind;
use futures_util::FutureExt as _;
use tower::Service;
use wire::Code;

use crate::problem::{Problem, of_panic};
use crate::{App, browser, compression, pages, telemetry};

const NO_SNIFFING: HeaderName = HeaderName::from_static("x-content-type-options");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// What every answer gets here, and what most have besides: reserved once, so that the table is made once.
const HEADERS: usize = 12;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Requests that may wait have their own end; this one is for the rest.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);
/// What a waiting request gets on top of its wait.
const WAIT_GRACE: Duration = Duration::from_secs(15);
const LOCKS: &str = "/api/v1/locks/acquire";
const CLAIMS: [&str; 2] = ["/claim", "/next"];
const CLIENT_REQUEST_ID_CHARS_MAX: usize = 128;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'",
);

/// An answer on its way.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// The routes and everything that stands around them. One service, and not a layer of `axum` for each thing it does:
/// every layer copies all that is inside of it with every request, and puts a box around it.
#[derive(Clone)]
pub(crate) struct Framed {
    app: App,
    routes: Router,
}

impl Framed {
    pub(crate) fn new(app: App, routes: Router) -> Self {
        Self { app, routes }
    }
}

impl Service<Request> for Framed {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The routes are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Answering {
        let Self { app, routes } = self.clone();
        Box::pin(async move { Ok(around(&app, routes, request).await) })
    }
}

async fn around(app: &App, routes: Router, mut request: Request) -> Response<Body> {
    let started = Instant::now();
    let id = request_id(app, request.headers());
    let method = request.method().clone();
    let uri = request.uri().clone();
    let may_be_compressed = request.headers().contains_key(ACCEPT_ENCODING);
    let theme = browser::Theme::chosen(&app.options, request.headers());
    let accepts = request.headers().get(ACCEPT).cloned();
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let trace = trace_id(request.headers()).map(str::to_owned);
    let mut response = limit_time(app, routes, request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let asked = (&method, &uri);
        match pages::owns(uri.path()) || pages::is_astray(&problem, asked, accepts.as_ref()) {
            true => {
                let id = id.to_str().unwrap_or_default();
                pages::failed::render(&mut response, problem, (&app.options, theme), asked, id);
            }
            false => render(&mut response, problem, uri.path(), &id),
        }
    }
    finish_headers(response.headers_mut(), id.clone());
    if !may_be_compressed {
        compression::mark_varying(&mut response);
    }
    let route = response.extensions().get::<Route>().map_or("(none)", |route| route.0.as_str());
    let seen = telemetry::Seen {
        method: &method,
        route,
        status: response.status(),
        took: started.elapsed(),
        request_id: id.to_str().unwrap_or_default(),
        trace: trace.as_deref(),
        is_ending: app.hub.lifecycle.is_stopping(),
    };
    telemetry::note(&seen);
    response
}

/// The template of the route that answered, for log and metrics; a raw path could carry a secret.
#[derive(Clone)]
pub(crate) struct Route(pub(crate) MatchedPath);

/// Ends a request that takes too long, or that panics. What it had begun to write may still be committed.
async fn limit_time(app: &App, routes: Router, request: Request) -> Response<Body> {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let limit = REQUEST_TIME_MAX.max(longest_wait(request.uri()) + WAIT_GRACE);
    let answering = AssertUnwindSafe(inside(app, routes, request)).catch_unwind();
    match tokio::time::timeout(limit, answering).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => of_panic(panic),
        Err(_) if changes => {
            Problem::new(Code::OutcomeUnknown, "the change took too long; read before trying again")
                .retry_after(1)
                .into_response()
        }
        Err(_) => Problem::new(Code::Overloaded, "the answer took too long").retry_after(1).into_response(),
    }
}

async fn inside(app: &App, mut routes: Router, request: Request) -> Response<Body> {
    if !browser::is_own(request.method(), request.uri(), request.headers(), &app.options.public_url) {
        let detail = "this was sent by a page of another site; open the hub itself and try there";
        return Problem::new(Code::Forbidden, detail).into_response();
    }
    match routes.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// How long a request may wait for something. Those for locks and for work say it in a body that nobody has read yet.
fn longest_wait(uri: &Uri) -> Duration {
    let path = uri.path();
    let is_for_work = CLAIMS.iter().any(|end| path.ends_with(end));
    match path.starts_with(LOCKS) || is_for_work {
        true => Duration::from_secs(wire::locks::WAIT_SECONDS_MAX.into()),
        false => asked_wait(uri.query()),
    }
}

/// `wait_seconds` of the query; what is not a number is refused later, by the route.
fn asked_wait(query: Option<&str>) -> Duration {
    let asked = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("wait_seconds="));
    let seconds = asked.and_then(|text| text.parse::<u16>().ok()).unwrap_or(0);
    Duration::from_secs(u64::from(seconds).min(60))
}

/// The client's own id if it is harmless, else a new one.
fn request_id(app: &App, headers: &HeaderMap) -> HeaderValue {
    let harmless = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        // The id is logged; a secret sent in the wrong header must not be.
        let is_mark = |window: &[u8]| {
            SecretKind::ALL.iter().any(|kind| window.eq_ignore_ascii_case(kind.mark().as_bytes()))
        };
        !bytes.windows(4).any(is_mark)
            && (1..=CLIENT_REQUEST_ID_CHARS_MAX).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
    };
    headers.get(REQUEST_ID).filter(harmless).cloned().unwrap_or_else(|| {
        HeaderValue::try_from(app.hub.ids.fresh().to_string()).unwrap_or(HeaderValue::from_static("unknown"))
    })
}

/// The trace id of a well-formed W3C `traceparent`.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(TRACE_PARENT)?.to_str().ok()?;
    let mut parts = text.split('-');
    let (_version, trace) = (parts.next()?, parts.next()?);
    (trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(trace)
}

/// Gives the problem its place and makes it the body. What the layers inside have added to the answer stays: the
/// limits' headers, and the route it is counted under.
fn render(response: &mut Response<Body>, mut problem: Problem, path: &str, id: &HeaderValue) {
    problem.body.instance = path.to_owned();
    problem.body.request_id = id.to_str().unwrap_or_default().to_owned();
    problem.body.detail = shortened(&problem.body.detail);
    for error in &mut problem.body.errors {
        error.detail = shortened(&error.detail);
    }
    // People read problems in logs and terminals, and some repeat a part of what was sent.
    let json = visible_json(&serde_json::to_string(&problem.body).unwrap_or_default());
    *response.body_mut() = Body::from(json);
    // The router has counted the empty body a problem travels with.
    response.headers_mut().remove(CONTENT_LENGTH);
    response.headers_mut().extend(problem.headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
}

/// The longest detail, in characters; what some say of the input repeats it.
const DETAIL_CHARS_MAX: usize = 600;

/// A detail without its middle if it is too long: it begins with what is wrong, and ends with what would be right.
fn shortened(detail: &str) -> String {
    let count = detail.chars().count();
    if count <= DETAIL_CHARS_MAX {
        return detail.to_owned();
    }
    let half = DETAIL_CHARS_MAX / 2;
    let begin: String = detail.chars().take(half).collect();
    let end: String = detail.chars().skip(count - half).collect();
    format!("{begin} … {end}")
}

fn finish_headers(headers: &mut HeaderMap, id: HeaderValue) {
    headers.reserve(HEADERS.saturating_sub(headers.len()));
    headers.insert(REQUEST_ID, id);
    headers.insert(NO_SNIFFING, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
