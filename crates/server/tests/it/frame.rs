//! What stands around every answer.

use serde_json::json;
use testkit::on_each_engine;

use crate::support::{Answer, expect, mint, send};

/// The headers themselves are checked on every answer of every test; here is one of each kind.
#[tokio::test]
async fn every_kind_of_answer_is_framed() {
    on_each_engine(async |hub| {
        let cases = [
            (hub.admin("GET", "/api/v1/me"), 200),
            (hub.request("GET", "/healthz"), 200),
            (hub.request("GET", "/errors/NOT_FOUND"), 200),
            (hub.request("GET", "/api/openapi.json"), 200),
            (hub.request("GET", "/api/docs/"), 200),
            (hub.admin("POST", "/api/v1/api-keys").json(&json!({"name": "framed"})), 201),
            (hub.admin("GET", "/api/v1/audit/export"), 200),
            (hub.request("GET", "/api/v1/me"), 401),
            (hub.admin("GET", "/nowhere"), 404),
            (hub.request("GET", "/"), 303),
            (hub.request("GET", "/login"), 200),
            (hub.request("GET", "/assets/app.css"), 200),
            (hub.request("GET", "/api/docs/nowhere.js"), 404),
            (hub.admin("DELETE", "/api/v1/me"), 405),
            (hub.admin("GET", "/api/v1/api-keys?limit=0"), 422),
        ];
        for (request, status) in cases {
            let answer = expect(request, status).await;
            if status >= 400 {
                answer.any_problem();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_does_not_exist_says_so() {
    on_each_engine(async |hub| {
        for path in ["/nowhere", "/api", "/api/v2/me", "/api/v1", "/api/v1/me/", "//", "/api/v1/%6De%00"] {
            for method in ["GET", "POST", "DELETE", "OPTIONS", "BREW"] {
                send(hub.admin(method, path)).await.problem(404, "NOT_FOUND");
            }
        }
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let answer = send(hub.admin(method, "/api/v1/me")).await;
            answer.problem(405, "METHOD_NOT_ALLOWED");
            assert_eq!(answer.header("allow"), Some("GET,HEAD"), "{method}");
        }
        // A method that does not exist is no way past the guard.
        for method in ["OPTIONS", "PUT"] {
            let answer = send(hub.request(method, "/api/v1/settings")).await;
            answer.problem(405, "METHOD_NOT_ALLOWED");
            let allowed: Vec<&str> = answer.header("allow").unwrap().split(',').collect();
            assert!(allowed.contains(&"GET") && allowed.contains(&"PATCH"), "{allowed:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    on_each_engine(async |hub| {
        for path in ["/api/v1/me", "/healthz", "/nowhere", "/api/v1/settings", "/api/openapi.json"] {
            let [got, head] = [send(hub.admin("GET", path)).await, send(hub.admin("HEAD", path)).await];
            assert!(head.body.is_empty());
            assert_eq!(head.status, got.status, "{path}");
            for name in ["content-type", "etag", "content-length"] {
                assert_eq!(head.header(name), got.header(name), "{path}: {name}");
            }
        }
        let head = send(hub.request("HEAD", "/api/v1/me")).await;
        assert_eq!((head.status.as_u16(), head.body.len()), (401, 0));
    })
    .await;
}

#[tokio::test]
async fn a_request_has_one_id() {
    on_each_engine(async |hub| {
        let ask = async |id: &[u8]| -> Answer {
            let value = testkit::reqwest::header::HeaderValue::from_bytes(id).unwrap();
            expect(hub.request("GET", "/healthz").header("x-request-id", value), 200).await
        };
        for harmless in ["a", "trace-7.b_c:9", &"x".repeat(128)] {
            assert_eq!(ask(harmless.as_bytes()).await.header("x-request-id"), Some(harmless));
        }
        // What could confuse a log or a terminal is replaced.
        for odd in ["", "a b", "é", "a;b", "a=\"b\"", &"x".repeat(129), "\u{1b}[2K"] {
            if let Ok(value) = testkit::reqwest::header::HeaderValue::from_bytes(odd.as_bytes()) {
                let answer = ask(value.as_bytes()).await;
                let id = answer.header("x-request-id").unwrap();
                assert_eq!(id.len(), 36, "{odd:?} became {id}");
            }
        }
        let [one, other] = [ask(b"").await, ask(b"").await];
        assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
        for odd in ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "nonsense", "00--"] {
            expect(hub.request("GET", "/healthz").header("traceparent", odd), 200).await;
        }
    })
    .await;
}

#[tokio::test]
async fn large_answers_are_compressed_for_who_wants_it() {
    on_each_engine(async |hub| {
        for number in 0..10 {
            mint(&hub, &hub.admin_key, json!({"name": format!("key {number}")})).await;
        }
        let ask = |path: &str| hub.admin("GET", path).header("accept-encoding", "gzip");
        let large = expect(ask("/api/v1/api-keys"), 200).await;
        assert_eq!(large.header("content-encoding"), Some("gzip"));
        assert_eq!(large.body[..2], [0x1f, 0x8b]);
        let small = expect(ask("/api/v1/settings"), 200).await;
        assert_eq!(small.header("content-encoding"), None);
        assert!(small.header("etag").unwrap().starts_with('"'));
        // Whoever does not say so gets it as it is; that others get it otherwise is said all the same.
        let plain = expect(hub.admin("GET", "/api/v1/api-keys"), 200).await;
        assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("accept-encoding")));
        assert_eq!((large.header("vary"), small.header("vary")), (Some("accept-encoding"), None));
        assert_eq!(expect(hub.admin("GET", "/api/v1/settings"), 200).await.header("vary"), None);
    })
    .await;
}
