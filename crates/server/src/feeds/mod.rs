//! Events as they come: over a WebSocket, or as a stream of server-sent events. Both are fed by one `Follower`; they only
//! differ in how they write.
//!
//! **Invariant:** whoever does not take what it is sent is cut off, and holds no more than one batch of events until then.

mod socket;
mod stream;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use domain::events::{Event, TypeFilter};
use domain::permissions::Capability;
use hub::events::follow::{End, Wanted};
use hub::{HubError, RecordsError};
use metrics::Gauge;
use wire::Code;
use wire::events::closed;

use crate::problem::Problem;
use crate::telemetry::{FEEDS_CUT_OFF, FEEDS_OPEN};
use crate::{App, Options};

pub(crate) use socket::{Tells, Upgrade, run as run_socket};
pub(crate) use stream::open as open_stream;

/// Of all connections, those who follow may have one in so many: others must get through.
const CONNECTIONS_PER_FOLLOWER: usize = 2;

/// Which way events travel.
#[derive(Clone, Copy)]
enum Kind {
    Socket,
    Stream,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Socket => "websocket",
            Self::Stream => "sse",
        }
    }

    fn note_cut_off(self, why: &'static str) {
        metrics::counter!(FEEDS_CUT_OFF, "kind" => self.name(), "why" => why).increment(1);
    }
}

/// Counts one that is open, until it is dropped.
struct Open(Gauge);

impl Open {
    fn count(kind: Kind) -> Self {
        let gauge = metrics::gauge!(FEEDS_OPEN, "kind" => kind.name());
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// What somebody follows, checked.
pub(crate) fn wanted(app: &App, since: Option<i64>, types: Option<&str>) -> Result<Wanted, Problem> {
    let needs = Capability::EventsRead;
    Ok(Wanted { since, types: filter(types)?, followers_max: followers_max(app), needs })
}

/// How many may follow at once.
pub(crate) fn followers_max(app: &App) -> usize {
    (app.options.connections_max / CONNECTIONS_PER_FOLLOWER).max(1)
}

/// The types somebody wants.
pub(crate) fn filter(types: Option<&str>) -> Result<TypeFilter, Problem> {
    match types {
        Some(text) => TypeFilter::parse(text).map_err(|bad| Problem::field("/types", bad.to_string())),
        None => Ok(TypeFilter::EVERYTHING),
    }
}

/// An event as everybody gets it.
fn text(event: &Event) -> String {
    serde_json::to_string(&crate::api::events::shown(event)).unwrap_or_default()
}

/// A page of another site can open a socket with the cookie of whoever looks at it, so a cookie needs an origin of ours. A
/// program has no origin, and sends its key.
fn require_own_origin(headers: &HeaderMap, options: &Options) -> Result<(), Problem> {
    let ours = options.public_url.trim_end_matches('/').as_bytes();
    match headers.get(ORIGIN) {
        Some(origin) if origin.as_bytes() == ours => Ok(()),
        Some(_) => Err(Problem::new(
            Code::Forbidden,
            "this socket was opened by a page of another site; its Origin must be the hub's public URL",
        )),
        None if headers.contains_key(AUTHORIZATION) => Ok(()),
        None => Err(Problem::new(
            Code::Forbidden,
            "a login's cookie opens a socket only for a page of the hub, which sends its Origin; send an API key",
        )),
    }
}

/// How the end of a feed is told: the number of a closing frame, and a code as problems have.
fn farewell(end: &End) -> (u16, &'static str) {
    match end {
        End::Stopping => (closed::AWAY, "STOPPING"),
        End::Refused(HubError::Unauthenticated(_)) => (closed::UNAUTHENTICATED, "UNAUTHENTICATED"),
        End::Refused(HubError::Forbidden(_)) => (closed::FORBIDDEN, "FORBIDDEN"),
        End::Refused(HubError::EventsGone { .. }) => (closed::GONE, "EVENTS_GONE"),
        End::Refused(HubError::Records(RecordsError::Unavailable(_))) => {
            (closed::TROUBLE, "RECORDS_UNAVAILABLE")
        }
        End::Refused(other) => {
            tracing::error!("somebody who follows the events was cut off: {other}");
            (closed::TROUBLE, "INTERNAL")
        }
    }
}
