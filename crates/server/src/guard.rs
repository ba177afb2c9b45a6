//! What stands before every handler: who asks, how often, and whether they may.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, Response};
use axum::response::IntoResponse;
use domain::limits::Decision;
use domain::permissions::Capability;
use hub::identity::authenticate::{Lookup, authenticate_by};
use hub::{Caller, HubError, Origin};
use tower::{Layer, Service};
use wire::Code;

use crate::address::{self, Client};
use crate::browser::Cookie;
use crate::frame::{Answering, Route};
use crate::pages::failed::Onlooker;
use crate::problem::Problem;
use crate::{App, Peer};

const USER_AGENT_CHARS_MAX: usize = 400;
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// What a route asks of its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing: anybody may knock.
    Nothing,
    /// A valid key, whatever it may do.
    Key,
    /// A valid key without scopes, or a login: whoever has it stands for the whole account.
    Unscoped,
    /// A login; a key is not enough.
    Login,
    /// A valid key with this capability.
    Capability(Capability),
    /// This machine, or a key with this capability. Others are let through as strangers where `strangers` says so.
    LocalOr {
        /// What a caller from elsewhere needs.
        capability: Capability,
        /// Whether others get an answer too, with less in it.
        strangers: bool,
    },
}

/// Whether the caller may see what is for operators only.
#[derive(Clone, Copy)]
pub(crate) struct Trusted(pub(crate) bool);

/// What stands before the handlers of a route.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) app: App,
    pub(crate) needs: Needs,
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { guard: self.clone(), inner }
    }
}

/// A handler behind its guard.
#[derive(Clone)]
pub(crate) struct Guarded<S> {
    guard: Guard,
    inner: S,
}

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Answering {
        // The one that has said that it is ready goes; its copy stays.
        let copy = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, copy);
        Box::pin(enter(self.guard.clone(), inner, request))
    }
}

