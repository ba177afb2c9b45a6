//! One log line and two metrics per request; names of metrics are constants.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use hub::lifecycle::Lifecycle;
use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing::Level;

const REQUESTS: &str = "countersign_http_requests_total";
const SECONDS: &str = "countersign_http_request_seconds";
const LOCKS_HELD: &str = "countersign_locks_held";
const LOCKS_WAITING: &str = "countersign_locks_waiting";
const LOCKS_EXPIRED: &str = "countersign_locks_expired_total";
pub(crate) const FEEDS_OPEN: &str = "countersign_feeds_open";
pub(crate) const FEEDS_CUT_OFF: &str = "countersign_feeds_cut_off_total";
const LOCK_DEADLOCKS: &str = "countersign_lock_deadlocks_total";
/// What agents ask all the time and no record is made of: a line for each success would bury every other, and writing
/// it costs more than the lock. The metrics count them.
const OFTEN: [&str; 5] = [
    "/api/v1/locks/acquire",
    "/api/v1/locks/acquire-many",
    "/api/v1/locks/heartbeat",
    "/api/v1/locks/release",
    "/api/v1/locks/validate",
];
const BUCKETS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

const TIDY_INTERVAL: Duration = Duration::from_secs(5);

static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts counting, once per process. None if somebody else already records this process's metrics.
pub fn metrics() -> Option<&'static PrometheusHandle> {
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new().set_buckets(BUCKETS).ok()?;
            let handle = builder.install_recorder().ok()?;
            metrics::describe_counter!(REQUESTS, "Requests answered, by method, route template and status.");
            metrics::describe_histogram!(SECONDS, "Time to answer a request, by route template.");
            metrics::describe_gauge!(LOCKS_HELD, "Locks held.");
            metrics::describe_gauge!(LOCKS_WAITING, "Waiters in lines for locks.");
            metrics::describe_counter!(LOCKS_EXPIRED, "Locks that ended because nobody renewed them.");
            metrics::describe_counter!(LOCK_DEADLOCKS, "Circles of waiters that were broken.");
            metrics::describe_counter!(hub::executions::STARTED, "Attempts that began, by purpose.");
            metrics::describe_counter!(hub::executions::ENDED, "Attempts that ended, by result and outcome.");
            describe_grants();
            metrics::describe_counter!(
                hub::webhooks::deliver::ATTEMPTS,
                "Deliveries to webhooks tried, by end."
            );
            metrics::describe_counter!(hub::webhooks::deliver::PARKED, "Deliveries nobody took for a day.");
            metrics::describe_gauge!(FEEDS_OPEN, "Sockets and streams that follow the events, by kind.");
            metrics::describe_counter!(
                FEEDS_CUT_OFF,
                "Sockets and streams the hub ended, by kind and reason."
            );
            Some(handle)
        })
        .as_ref()
}

/// Every time a request took is kept until somebody puts it into its bucket; so that it happens where nobody reads the
/// metrics, too.
pub(crate) async fn tidy(lifecycle: &Lifecycle) {
    while !lifecycle.is_stopping() {
        tokio::select! {
            () = tokio::time::sleep(TIDY_INTERVAL) => {}
            () = lifecycle.stopping() => {}
        }
        if let Some(handle) = HANDLE.get().and_then(Option::as_ref) {
            handle.run_upkeep();
        }
    }
}

fn describe_grants() {
    use hub::standalone_grants as grants;
    metrics::describe_counter!(grants::CREATED, "Standalone grants that were made.");
    metrics::describe_counter!(grants::CONSUMED, "Standalone grants whose token was used.");
    metrics::describe_counter!(grants::EXPIRED, "Standalone grants that nobody used in time.");
    metrics::describe_counter!(grants::CLEANUP_RUNS, "Runs of the cleanup of standalone grants.");
    metrics::describe_counter!(grants::CLEANUP_CLEANED, "Standalone grants that the cleanup cleared away.");
    metrics::describe_gauge!(grants::STORE_HEALTHY, "Whether the store of standalone grants works: 1 or 0.");
}

