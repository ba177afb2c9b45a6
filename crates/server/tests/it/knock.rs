//! Every route, knocked on by everybody who may not enter, and by some who may.

use std::time::Duration;

use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use server::routes::{Listed, Needs, listed};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::{Backdoor, suspend};
use crate::support::{Things, all_items, eventually, expect, get, mint, send, without_place};

/// A route and how it answers: a stranger from elsewhere; an admin's key with `events:read` only; a plain member;
/// the owner of another organization; the admin whose things they are.
const DOORS: &[(&str, &str, [u16; 5])] = &[
    ("GET", "/healthz", [200, 200, 200, 200, 200]),
    ("GET", "/readyz", [200, 200, 200, 200, 200]),
    ("GET", "/metrics", [401, 403, 403, 403, 200]),
    ("GET", "/errors/{code}", [200, 200, 200, 200, 200]),
    ("GET", "/api/v1/me", [401, 200, 200, 200, 200]),
    ("GET", "/api/v1/api-keys", [401, 403, 200, 200, 200]),
    ("POST", "/api/v1/api-keys", [401, 403, 201, 201, 201]),
    ("GET", "/api/v1/api-keys/{id}", [401, 403, 404, 404, 200]),
    ("DELETE", "/api/v1/api-keys/{id}", [401, 403, 404, 404, 204]),
    ("POST", "/api/v1/api-keys/{id}/rotate", [401, 403, 404, 404, 201]),
    ("GET", "/api/v1/projects", [401, 403, 200, 200, 200]),
    ("POST", "/api/v1/projects", [401, 403, 403, 201, 201]),
    ("GET", "/api/v1/projects/{id}", [401, 403, 200, 404, 200]),
    ("PATCH", "/api/v1/projects/{id}", [401, 403, 403, 404, 200]),
    ("DELETE", "/api/v1/projects/{id}", [401, 403, 403, 404, 204]),
    ("GET", "/api/v1/projects/{id}/workspaces", [401, 403, 200, 404, 200]),
    ("POST", "/api/v1/projects/{id}/workspaces", [401, 403, 403, 404, 201]),
    ("GET", "/api/v1/projects/{id}/workspaces/{workspace_id}", [401, 403, 200, 404, 200]),
    ("PATCH", "/api/v1/projects/{id}/workspaces/{workspace_id}", [401, 403, 403, 404, 200]),
    ("DELETE", "/api/v1/projects/{id}/workspaces/{workspace_id}", [401, 403, 403, 404, 204]),
    ("GET", "/api/v1/agents", [401, 403, 200, 200, 200]),
    ("POST", "/api/v1/agents", [401, 403, 403, 201, 201]),
    ("GET", "/api/v1/agents/{id}", [401, 403, 200, 404, 200]),
    ("PATCH", "/api/v1/agents/{id}", [401, 403, 403, 404, 200]),
    ("DELETE", "/api/v1/agents/{id}", [401, 403, 403, 404, 204]),
    ("POST", "/api/v1/agents/{id}/heartbeat", [401, 403, 403, 404, 200]),
    ("POST", "/api/v1/agents/{id}/drain", [401, 403, 403, 404, 200]),
    ("POST", "/api/v1/agents/{id}/resume", [401, 403, 403, 404, 200]),
    ("GET", "/api/v1/settings", [401, 403, 403, 200, 200]),
    ("PATCH", "/api/v1/settings", [401, 403, 403, 200, 200]),
    ("GET", "/api/v1/events", [401, 200, 200, 200, 200]),
    ("GET", "/api/v1/audit", [401, 403, 200, 200, 200]),
    ("GET", "/api/v1/audit/{id}", [401, 403, 200, 404, 200]),
    ("GET", "/api/v1/audit/seals", [401, 403, 200, 200, 200]),
    // A proof holds the row whole, addresses included.
    ("GET", "/api/v1/audit/{id}/proof", [401, 403, 403, 404, 200]),
    ("GET", "/api/v1/audit/export", [401, 403, 403, 200, 200]),
    ("GET", "/api/v1/audit/verification", [401, 403, 200, 200, 200]),
    ("POST", "/api/v1/audit/verification", [401, 403, 403, 200, 200]),
];

