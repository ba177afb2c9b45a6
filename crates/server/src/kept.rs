//! Answers that are given again to whoever asks for the same within a second in which nothing has changed.
//!
//! A page takes a hundred times what it takes to find out who asks. Somebody with many windows, whoever polls, and a program
//! in a loop ask for the same again and again: this bounds what one of them can make the hub do.
//!
//! **Invariant:** what is kept here was made of records and locks alone, for this very credential, and the first change of
//! any of them ends it, before that change is answered. Who asks, how often and whether they may is found out each time.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hub::identity::credential::Means;
use hub::{Caller, ExactCache, Moment};
use tower::{Layer, Service};
use uuid::Uuid;

use crate::App;
use crate::browser::Theme;
use crate::compression::Compressed;
use crate::frame::Answering;
use crate::problem::internal;

/// Whose answers are given again: what people look at all day, and what programs that help them poll.
const KEPT: [&str; 3] = ["/", "/tasks/{id}", "/api/v1/approvals"];
/// How old an answer may be. The times in it are as old, and what only time changes.
const KEPT_FOR: Duration = Duration::from_secs(1);
const ANSWERS_MAX: usize = 512;
/// A larger answer is not kept.
const BYTES_MAX: usize = 128 * 1024;

/// What an answer depends on besides records and locks.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    /// The login or the key. Whatever may be done with it is in the records.
    credential: Uuid,
    path_and_query: String,
    theme: Option<Theme>,
    encodings: Option<HeaderValue>,
}

struct Answer {
    headers: HeaderMap,
    body: Bytes,
}

/// The answers that are kept.
pub(crate) struct Answers(ExactCache<Key, Answer>);

impl Default for Answers {
    fn default() -> Self {
        Self(ExactCache::new(ANSWERS_MAX))
    }
}

/// Whether answers of this route are given again.
pub(crate) fn is_kept(path: &str) -> bool {
    KEPT.contains(&path)
}

/// What stands before a handler whose answers may be given again, behind the guard.
#[derive(Clone)]
pub(crate) struct Keep {
    pub(crate) app: App,
}

impl<S: Clone> Layer<S> for Keep {
    type Service = Keeping<S>;

    fn layer(&self, inner: S) -> Keeping<S> {
        // Compressed in here, so that it is done once.
        Keeping { app: self.app.clone(), inner: Compressed::new(inner) }
    }
}

/// A handler whose answers may be given again.
#[derive(Clone)]
pub(crate) struct Keeping<S> {
    app: App,
    inner: Compressed<S>,
}

impl<S> Service<Request> for Keeping<S>
where
    S: Service<Request, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Answering {
        // Before the answer is made: a change meanwhile must leave one that is too old, never one that is wrong.
        let place = self.app.hub.standstill().and_then(|at| Some((key(&self.app, &request)?, within(at))));
        let Some((key, at)) = place else { return self.inner.call(request) };
        if let Some(kept) = self.app.kept.0.get(&key, at) {
            return Box::pin(std::future::ready(Ok(again(&kept))));
        }
        let (app, making) = (self.app.clone(), self.inner.call(request));
        Box::pin(async move { Ok(keep(&app, key, at, making.await?).await) })
    }
}

fn within(at: Moment) -> Moment {
    Moment { max_age: Some(KEPT_FOR), ..at }
}

fn key(app: &App, request: &Request) -> Option<Key> {
    if request.method() != Method::GET {
        return None;
    }
    let caller = request.extensions().get::<Caller>()?;
    let credential = match &caller.credential.means {
        Means::Key(key) => key.id.raw(),
        Means::Login(login) => login.id.raw(),
    };
    Some(Key {
        credential,
        path_and_query: request.uri().path_and_query()?.as_str().to_owned(),
        theme: Theme::chosen(&app.options, request.headers()),
        encodings: request.headers().get(ACCEPT_ENCODING).cloned(),
    })
}

fn again(kept: &Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(kept.body.clone()));
    response.headers_mut().clone_from(&kept.headers);
    response
}

async fn keep(app: &App, key: Key, at: Moment, made: Response<Body>) -> Response<Body> {
    if made.status() != StatusCode::OK {
        return made;
    }
    let (head, body) = made.into_parts();
    let body = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return axum::response::IntoResponse::into_response(internal(&error)),
    };
    if body.len() <= BYTES_MAX {
        app.kept.0.put(key, Answer { headers: head.headers.clone(), body: body.clone() }, at);
    }
    Response::from_parts(head, Body::from(body))
}