/// Authenticates, limits, checks; then lets the request in. The answer is marked with its route's template.
async fn enter<S>(guard: Guard, mut inner: S, mut request: Request) -> Result<Response<Body>, Infallible>
where
    S: Service<Request, Response = Response<Body>, Error = Infallible>,
{
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match admit(&guard.app, guard.needs, &mut request).await {
        Ok(limit) => {
            let onlooker = Onlooker::of(&guard.app, &request);
            let mut response = inner.call(request).await?;
            if let Some(onlooker) = onlooker {
                onlooker.frames(&guard.app, &mut response).await;
            }
            if let Some(limit) = limit {
                note_limit(&guard.app, limit, response.headers_mut());
            }
            response
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(route) = route {
        response.extensions_mut().insert(Route(route));
    }
    Ok(response)
}

async fn admit(app: &App, needs: Needs, request: &mut Request) -> Result<Option<Decision>, Problem> {
    let client = client(app, request);
    match needs {
        Needs::Nothing => {
            limit_stranger(app, client)?;
            let origin = origin(client, request.headers());
            request.extensions_mut().insert(origin);
            Ok(None)
        }
        Needs::Unscoped => {
            let (caller, limit) = caller(app, client, request).await?;
            match caller.credential.means.scopes() {
                None => Ok(limit),
                Some(_) => {
                    Err(HubError::Forbidden("this needs a login, or a key without scopes".into()).into())
                }
            }
        }
        Needs::Login => {
            let (caller, limit) = caller(app, client, request).await?;
            match caller.credential.login() {
                Some(_) => Ok(limit),
                None => Err(HubError::InvalidState {
                    state: "api_key".into(),
                    detail: "this is for logins, and you use an API key".into(),
                }
                .into()),
            }
        }
        Needs::Key => caller(app, client, request).await.map(|(_, limit)| limit),
        Needs::Capability(capability) => {
            let (caller, limit) = caller(app, client, request).await?;
            caller.require(capability)?;
            Ok(limit)
        }
        Needs::LocalOr { capability, strangers } => {
            let known =
                presented(app, request.headers()).is_ok() || request.headers().contains_key(AUTHORIZATION);
            let trusted = if known {
                let (caller, _) = caller(app, client, request).await?;
                caller.capabilities.contains(capability)
            } else {
                client.is_local
            };
            if !trusted && !known {
                limit_stranger(app, client)?;
            }
            if !trusted && !strangers {
                let detail =
                    format!("this needs a key with the permission {}, or this machine", capability.as_str());
                return Err(match known {
                    true => HubError::Forbidden(detail).into(),
                    false => unauthenticated(&detail),
                });
            }
            request.extensions_mut().insert(Trusted(trusted));
            Ok(None)
        }
    }
}

/// Whether a browser that shows a login shows a valid one; then the request says whose it is.
pub(crate) async fn recognises(app: &App, request: &mut Request) -> bool {
    if Cookie::Login.read(&app.options, request.headers()).is_none() {
        return false;
    }
    let client = client(app, request);
    caller(app, client, request).await.is_ok()
}

fn client(app: &App, request: &Request) -> Client {
    let peer = request.extensions().get::<Peer>().map_or([0, 0, 0, 0].into(), |peer| peer.0.ip());
    address::client(peer, request.headers(), &app.options.trusted_proxies)
}

async fn caller(
    app: &App,
    client: Client,
    request: &mut Request,
) -> Result<(Caller, Option<Decision>), Problem> {
    let now = app.hub.clock.now();
    let lookup = match app.hub.coordination.address_limits.is_exhausted(&client.ip, now) {
        true => Lookup::SeenBefore,
        false => Lookup::Any,
    };
    let authenticated = match presented(app, request.headers()) {
        Ok(key) => authenticate_by(&app.hub, key, origin(client, request.headers()), lookup)
            .await
            .map_err(Problem::from),
        Err(problem) => Err(problem),
    };
    let caller = match authenticated {
        Ok(caller) => caller,
        Err(problem) if problem.code == Code::Unauthenticated => {
            limit_stranger(app, client)?;
            return Err(problem);
        }
        Err(problem) => return Err(problem),
    };
    let limit = app.hub.coordination.account_limits.check(caller.credential.account.id, now);
    if let Some(refused) = limit.filter(|decision| !decision.allowed) {
        return Err(rate_limited(app.hub.config.rate_limit, refused));
    }
    request.extensions_mut().insert(caller.clone());
    Ok((caller, limit))
}

/// The key or login the caller shows: in the header, else in the browser's cookie.
fn presented<'r>(app: &App, headers: &'r HeaderMap) -> Result<&'r str, Problem> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Cookie::Login
            .read(&app.options, headers)
            .ok_or_else(|| unauthenticated("send your API key as `Authorization: Bearer csk_…`, or log in"));
    };
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(key.trim()),
        _ => Err(unauthenticated("the Authorization header must read `Bearer csk_…`")),
    }
}

fn unauthenticated(detail: &str) -> Problem {
    Problem::new(Code::Unauthenticated, detail).with_header("www-authenticate", "Bearer")
}

fn origin(client: Client, headers: &HeaderMap) -> Origin {
    let user_agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .map(|text| text.chars().take(USER_AGENT_CHARS_MAX).collect());
    Origin { ip: Some(client.ip.to_string()), user_agent, service: "api".into() }
}

fn limit_stranger(app: &App, client: Client) -> Result<(), Problem> {
    let decision = app.hub.coordination.address_limits.check(client.ip, app.hub.clock.now());
    match decision.filter(|decision| !decision.allowed) {
        Some(refused) => Err(rate_limited(app.hub.config.anonymous_rate_limit, refused)),
        None => Ok(()),
    }
}

fn rate_limited(limit: u32, refused: Decision) -> Problem {
    let detail = format!("more than {limit} requests in a minute; try again in {} s", refused.reset_seconds);
    Problem::new(Code::RateLimited, detail)
        .retry_after(refused.reset_seconds)
        .with_header("ratelimit-limit", limit)
        .with_header("ratelimit-remaining", refused.remaining)
        .with_header("ratelimit-reset", refused.reset_seconds)
}

fn note_limit(app: &App, decision: Decision, headers: &mut HeaderMap) {
    headers.insert(LIMIT, app.hub.config.rate_limit.into());
    headers.insert(REMAINING, decision.remaining.into());
    headers.insert(RESET, decision.reset_seconds.into());
}
