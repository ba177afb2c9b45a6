//! Bodies that are wrong in one known way, on every route that writes: a clear refusal, and nothing changes.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{expect, pointers, refused, send};
use crate::world::{Column, DOORS, Door, Things};

const JSON: &str = "application/json";

/// A route that takes a body, ready to be called: with a body that it accepts.
pub(crate) struct Write {
    pub(crate) door: &'static Door,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) good: String,
}

/// The routes that take a body, each with things of its own.
pub(crate) async fn writes(hub: &TestHub) -> Vec<Write> {
    let mut things = Things::of_default(hub).await;
    let mut writes = Vec::new();
    // What a key cannot do, and what is good once, is tested with a credential of its own.
    let is_open = |door: &&Door| door.takes_body() && door.answer(Column::Instance) < 400;
    for door in DOORS.iter().filter(is_open) {
        let (path, good) = things.call(door).await;
        things.used_up();
        writes.push(Write { door, method: door.method, path, good });
    }
    writes
}

/// One of them.
pub(crate) async fn write(hub: &TestHub, method: &str, path: &str) -> Write {
    let found = writes(hub).await.into_iter();
    let mut found = found.filter(|write| write.method == method && write.door.path == path);
    found.next().unwrap_or_else(|| panic!("{method} {path} is no row of DOORS that takes a body"))
}

