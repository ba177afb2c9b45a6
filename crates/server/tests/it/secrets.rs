//! Nothing that was sent in confidence is in the log, at any level (DECISIONS 27).

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::watch::log;
use testkit::{TestHub, on_each_engine};

use crate::support::{Minted, cookie, enrolled, eventually, expect, get, log_in, mint, minted, send};
use crate::world::things::with_ids;
use crate::world::{DOORS, Door, Things};

/// Marks that are sent in every place where a client can put text.
const MARKS: &[&str] = &[
    "mark-in-the-query",
    "mark-in-a-header",
    "mark-in-the-body",
    "mark-in-a-name",
    "mark-in-the-path",
    "mark-in-a-cookie",
    "mark-in-a-method",
    "mark-as-a-key",
    "mark-as-a-password",
    "mark-as-a-token",
    "mark-in-an-e-mail",
];

fn marked(hub: &TestHub, method: &str, path: &str) -> RequestBuilder {
    hub.admin(method, path)
        .header("user-agent", "mark-in-a-header")
        .header("x-anything", "mark-in-a-header")
        .header("cookie", "cs=mark-in-a-cookie")
        .header("x-forwarded-for", "mark-in-a-header")
        .header("traceparent", "00-mark-in-a-header-00")
        .header("x-request-id", "mark in a header")
}

async fn send_marks(hub: &TestHub) {
    let marked = |method: &str, path: &str| marked(hub, method, path);
    let requests = [
        marked("GET", "/api/v1/audit?action=mark-in-the-query"),
        marked("GET", "/api/v1/audit?mark-in-the-query=mark-in-the-query"),
        marked("GET", "/api/v1/api-keys?cursor=mark-in-the-query"),
        marked("GET", "/api/v1/events?types=mark-in-the-query"),
        marked("GET", "/api/v1/api-keys/mark-in-the-path"),
        marked("GET", "/mark-in-the-path?mark-in-the-query"),
        marked("MARK-IN-A-METHOD", "/api/v1/me"),
        marked("POST", "/api/v1/api-keys").json(&json!({"name": "mark-in-a-name"})),
        marked("POST", "/api/v1/api-keys")
            .json(&json!({"name": "x", "mark-in-the-body": "mark-in-the-body"})),
        marked("POST", "/api/v1/api-keys").json(&json!({"name": ["mark-in-the-body"]})),
        marked("POST", "/api/v1/api-keys").json(&json!({"name": "x", "scopes": ["mark-in-the-body"]})),
        marked("POST", "/api/v1/api-keys")
            .header("content-type", "application/json")
            .body("{mark-in-the-body"),
        marked("POST", "/api/v1/api-keys")
            .header("idempotency-key", "mark-in-a-header")
            .json(&json!({"name": "x"})),
        marked("POST", "/api/v1/api-keys")
            .header("idempotency-key", "mark-in-a-header\u{e9}")
            .json(&json!({})),
        marked("PATCH", "/api/v1/settings").json(&json!({"mark-in-the-body": "mark-in-the-body"})),
        marked("PATCH", "/api/v1/settings").header("if-match", "mark-in-a-header").json(&json!({})),
        marked("GET", "/api/v1/audit/export"),
        marked("POST", "/api/v1/audit/verification").json(&json!({"mark-in-the-body": 1})),
        hub.request("GET", "/api/v1/me").bearer_auth("mark-as-a-key"),
        hub.request("GET", "/api/v1/me").header("authorization", "mark-as-a-key"),
        hub.request("GET", "/metrics").bearer_auth("csk_mark-as-a-key"),
        marked("POST", "/api/v1/auth/login")
            .json(&json!({"email": "mark-in-an-e-mail@example.org", "password": "mark-as-a-password"})),
        marked("POST", "/api/v1/auth/password")
            .json(&json!({"current_password": "mark-as-a-password", "new_password": "mark-as-a-password"})),
        marked("POST", "/api/v1/auth/device/token").json(&json!({"device_code": "csd_mark-as-a-token"})),
        marked("GET", "/login/once?token=cso_mark-as-a-token"),
        marked("POST", "/login/once").form(&[("token", "cso_mark-as-a-token")]),
        marked("POST", "/login/once").form(&[("mark-as-a-token", "cso_mark-as-a-token")]),
        marked("GET", "/login?next=/mark-in-the-query"),
        marked("GET", "/login/device?code=mark-in-the-query"),
        marked("POST", "/login")
            .form(&[("email", "mark-in-an-e-mail@example.org"), ("password", "mark-as-a-password")]),
        hub.request("GET", "/healthz").header("x-request-id", "css_mark-as-a-token"),
        hub.request("GET", "/healthz").header("x-request-id", "cso_mark-as-a-token"),
    ];
    for request in requests {
        send(request).await;
    }
    send_marks_to_every_door(hub).await;
}

