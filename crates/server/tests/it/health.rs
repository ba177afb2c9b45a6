//! Whether the hub lives, can work, and how it does: for operators in full, for others as little as they need.

use std::net::{Ipv4Addr, SocketAddr};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use server::Peer;
use server::routes::listed;
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};
use tower::ServiceExt;

use crate::support::{expect, get, mint, refused};

fn from_elsewhere(request: RequestBuilder) -> RequestBuilder {
    request.header("x-forwarded-for", "203.0.113.9")
}

#[tokio::test]
async fn details_are_for_operators() {
    on_each_engine(async |hub| {
        assert_eq!(expect(from_elsewhere(hub.request("GET", "/healthz")), 200).await.text(), "ok\n");
        let theirs = hub.tenant("other").await;
        let narrow = mint(&hub, &hub.admin_key, json!({"name": "scraper", "scopes": ["metrics:read"]})).await;
        let ready = |key: Option<&str>| {
            let request = hub.request("GET", "/readyz");
            key.map_or_else(|| hub.request("GET", "/readyz"), |key| request.bearer_auth(key))
        };
        let detail = |body: &Value| {
            let checks = body["checks"].as_array().unwrap().clone();
            checks.iter().any(|check| check.get("detail").is_some())
        };
        let engine = hub.hub.records.engine().to_string();
        for trusted in [ready(None), from_elsewhere(ready(Some(&narrow.key))), ready(Some(&hub.admin_key))] {
            let body = expect(trusted, 200).await.json();
            assert_eq!(body["ready"], json!(true));
            assert!(detail(&body) && body.to_string().contains(&engine), "{body}");
        }
        // From elsewhere without a key, and with one that may not: only whether.
        for other in [from_elsewhere(ready(None)), ready(Some(&theirs))] {
            let body = expect(other, 200).await.json();
            assert_eq!(body["ready"], json!(true));
            assert!(!detail(&body) && !body.to_string().contains(&engine), "{body}");
        }
        let forwarded = hub.request("GET", "/readyz").header("forwarded", "for=203.0.113.9");
        assert!(!detail(&expect(forwarded, 200).await.json()));
    })
    .await;
}

/// The answer of a hub that is stopping, to somebody from this machine or from elsewhere.
async fn ask_stopped(hub: &TestHub, ip: Ipv4Addr) -> Value {
    let options = server::Options { docs: false, ..server::Options::local(([127, 0, 0, 1], 0).into()) };
    let peer = Peer(SocketAddr::from((ip, 1)));
    let request = Request::get("/readyz").extension(peer).body(Body::empty()).unwrap();
    let response = server::router(hub.hub.clone(), options).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["retry-after"], "1");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn a_hub_that_stops_is_not_ready() {
    on_each_engine(async |hub| {
        hub.hub.lifecycle.announce_stop();
        for (ip, trusted) in [(Ipv4Addr::LOCALHOST, true), (Ipv4Addr::new(203, 0, 113, 9), false)] {
            let problem = ask_stopped(&hub, ip).await;
            assert_eq!(problem["code"], "NOT_READY");
            let checks = problem["checks"].as_array().unwrap();
            let lifecycle = checks.iter().find(|check| check["name"] == "lifecycle").unwrap();
            assert_eq!(lifecycle["ok"], json!(false));
            assert_eq!(lifecycle.get("detail").is_some(), trusted, "{problem}");
        }
    })
    .await;
}

/// Values of a label in the text format.
fn values<'a>(metrics: &'a str, label: &str) -> Vec<&'a str> {
    let mark = format!("{label}=\"");
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some(line.split_once(&mark)?.1.split('"').next().unwrap())).collect()
}

#[tokio::test]
async fn metrics_name_routes_never_paths_or_tenants() {
    on_each_engine(async |hub| {
        // The first look starts the counting.
        expect(hub.request("GET", "/metrics"), 200).await;
        let theirs = hub.tenant("verysecrettenant").await;
        let key = mint(&hub, &theirs, json!({"name": "hushhush"})).await;
        get(&hub, &theirs, &format!("/api/v1/api-keys/{}", key.id)).await;
        get(&hub, &theirs, "/api/v1/audit?action=spy:action").await;
        refused(hub.request("GET", "/api/v1/api-keys/hidden-in-the-path"), 401, "UNAUTHENTICATED").await;
        refused(hub.request("GET", "/hidden-in-the-path"), 404, "NOT_FOUND").await;
        refused(hub.request("HIDDEN-METHOD", "/hidden-in-the-path"), 404, "NOT_FOUND").await;
        refused(hub.admin("GET", &format!("/api/v1/api-keys/{}", key.id)), 404, "NOT_FOUND").await;
        let answer = expect(hub.request("GET", "/metrics"), 200).await;
        assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
        let metrics = answer.text();
        let known: Vec<String> = listed().into_iter().map(|route| route.path).collect();
        let routes = values(&metrics, "route");
        for route in &routes {
            assert!(known.iter().any(|path| path == route) || *route == "(none)", "{route}");
        }
        // Also refusals are counted under their route.
        for (status, route) in [
            ("200", "/api/v1/api-keys/{id}"),
            ("404", "/api/v1/api-keys/{id}"),
            ("401", "/api/v1/api-keys/{id}"),
            ("404", "(none)"),
        ] {
            let counted = metrics.lines().any(|line| {
                line.starts_with("countersign_http_requests_total{")
                    && line.contains(&format!("route=\"{route}\""))
                    && line.contains(&format!("status=\"{status}\""))
            });
            assert!(counted, "no {status} for {route} in\n{metrics}");
        }
        assert!(
            values(&metrics, "method").iter().all(|method| {
                ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OTHER"].contains(method)
            })
        );
        let me = get(&hub, &theirs, "/api/v1/me").await;
        for secret in [
            "verysecret",
            "hushhush",
            "hidden",
            "spy:action",
            &key.id,
            &theirs,
            me["organization"]["id"].as_str().unwrap(),
            me["account"]["id"].as_str().unwrap(),
        ] {
            assert!(!metrics.contains(secret), "{secret} is in the metrics");
        }
    })
    .await;
}

#[tokio::test]
async fn metrics_are_for_operators() {
    on_each_engine(async |hub| {
        let scraper =
            mint(&hub, &hub.admin_key, json!({"name": "scraper", "scopes": ["metrics:read"]})).await;
        expect(from_elsewhere(hub.request("GET", "/metrics").bearer_auth(&scraper.key)), 200).await;
        refused(from_elsewhere(hub.request("GET", "/metrics")), 401, "UNAUTHENTICATED").await;
        let theirs = hub.tenant("other").await;
        // A key is judged by what it may do, also on this machine.
        refused(hub.request("GET", "/metrics").bearer_auth(&theirs), 403, "FORBIDDEN").await;
        refused(hub.request("GET", "/metrics").bearer_auth("csk_nope"), 401, "UNAUTHENTICATED").await;
    })
    .await;
}
