//! Reviews over HTTP: who is asked, what answers amount to, and what keeps them from being taken.

use serde_json::{Value, json};
use testkit::TestHub;
use testkit::reqwest::RequestBuilder;

use crate::support::{all_items, expect, get, id, mint};

mod batches;
pub(crate) mod overrides;
mod passing;
mod races;
mod simulation;
mod skips;
mod validity;
mod votes;

/// A member with these roles, who minted a key of their own: what an admin minted counts as that admin.
pub(crate) async fn person(hub: &TestHub, name: &str, roles: &[&str]) -> String {
    let enrolled = hub.member_with(&hub.admin_key, name, roles).await;
    let minted = hub.request("POST", "/api/v1/api-keys").bearer_auth(&enrolled).json(&json!({"name": "own"}));
    let key = expect(minted, 201).await.json()["key"].as_str().unwrap().to_owned();
    testkit::watch::secret(&key);
    key
}

/// An agent of somebody's: its id, and a key of it.
pub(crate) async fn agent(hub: &TestHub, owner: &str) -> (Value, String) {
    let wanted = json!({"name": "worker"});
    let made =
        expect(hub.request("POST", "/api/v1/agents").bearer_auth(owner).json(&wanted), 201).await.json();
    let key = mint(hub, owner, json!({"name": "its", "account_id": made["id"]})).await.key;
    (made["id"].clone(), key)
}

fn config(description: &str) -> Value {
    json!({"type": "infrastructure", "description": description,
           "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]})
}

pub(crate) async fn submitted(hub: &TestHub, author: &str) -> Value {
    let body = json!({"config": config("Add an index"), "submit": true});
    let made = expect(hub.request("POST", "/api/v1/tasks").bearer_auth(author).json(&body), 201).await.json();
    assert_eq!(made["state"], "REVIEWING", "{made}");
    made
}

async fn task(hub: &TestHub, key: &str, task: &Value) -> Value {
    get(hub, key, &format!("/api/v1/tasks/{}", id(task))).await
}

/// The request to whoever has this key.
pub(crate) async fn asked(hub: &TestHub, key: &str, about: &Value) -> Value {
    let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(about));
    let items = all_items(hub, key, &path).await;
    let [one] = items.as_slice() else { panic!("one request: {items:?}") };
    one.clone()
}

pub(crate) fn answer(hub: &TestHub, key: &str, request: &Value, verb: &str) -> RequestBuilder {
    let path = format!("/api/v1/approvals/{}/{verb}", id(request));
    let body = json!({"content_hash": request["content_hash"], "reason": "because"});
    hub.request("POST", &path).bearer_auth(key).json(&body)
}

/// A policy that asks for so many reviewers.
async fn policy(hub: &TestHub, min_approvers: u32, reject_on: &str) {
    let body = json!({"name": format!("all {min_approvers} {reject_on}"), "min_approvers": min_approvers,
                      "required_roles": ["reviewer"], "reject_on": reject_on});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}
