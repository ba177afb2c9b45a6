//! The documents a hub serves about itself.

use std::collections::BTreeSet;
use std::path::PathBuf;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::Value;
use server::routes::listed;
use testkit::{TestHub, on_each_engine};
use tower::ServiceExt;

use crate::support::{expect, refused};

const BLESS: &str = "COUNTERSIGN_BLESS";

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

#[tokio::test]
async fn the_openapi_document_is_the_one_in_docs() {
    on_each_engine(async |hub| {
        let answer = expect(hub.request("GET", "/api/openapi.json"), 200).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let served = format!("{}\n", answer.text().trim_end());
        if std::env::var_os(BLESS).is_some() {
            std::fs::write(golden(), &served).unwrap();
        }
        let kept = std::fs::read_to_string(golden()).unwrap_or_default();
        assert!(
            served == kept,
            "the interface has changed. If that is meant, run `{BLESS}=1 cargo test -p server openapi`, read the \
             difference in docs/openapi.json, and commit it with the change."
        );
    })
    .await;
}

#[tokio::test]
async fn the_document_lists_exactly_the_routes() {
    on_each_engine(async |hub| {
        let document = expect(hub.request("GET", "/api/openapi.json"), 200).await.json();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
        let documented: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().keys();
                methods.map(|method| (path.clone(), method.to_uppercase())).collect::<Vec<_>>()
            })
            .collect();
        let routes: BTreeSet<(String, String)> = listed()
            .into_iter()
            .filter(|route| !route.is_page)
            .map(|route| (route.path, route.method))
            .collect();
        assert_eq!(documented, routes);
        for operation in operations(&document) {
            assert!(operation["operationId"].is_string(), "{operation}");
            assert!(operation["summary"].is_string() || operation["description"].is_string(), "{operation}");
            assert!(!operation["responses"].as_object().unwrap().is_empty(), "{operation}");
        }
        let ids: BTreeSet<String> = operations(&document).map(|one| one["operationId"].to_string()).collect();
        assert_eq!(ids.len(), routes.len(), "operations are told apart by their ids: {ids:?}");
        assert_references_exist(&document, &document);
    })
    .await;
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
}

/// A reference that leads nowhere breaks every generator.
fn assert_references_exist(document: &Value, part: &Value) {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    match part {
        Value::Object(members) => members.values().for_each(|part| assert_references_exist(document, part)),
        Value::Array(items) => items.iter().for_each(|part| assert_references_exist(document, part)),
        _ => {}
    }
}

#[tokio::test]
async fn swagger_ui_needs_nothing_from_elsewhere() {
    on_each_engine(async |hub| {
        let page = expect(hub.request("GET", "/api/docs/"), 200).await;
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("style-src 'self' 'unsafe-inline'"), "{policy}");
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("script-src"), "{policy}");
        let html = page.text();
        let resources: Vec<&str> = ["src=\"", "href=\""]
            .iter()
            .flat_map(|mark| html.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap()))
            .collect();
        assert!(resources.len() >= 4, "{resources:?}");
        for resource in resources {
            assert!(!resource.contains("//"), "{resource} is from elsewhere");
            let file =
                expect(hub.request("GET", &format!("/api/docs/{}", resource.trim_start_matches("./"))), 200);
            assert_eq!(file.await.header("content-security-policy"), Some(policy), "{resource}");
        }
        // Inline scripts would be stopped by the policy.
        assert!(!html.contains("<script>"), "{html}");
        let starter = expect(hub.request("GET", "/api/docs/swagger-initializer.js"), 200).await.text();
        assert!(starter.contains("/api/openapi.json"), "{starter}");
        // Every other page has the strict policy.
        let other = expect(hub.request("GET", "/healthz"), 200).await;
        assert!(!other.header("content-security-policy").unwrap().contains("unsafe-inline"));
        let slashless = expect(hub.request("GET", "/api/docs"), 303).await;
        assert_eq!(slashless.header("location"), Some("/api/docs/"));
    })
    .await;
}

#[tokio::test]
async fn the_page_can_be_switched_off() {
    on_each_engine(async |hub| {
        for path in ["/api/docs", "/api/docs/", "/api/docs/swagger-ui.css"] {
            let (status, problem) = ask_without_docs(&hub, path).await;
            assert_eq!((status, &problem["code"]), (404, &Value::from("NOT_FOUND")), "{path}");
        }
        assert_eq!(ask_without_docs(&hub, "/api/openapi.json").await.0, 200);
    })
    .await;
}

async fn ask_without_docs(hub: &TestHub, path: &str) -> (u16, Value) {
    let options = server::Options { docs: false, ..server::Options::local(([127, 0, 0, 1], 0).into()) };
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = server::router(hub.hub.clone(), options).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn every_code_has_a_page() {
    on_each_engine(async |hub| {
        for code in wire::Code::all() {
            let page = expect(hub.request("GET", &format!("/errors/{code}")), 200).await;
            assert_eq!(page.header("content-type"), Some("text/markdown; charset=utf-8"));
            assert!(page.text().contains(code.as_str()), "{code}");
        }
        for path in ["/errors/NOPE", "/errors/not_found", "/errors/%2e%2e%2fCargo.toml", "/errors/"] {
            refused(hub.request("GET", path), 404, "NOT_FOUND").await;
        }
    })
    .await;
}