fn expected(route: &Listed) -> [u16; 5] {
    let door = DOORS.iter().find(|(method, path, _)| *method == route.method && *path == route.path);
    door.unwrap_or_else(|| panic!("{} {} has no row in DOORS", route.method, route.path)).2
}

/// What the table of routes itself says about a stranger, and about a key that may only read events.
fn needed(route: &Listed) -> (u16, u16) {
    match route.needs {
        Needs::Nothing | Needs::LocalOr { strangers: true, .. } => (200, 200),
        Needs::LocalOr { strangers: false, .. } => (401, 403),
        // Any key of the agent itself is enough, but this one is somebody else's.
        Needs::Key if route.path.starts_with("/api/v1/agents/{id}/") => (401, 403),
        Needs::Key => (401, 200),
        Needs::Capability(capability) if capability.as_str() == "events:read" => (401, 200),
        Needs::Capability(_) => (401, 403),
    }
}

#[test]
fn every_route_has_its_row_and_keeps_to_what_it_needs() {
    let routes = listed();
    for route in &routes {
        let [stranger, narrow, ..] = expected(route);
        assert_eq!((stranger, narrow), needed(route), "{} {}", route.method, route.path);
    }
    assert_eq!(routes.len(), DOORS.len(), "DOORS has rows for routes that are gone");
}

/// Somebody at the door.
struct Visitor {
    name: &'static str,
    authorization: Option<String>,
    answers: fn(&Listed) -> u16,
}

fn visitor(name: &'static str, key: &str, answers: fn(&Listed) -> u16) -> Visitor {
    Visitor { name, authorization: Some(format!("Bearer {key}")), answers }
}

/// Credentials that open nothing, however they look.
fn dead(route: &Listed) -> u16 {
    if route.needs == Needs::Nothing { 200 } else { 401 }
}

async fn visitors(hub: &TestHub) -> Vec<Visitor> {
    let admin = &hub.admin_key;
    let revoked = mint(hub, admin, json!({"name": "revoked"})).await;
    expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", revoked.id)), 204).await;
    let rotated = mint(hub, admin, json!({"name": "rotated"})).await;
    expect(hub.admin("POST", &format!("/api/v1/api-keys/{}/rotate", rotated.id)), 201).await;
    let suspended = hub.member(admin, "sus").await;
    let account = get(hub, &suspended, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
    suspend(hub, &account).await;
    let narrow = mint(hub, admin, json!({"name": "narrow", "scopes": ["events:read"]})).await;
    let expired = mint(hub, admin, json!({"name": "expired"})).await;
    let end = format!("UPDATE api_keys SET expires_at = created_at WHERE id = '{}'", expired.id);
    Backdoor::open(hub).await.change(&end).await;
    let nobodys = "csk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let odd = |name, authorization: &str| Visitor {
        name,
        authorization: Some(authorization.to_owned()),
        answers: dead,
    };
    vec![
        Visitor { name: "a stranger", authorization: None, answers: |route| expected(route)[0] },
        odd("a scheme we do not know", "Basic Y3NrOg=="),
        odd("no key behind the scheme", "Bearer "),
        visitor("a text that is no key", "csk_nope", dead),
        visitor("a key nobody has", nobodys, dead),
        visitor("a revoked key", &revoked.key, dead),
        visitor("a rotated key", &rotated.key, dead),
        visitor("an expired key", &expired.key, dead),
        visitor("a suspended account", &suspended, dead),
        visitor("a narrow key", &narrow.key, |route| expected(route)[1]),
        visitor("a member", &hub.member(admin, "plain").await, |route| expected(route)[2]),
        visitor("another tenant", &hub.tenant("other").await, |route| expected(route)[3]),
        visitor("the admin", admin, |route| expected(route)[4]),
    ]
}