async fn send_marks_to_every_door(hub: &TestHub) {
    let mut things = Things::of_default(hub).await;
    for door in DOORS {
        let (path, body) = things.call(door).await;
        things.used_up();
        for (path, body) in marked_calls(door, &path, &body) {
            let request = marked(hub, door.method, &path);
            send(match body {
                Some(body) => request.json(&body),
                None => request,
            })
            .await;
        }
    }
}

/// Calls of a route with a mark in every place that it reads.
fn marked_calls(door: &Door, path: &str, body: &str) -> Vec<(String, Option<Value>)> {
    let good = (!body.is_empty()).then(|| serde_json::from_str::<Value>(body).unwrap());
    let names = door.names.iter().map(|_| "mark-in-the-path".to_owned()).collect::<Vec<_>>();
    let mut calls = vec![
        (format!("{path}?mark-in-the-query=mark-in-the-query"), good.clone()),
        (with_ids(door, &names), good.clone()),
    ];
    // In a list, the fields of what it begins with.
    let object = |body: &Value| body.get(0).unwrap_or(body).as_object().unwrap().clone();
    let fields = good.as_ref().map(object).unwrap_or_default();
    for field in fields.keys().map(String::as_str).chain(["mark-in-the-body"]) {
        let mut body = good.clone().unwrap_or_else(|| json!({}));
        let marked = if body.is_array() { &mut body[0] } else { &mut body };
        marked[field] = json!("mark-in-the-body");
        calls.push((path.to_owned(), Some(body)));
    }
    calls
}

/// Mints, uses, rotates and revokes; every key there was.
async fn use_keys(hub: &TestHub) -> Vec<String> {
    let tenant = hub.tenant("confidential").await;
    let member = hub.member(&tenant, "mark-in-a-name").await;
    let first = mint(hub, &tenant, json!({"name": "first"})).await;
    get(hub, &first.key, "/api/v1/me").await;
    let path = format!("/api/v1/api-keys/{}/rotate", first.id);
    let rotated: Minted = minted(&expect(hub.request("POST", &path).bearer_auth(&tenant), 201).await);
    get(hub, &rotated.key, "/api/v1/me").await;
    let path = format!("/api/v1/api-keys/{}", rotated.id);
    expect(hub.request("DELETE", &path).bearer_auth(&tenant), 204).await;
    for ended in [&first.key, &rotated.key] {
        send(hub.request("GET", "/api/v1/me").bearer_auth(ended)).await.problem(401, "UNAUTHENTICATED");
    }
    let mut secrets = vec![hub.admin_key.clone(), tenant, member, first.key, rotated.key];
    secrets.extend(use_logins(hub).await);
    secrets
}

/// Logs in by password, link and device; every token there was.
async fn use_logins(hub: &TestHub) -> Vec<String> {
    let login = log_in(hub, &enrolled(hub, "confidant").await).await;
    expect(login.on(hub.request("GET", "/account")), 200).await;
    let device = expect(hub.request("POST", "/api/v1/auth/device"), 200).await.json();
    let text = |name: &str| device[name].as_str().unwrap().to_owned();
    let answer = [("code", text("user_code")), ("answer", "allow".to_owned())];
    expect(login.on(hub.request("POST", "/login/device")).form(&answer), 303).await;
    let body = json!({"device_code": text("device_code")});
    let granted = expect(hub.request("POST", "/api/v1/auth/device/token").json(&body), 200).await.json();
    let link = hub.request("POST", "/login/once").form(&[("token", &hub.admin_link)]);
    let by_link = cookie(&expect(link, 303).await).unwrap();
    let granted = granted["token"].as_str().unwrap().to_owned();
    vec![login.token, text("device_code"), granted, by_link, hub.admin_link.clone()]
}

#[tokio::test]
async fn no_secret_and_nothing_a_client_wrote_is_logged() {
    let log = log();
    on_each_engine(async |hub| {
        log.keep(true);
        let keys = use_keys(&hub).await;
        send_marks(&hub).await;
        // What must be there is, so what is missing is missing for a reason. The seal's line comes last.
        let wanted = ["POST /api/v1/api-keys answered 201", "GET /api/v1/audit answered 200", "audit seal"];
        eventually("the log", async || wanted.iter().all(|line| log.kept().contains(line)).then_some(()))
            .await;
        log.keep(false);
        let text = log.kept();
        for key in &keys {
            let (_, secret) = key.split_once('_').unwrap();
            assert!(!text.contains(secret), "a key is in the log");
            // Half a key is a secret too; the 8 characters of the prefix are public.
            assert!(!text.contains(&secret[12..]), "the end of a key is in the log");
        }
        assert!(!text.contains(crate::support::PASSWORD), "a password is in the log");
        for mark in MARKS {
            let line = text.lines().find(|line| line.to_lowercase().contains(mark));
            assert_eq!(line, None, "{mark} is in the log");
        }
    })
    .await;
}
