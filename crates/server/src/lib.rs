//! HTTP: decode, authenticate, call the hub, encode. No rules.
//!
//! [`routes`] is the one table of routes; each says what it needs, and `guard` enforces that before the handler runs.
//! `browser` is what only browsers need: the login's cookie, and the rule that other sites
//! change nothing. `pages` are what people open in one. `frame` stands around everything (request ids, problems, headers, log, metrics). `api` holds the handlers, one
//! file per noun. To add a route: a handler with `#[utoipa::path]` in its noun's file, a line in the table.
//!
//! **Invariant:** a handler translates; it never decides.
//! **Invariant:** every route is in the table; a test knocks on each as a stranger and as another tenant.

pub mod address;
mod api;
mod browser;
mod compression;
mod connection;
mod extract;
mod feeds;
mod frame;
mod guard;
mod json;
mod kept;
pub mod listen;
mod openapi;
mod pages;
mod problem;
pub mod routes;
pub mod telemetry;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hub::Hub;
use ipnet::IpNet;

use compression::Compressed;
use frame::Framed;
pub use problem::Problem;

/// What the operator decided about HTTP, checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Proxies whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether `/api/docs` is served.
    pub docs: bool,
    /// Connections at once.
    pub connections_max: usize,
    /// The origin people type, such as `https://hub.example.com`.
    pub public_url: String,
    /// Whether browsers may send the login's cookie over TLS only. Off only for a hub that is reached on its own
    /// machine, without TLS.
    pub secure_cookies: bool,
    /// How patient sockets and streams are.
    pub feeds: FeedTimes,
}

/// How patient the hub is with those who follow its events.
#[derive(Clone, Copy, Debug)]
pub struct FeedTimes {
    /// How often they hear that the hub is there. Whoever has not answered when they would hear it again is gone.
    pub alive_every: Duration,
    /// How long they may take to take what they are sent.
    pub taken_within: Duration,
}

impl Default for FeedTimes {
    fn default() -> Self {
        Self { alive_every: Duration::from_secs(30), taken_within: Duration::from_secs(10) }
    }
}

impl Options {
    /// A hub that listens on this machine only and trusts no proxy.
    #[must_use]
    pub fn local(address: SocketAddr) -> Self {
        Self {
            trusted_proxies: Vec::new(),
            docs: true,
            connections_max: 10_000,
            public_url: format!("http://{address}"),
            secure_cookies: false,
            feeds: FeedTimes::default(),
        }
    }
}

/// What handlers share. One count, because the routes are cloned for every request.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) hub: Hub,
    pub(crate) options: Options,
    pub(crate) kept: kept::Answers,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// The address a connection comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The whole HTTP interface of a hub.
pub fn router(hub: Hub, options: Options) -> Router {
    let app = App(Arc::new(Shared { hub, options, kept: kept::Answers::default() }));
    let (router, api) = routes::mounted(&app);
    let documents = openapi::documents(api, app.options.docs);
    let routes = Router::new()
        .merge(router)
        .merge(documents)
        .fallback(api::fallback::not_found)
        .method_not_allowed_fallback(api::fallback::method_not_allowed)
        .with_state(app.clone());
    // Once around all routes: `Router::layer` would put a copy of it around every route, and copy them all with every
    // request.
    Router::new().fallback_service(Compressed::new(Framed::new(app, routes)))
}