/// A sealed audit row of the admin's.
async fn sealed_row(hub: &TestHub, key: &str) -> String {
    seal_all(&hub.hub).await.unwrap();
    let mint_row = |row: &Value| row["subject"]["id"] == json!(key) && !row["seal"].is_null();
    eventually("the seal over the mint", async || {
        let rows = all_items(hub, &hub.admin_key, "/api/v1/audit?action=api_key:minted").await;
        rows.iter().find(|row| mint_row(row)).map(|row| row["id"].as_str().unwrap().to_owned())
    })
    .await
}

/// The path to a thing of the admin's; each knock gets fresh ones, because some end them.
async fn path_to(hub: &TestHub, route: &Listed) -> String {
    let things = Things::made(hub).await;
    match route.path.contains("/audit/{id}") {
        true => route.path.replace("{id}", &sealed_row(hub, &things.key).await),
        false => things.path(&route.path, None).replace("{code}", "NOT_FOUND"),
    }
}

/// A request that would be right, if only the caller might make it.
fn request(hub: &TestHub, route: &Listed, path: &str) -> RequestBuilder {
    let request = hub.request(&route.method, path).header("x-forwarded-for", "203.0.113.9");
    // Several come by, and names are taken once.
    let fresh = hub.hub.ids.fresh();
    match (route.method.as_str(), route.path.as_str()) {
        ("POST", "/api/v1/api-keys") => request.json(&json!({"name": "knocked"})),
        ("POST", "/api/v1/projects") => request.json(&json!({"name": "K", "slug": fresh.to_string()})),
        ("POST", "/api/v1/agents") => request.json(&json!({"name": fresh.to_string()})),
        ("POST", path) if path.ends_with("/workspaces") => {
            request.json(&json!({"name": fresh.to_string(), "path": "/"}))
        }
        ("POST", path) if path.ends_with("/heartbeat") => request.json(&json!({})),
        ("PATCH", "/api/v1/settings") => request.json(&json!({"lock:max_queue_depth": 7})),
        ("PATCH", _) => request.json(&json!({"name": fresh.to_string()})),
        _ => request,
    }
}