/// Notes how locks stand. Counted by their engine since the start, so set and not added.
pub(crate) fn note_locks(counts: hub::locks::Counts) {
    metrics::gauge!(LOCKS_HELD).set(counts.held as f64);
    metrics::gauge!(LOCKS_WAITING).set(counts.waiting as f64);
    metrics::counter!(LOCKS_EXPIRED).absolute(counts.expired);
    metrics::counter!(LOCK_DEADLOCKS).absolute(counts.deadlocks);
}

/// A request that was answered.
pub(crate) struct Seen<'a> {
    pub(crate) method: &'a Method,
    pub(crate) route: &'a str,
    pub(crate) status: StatusCode,
    pub(crate) took: Duration,
    pub(crate) request_id: &'a str,
    pub(crate) trace: Option<&'a str>,
    /// Whether the hub is about to end: who comes then is told so, and nothing is wrong.
    pub(crate) is_ending: bool,
}

/// How much a request matters to whoever reads the log.
fn level(seen: &Seen<'_>) -> Level {
    let status = seen.status;
    match *seen.method {
        _ if status == StatusCode::SERVICE_UNAVAILABLE && seen.is_ending => Level::INFO,
        _ if status.is_server_error() => Level::ERROR,
        Method::GET | Method::HEAD => Level::DEBUG,
        _ if status.as_u16() < 400 && OFTEN.contains(&seen.route) => Level::DEBUG,
        _ => Level::INFO,
    }
}

/// Notes it. Never the path, query, headers or body: they may hold what nobody may log.
pub(crate) fn note(seen: &Seen<'_>) {
    let Seen { route, took, request_id, .. } = *seen;
    let (method, status) = (method_name(seen.method), seen.status.as_u16());
    count((method, status), route, took);
    let (micros, trace) =
        (u64::try_from(took.as_micros()).unwrap_or(u64::MAX), seen.trace.unwrap_or_default());
    // The level is part of what `tracing` makes of a call at compile time, so it cannot be an argument of a function.
    macro_rules! log_at {
        ($level:ident) => {
            tracing::$level!(
                method,
                route,
                status,
                micros,
                request_id,
                trace,
                "{method} {route} answered {status}"
            )
        };
    }
    match level(seen) {
        Level::ERROR => log_at!(error),
        Level::DEBUG => log_at!(debug),
        _ => log_at!(info),
    }
}

/// Where the answers of one route are counted.
type Meters = HashMap<(&'static str, u16), (Counter, Histogram)>;

/// Where answers are counted, found once: to find a metric by its labels makes copies of them. Routes are those of the
/// table, methods and statuses few.
static METERS: LazyLock<RwLock<HashMap<Box<str>, Meters>>> = LazyLock::new(RwLock::default);

fn count(kind: (&'static str, u16), route: &str, took: Duration) {
    let note = |(counter, histogram): &(Counter, Histogram)| {
        counter.increment(1);
        histogram.record(took);
    };
    {
        let meters = METERS.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = meters.get(route).and_then(|meters| meters.get(&kind)) {
            return note(found);
        }
    }
    let (method, status) = kind;
    let meter = (
        metrics::counter!(REQUESTS, "method" => method, "route" => route.to_owned(), "status" => status.to_string()),
        metrics::histogram!(SECONDS, "route" => route.to_owned()),
    );
    note(&meter);
    // What is found before anybody records goes nowhere.
    if HANDLE.get().is_some() {
        let mut meters = METERS.write().unwrap_or_else(PoisonError::into_inner);
        meters.entry(route.into()).or_default().insert(kind, meter);
    }
}

/// Methods are the client's to invent; labels are not.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_stands_out_and_an_end_is_no_fault() {
        let of = |method: &Method, status: u16, is_ending: bool| {
            let status = StatusCode::from_u16(status).unwrap();
            let (took, request_id, trace) = (Duration::ZERO, "", None);
            level(&Seen { method, route: OFTEN[0], status, took, request_id, trace, is_ending })
        };
        assert_eq!(of(&Method::POST, 503, false), Level::ERROR);
        assert_eq!(of(&Method::GET, 500, true), Level::ERROR);
        assert_eq!(of(&Method::POST, 503, true), Level::INFO, "whoever comes as the hub ends");
        assert_eq!(of(&Method::POST, 423, false), Level::INFO);
        assert_eq!(of(&Method::POST, 200, false), Level::DEBUG, "agents do it all the time");
        assert_eq!(of(&Method::GET, 404, false), Level::DEBUG);
    }
}