pub(crate) fn with_body(hub: &TestHub, method: &str, path: &str, body: impl Into<Vec<u8>>) -> RequestBuilder {
    hub.admin(method, path).header("content-type", JSON).body(body.into())
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Texts that no route takes: what to send, and the code that refuses it.
fn bad_texts() -> Vec<(&'static str, Vec<u8>, u16, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("not JSON", text("{\"name\": "), 400, "MALFORMED_BODY"),
        ("two values", text("{} {}"), 400, "MALFORMED_BODY"),
        ("a comma too many", text("{\"name\": \"ci\",}"), 400, "MALFORMED_BODY"),
        ("single quotes", text("{'name': 'ci'}"), 400, "MALFORMED_BODY"),
        ("NaN", text("{\"name\": NaN}"), 400, "MALFORMED_BODY"),
        ("only space", text("  "), 400, "MALFORMED_BODY"),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec(), 400, "MALFORMED_BODY"),
        ("invalid UTF-8", b"{\"name\": \"\xc3\x28\"}".to_vec(), 400, "MALFORMED_BODY"),
        ("a surrogate in UTF-8", b"{\"name\": \"\xed\xa0\x80\"}".to_vec(), 400, "MALFORMED_BODY"),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec(), 400, "MALFORMED_BODY"),
        ("a bare NUL", b"{\"name\": \"a\0b\"}".to_vec(), 400, "MALFORMED_BODY"),
        ("NUL behind the end", b"{}\0".to_vec(), 400, "MALFORMED_BODY"),
        ("an escaped NUL", text(r#"{"name": "a\u0000b"}"#), 422, "VALIDATION_FAILED"),
        ("half a surrogate pair", text(r#"{"name": "\ud83d"}"#), 422, "VALIDATION_FAILED"),
        ("the other half", text(r#"{"name": "\udc00x"}"#), 422, "VALIDATION_FAILED"),
        ("a name twice", text(r#"{"name": "a", "name": "a"}"#), 400, "DUPLICATE_KEY"),
        ("a name twice, escaped", text(r#"{"name": "a", "n\u0061me": "b"}"#), 400, "DUPLICATE_KEY"),
        ("a name twice, deep", text(r#"{"a": [{"b": {"c": 1, "d": 2, "c": 1}}]}"#), 400, "DUPLICATE_KEY"),
        ("65 deep", text(&nested(65)), 400, "MALFORMED_BODY"),
        ("100,000 deep", text(&nested(100_000)), 400, "MALFORMED_BODY"),
        ("deep and not closed", "[".repeat(500_000).into_bytes(), 400, "MALFORMED_BODY"),
        ("64 deep", text(&nested(64)), 422, "VALIDATION_FAILED"),
        ("an array", text("[]"), 422, "VALIDATION_FAILED"),
        ("values without their names", text(r#"[null, "ci"]"#), 422, "VALIDATION_FAILED"),
        ("a number", text("1"), 422, "VALIDATION_FAILED"),
        ("null", text("null"), 422, "VALIDATION_FAILED"),
        ("a field nobody knows", text(r#"{"nobody_knows": 1}"#), 422, "VALIDATION_FAILED"),
        ("2^53 + 1", text(r#"{"name": 9007199254740993}"#), 422, "VALIDATION_FAILED"),
        ("-2^53", text(r#"{"name": -9007199254740992}"#), 422, "VALIDATION_FAILED"),
        ("a number no double holds", text(r#"{"name": 1e400}"#), 422, "VALIDATION_FAILED"),
        (
            "more than 1 MiB",
            format!("{{\"name\": \"{}\"}}", "x".repeat(1 << 20)).into_bytes(),
            413,
            "BODY_TOO_LARGE",
        ),
    ]
}

#[tokio::test]
async fn bad_texts_are_refused_by_every_route_and_change_nothing() {
    on_each_engine(async |hub| {
        let writes = writes(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("audit_logs").await;
        let settings = expect(hub.admin("GET", "/api/v1/settings"), 200).await;
        for Write { method, path, good, .. } in &writes {
            for (what, text, status, code) in bad_texts() {
                // A list without members is a list.
                if what == "an array" && good.starts_with('[') {
                    continue;
                }
                let answer = send(with_body(&hub, method, path, text)).await;
                let problem = answer.any_problem();
                let found = (answer.status.as_u16(), problem["code"].as_str().unwrap());
                assert_eq!(found, (status, code), "{what} to {method} {path}: {problem}");
            }
        }
        assert_eq!(backdoor.count("audit_logs").await, before);
        assert_eq!(backdoor.count("idempotency_keys").await, 0);
        let after = expect(hub.admin("GET", "/api/v1/settings"), 200).await;
        assert_eq!((after.header("etag"), after.json()), (settings.header("etag"), settings.json()));
        // All of it was for the body: each route takes a good one.
        for Write { method, path, good, .. } in &writes {
            let answer = send(with_body(&hub, method, path, good.clone())).await;
            assert!(answer.status.is_success(), "{method} {path}: {}", answer.text());
        }
    })
    .await;
}

/// 20 MB are refused while they are being sent, and the client gets to read why.
#[tokio::test]
async fn twenty_megabytes_are_refused() {
    on_each_engine(async |hub| {
        let large = vec![b' '; 20_000_000];
        for Write { method, path, .. } in writes(&hub).await {
            // The last byte that is too many.
            for (bytes, status) in [(1 << 20, 400), ((1 << 20) + 1, 413)] {
                let answer = send(with_body(&hub, method, &path, vec![b' '; bytes])).await;
                assert_eq!(answer.status.as_u16(), status, "{bytes} bytes to {method} {path}");
            }
            for _ in 0..3 {
                let answer = send(with_body(&hub, method, &path, large.clone())).await;
                answer.problem(413, "BODY_TOO_LARGE");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_not_called_json_is_refused() {
    on_each_engine(async |hub| {
        for Write { method, path, good, .. } in writes(&hub).await {
            for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
                let request =
                    hub.admin(method, &path).header("content-type", content_type).body(good.clone());
                refused(request, 415, "UNSUPPORTED_MEDIA_TYPE").await;
            }
            refused(hub.admin(method, &path).body(good.clone()), 415, "UNSUPPORTED_MEDIA_TYPE").await;
            let request = hub.admin(method, &path).header("content-type", "Application/JSON; charset=utf-8");
            assert!(send(request.body(good)).await.status.is_success(), "{method} {path}");
        }
    })
    .await;
}

/// Where a wrong value is, the answer says.
#[tokio::test]
async fn refusals_point_at_what_is_wrong() {
    on_each_engine(async |hub| {
        let keys = |body: Value| (("POST", "/api/v1/api-keys"), body.to_string());
        let settings = |body: Value| (("PATCH", "/api/v1/settings"), body.to_string());
        let verification = |body: Value| (("POST", "/api/v1/audit/verification"), body.to_string());
        let raw = |text: &str| (("POST", "/api/v1/api-keys"), text.to_owned());
        let raw_settings = |text: &str| (("PATCH", "/api/v1/settings"), text.to_owned());
        let cases = [
            (keys(json!({"name": 5})), "/name"),
            (keys(json!({"name": null})), "/name"),
            (keys(json!({"name": ""})), "/name"),
            (keys(json!({"name": "x".repeat(201)})), "/name"),
            (keys(json!({"name": "bell \u{7}"})), "/name"),
            (keys(json!({"name": "ci", "scope": []})), "/scope"),
            (keys(json!({"name": "ci", "a/b~c": 1})), "/a~1b~0c"),
            (keys(json!({"name": "ci", "scopes": "events:read"})), "/scopes"),
            (keys(json!({"name": "ci", "scopes": []})), "/scopes"),
            (keys(json!({"name": "ci", "scopes": ["events:read", 7]})), "/scopes/1"),
            (keys(json!({"name": "ci", "scopes": ["events:read", "all"]})), "/scopes/1"),
            (keys(json!({"name": "ci", "account_id": "me"})), "/account_id"),
            (keys(json!({"name": "ci", "organization_id": {"id": 1}})), "/organization_id"),
            (keys(json!({"name": "ci", "expires_at": "tomorrow"})), "/expires_at"),
            (keys(json!({"name": "ci", "expires_at": "2001-01-01T00:00:00Z"})), "/expires_at"),
            (raw(r#"{"name": "ci", "scopes": ["events:read", 9007199254740993]}"#), "/scopes/1"),
            (raw(r#"{"name": "ci", "x": {"y": [0, {"a/b": "\ud800"}]}}"#), "/x/y/1/a~1b"),
            (settings(json!({"lock:default_ttl": "40"})), "/lock:default_ttl"),
            (settings(json!({"lock:default_ttl": 0})), "/lock:default_ttl"),
            (settings(json!({"lock:default_ttl": 40.5})), "/lock:default_ttl"),
            (settings(json!({"lock:unheard/of": 1})), "/lock:unheard~1of"),
            (settings(json!({"risk:thresholds": [75, 50, 25]})), "/risk:thresholds"),
            (settings(json!({"approval:on_call": ["me"]})), "/approval:on_call"),
            (raw_settings(r#"{"lock:max_ttl": 9007199254740993}"#), "/lock:max_ttl"),
            (verification(json!({"a/b": 1})), "/a~1b"),
        ];
        for (((method, path), body), pointer) in cases {
            let problem =
                refused(with_body(&hub, method, path, body.clone()), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{body}: {problem}");
        }
        // Not because no field takes such a number: because nobody could keep it.
        for Write { method, path, .. } in writes(&hub).await {
            let body = r#"{"name": "ci", "lock:max_ttl": [0, {"n": -9007199254740993}]}"#;
            let problem = refused(with_body(&hub, method, &path, body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), ["/lock:max_ttl/1/n"], "{method} {path}");
        }
        let several = json!({"lock:default_ttl": 0, "lock:max_ttl": [], "nope": 1});
        let request = hub.admin("PATCH", "/api/v1/settings").json(&several);
        let mut found = pointers(&refused(request, 422, "VALIDATION_FAILED").await);
        found.sort();
        assert_eq!(found, ["/lock:default_ttl", "/lock:max_ttl", "/nope"]);
    })
    .await;
}

/// Queries are as strict as bodies, and say which parameter is wrong.
#[tokio::test]
async fn queries_are_strict() {
    on_each_engine(async |hub| {
        let cases = [
            ("/api/v1/api-keys?limit=0", "/limit"),
            ("/api/v1/api-keys?limit=201", "/limit"),
            ("/api/v1/api-keys?limit=abc", "/limit"),
            ("/api/v1/api-keys?limit=", "/limit"),
            ("/api/v1/api-keys?limit=-1", "/limit"),
            ("/api/v1/api-keys?limit=99999999999999999999", "/limit"),
            ("/api/v1/api-keys?cursor=nonsense", "/cursor"),
            ("/api/v1/api-keys?cursor=", "/cursor"),
            ("/api/v1/api-keys?page=2", "/page"),
            ("/api/v1/audit?actor=me", "/actor"),
            ("/api/v1/audit?from=yesterday", "/from"),
            ("/api/v1/audit?to=yesterday", "/to"),
            ("/api/v1/audit?task_id=1", "/task_id"),
            ("/api/v1/audit?acter=1", "/acter"),
            ("/api/v1/audit/seals?number=1", "/number"),
            ("/api/v1/events?after=-1", "/after"),
            ("/api/v1/events?after=99999999999999999999", "/after"),
            ("/api/v1/events?types=nonsense", "/types"),
            ("/api/v1/events?limit=1001", "/limit"),
            ("/api/v1/events?wait_seconds=51", "/wait_seconds"),
            ("/api/v1/events?wait_seconds=1.5", "/wait_seconds"),
            ("/api/v1/events?since=1", "/since"),
        ];
        let twice =
            refused(hub.admin("GET", "/api/v1/api-keys?limit=1&limit=2"), 422, "VALIDATION_FAILED").await;
        assert!(twice["errors"][0]["detail"].as_str().unwrap().contains("limit"), "{twice}");
        for (path, pointer) in cases {
            let problem = refused(hub.admin("GET", path), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{path}: {problem}");
        }
    })
    .await;
}