#[tokio::test]
async fn everybody_gets_exactly_what_the_route_needs() {
    on_each_engine(async |hub| {
        let visitors = visitors(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        expect(hub.admin("POST", "/api/v1/audit/verification"), 200).await;
        for route in listed() {
            let path = path_to(&hub, &route).await;
            for visitor in &visitors {
                let before = backdoor.count("audit_logs").await;
                let mut request = request(&hub, &route, &path);
                if visitor.name == "another tenant" && route.path.ends_with("/verification") {
                    // Each organization has a check of its own, and this one has had none.
                    let check = hub.request("POST", "/api/v1/audit/verification");
                    let key = visitor.authorization.clone().unwrap();
                    expect(check.header("authorization", key), 200).await;
                }
                if let Some(authorization) = &visitor.authorization {
                    request = request.header("authorization", authorization);
                }
                let answer = send(request).await;
                let found = answer.status.as_u16();
                let who = format!("{} at {} {}", visitor.name, route.method, route.path);
                assert_eq!(found, (visitor.answers)(&route), "{who}: {}", answer.text());
                if found >= 400 {
                    answer.any_problem();
                    assert_eq!(backdoor.count("audit_logs").await, before, "{who} changed something");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_ends_at_its_hour() {
    on_each_engine(async |hub| {
        let at = hub.hub.clock.now().plus(Duration::from_secs(3600)).to_string();
        let key = mint(&hub, &hub.admin_key, json!({"name": "for an hour", "expires_at": at})).await;
        let ask = || hub.request("GET", "/api/v1/me").bearer_auth(&key.key);
        hub.clock.advance(Duration::from_secs(3000));
        expect(ask(), 200).await;
        hub.clock.advance(Duration::from_secs(600));
        let problem = send(ask()).await.problem(401, "UNAUTHENTICATED");
        assert_eq!(problem["detail"], "this API key has expired");
        let path = format!("/api/v1/api-keys/{}/rotate", key.id);
        let problem = send(hub.admin("POST", &path)).await.problem(409, "INVALID_STATE");
        assert_eq!(problem["state"], "ended");
    })
    .await;
}

#[tokio::test]
async fn what_another_tenant_has_does_not_exist() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let things = Things::made(&hub).await;
        let row = sealed_row(&hub, &things.key).await;
        for route in listed().iter().filter(|route| route.path.contains("{id}")) {
            let there = match route.path.contains("/audit/{id}") {
                true => route.path.replace("{id}", &row),
                false => things.path(&route.path, None),
            };
            let not_there = |id: &str| things.path(&route.path, Some(id));
            let nothing = not_there("0197a000-0000-7000-8000-000000000000");
            let [existing, missing] = [there, nothing].map(|path| request(&hub, route, &path));
            let existing = send(existing.bearer_auth(&theirs)).await.problem(404, "NOT_FOUND");
            let missing = send(missing.bearer_auth(&theirs)).await.problem(404, "NOT_FOUND");
            assert_eq!(without_place(&existing), without_place(&missing), "{} {}", route.method, route.path);
            // What is no id at all is nothing either.
            let odd = request(&hub, route, &not_there("%00")).bearer_auth(&theirs);
            send(odd).await.problem(404, "NOT_FOUND");
        }
        expect(hub.admin("GET", &format!("/api/v1/api-keys/{}", things.key)), 200).await;
        for path in ["/api/v1/api-keys", "/api/v1/audit", "/api/v1/projects", "/api/v1/agents"] {
            let listed = all_items(&hub, &theirs, path).await;
            let text = serde_json::to_string(&listed).unwrap();
            for ours in [&things.key, &things.project, &things.agent, &row] {
                assert!(!text.contains(ours), "{text}");
            }
        }
    })
    .await;
}

/// Whether an account of another organization exists is nobody's business.
#[tokio::test]
async fn accounts_and_organizations_of_others_answer_like_none() {
    on_each_engine(async |hub| {
        let theirs = get(&hub, &hub.tenant("other").await, "/api/v1/me").await;
        let nothing = json!("0197a000-0000-7000-8000-000000000000");
        for (field, existing) in
            [("account_id", &theirs["account"]["id"]), ("organization_id", &theirs["organization"]["id"])]
        {
            let ask = async |id: &Value| {
                let body = json!({"name": "spy", field: id});
                let problem = send(hub.admin("POST", "/api/v1/api-keys").json(&body)).await.any_problem();
                without_place(&problem)
            };
            assert_eq!(ask(existing).await, ask(&nothing).await, "{field}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_member_sees_no_keys_of_others() {
    on_each_engine(async |hub| {
        let [ann, bob] = [hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await];
        let bobs = get(&hub, &bob, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        for (method, tail) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
            let path = format!("/api/v1/api-keys/{bobs}{tail}");
            send(hub.request(method, &path).bearer_auth(&ann)).await.problem(404, "NOT_FOUND");
        }
        let listed = all_items(&hub, &ann, "/api/v1/api-keys").await;
        assert_eq!(listed.len(), 1, "{listed:?}");
        // The admin sees it and may end it, but not obtain one that acts as Bob.
        let path = format!("/api/v1/api-keys/{bobs}");
        expect(hub.admin("GET", &path), 200).await;
        send(hub.admin("POST", &format!("{path}/rotate"))).await.problem(403, "FORBIDDEN");
        let account = get(&hub, &bob, "/api/v1/me").await["account"]["id"].clone();
        let body = json!({"name": "as Bob", "account_id": account});
        send(hub.admin("POST", "/api/v1/api-keys").json(&body)).await.problem(403, "FORBIDDEN");
        expect(hub.admin("DELETE", &path), 204).await;
        send(hub.request("GET", "/api/v1/me").bearer_auth(&bob)).await.problem(401, "UNAUTHENTICATED");
    })
    .await;
}
