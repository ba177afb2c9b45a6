//! Whether the hub lives, can work, and how it does.

use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use wire::{Check, Code, Ready};

use crate::guard::Trusted;
use crate::json::Json;
use crate::problem::{Problem, internal};
use crate::{App, telemetry};

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz",
    tag = "instance", security(()),
    responses((status = 200, description = "It lives", content_type = "text/plain", body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the hub can do its work; with details for this machine and keys with `metrics:read`.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz",
    tag = "instance", security((), ("api_key" = [])),
    responses((status = 200, description = "It can", body = Ready),
              (status = 503, description = "It cannot", body = wire::Problem)))]
pub(crate) async fn readyz(State(app): State<App>, Extension(trusted): Extension<Trusted>) -> Response {
    let checks = hub::health::checks(&app.hub).await;
    let ready = checks.iter().all(|check| check.ok);
    if !ready {
        let failing: Vec<&str> = checks.iter().filter(|check| !check.ok).map(|check| check.name).collect();
        let detail = format!("not ready: {}", failing.join(", "));
        let checks = serde_json::json!(shown(checks, trusted));
        return Problem::new(Code::NotReady, detail).with("checks", checks).retry_after(1).into_response();
    }
    Json(Ready { ready, checks: shown(checks, trusted) }).into_response()
}

fn shown(checks: Vec<hub::health::Check>, trusted: Trusted) -> Vec<Check> {
    let shown = |check: hub::health::Check| Check {
        name: check.name.into(),
        ok: check.ok,
        detail: trusted.0.then_some(check.detail),
    };
    checks.into_iter().map(shown).collect()
}

/// Metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics",
    tag = "instance", security((), ("api_key" = [])),
    responses((status = 200, description = "The metrics", content_type = "text/plain", body = String),
              (status = 401, description = "Neither this machine nor a key", body = wire::Problem)))]
pub(crate) async fn metrics(State(app): State<App>) -> Result<impl IntoResponse, Problem> {
    let handle = telemetry::metrics().ok_or_else(|| internal(&"metrics are recorded by somebody else"))?;
    telemetry::note_locks(hub::locks::counts(&app.hub));
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render()))
}
