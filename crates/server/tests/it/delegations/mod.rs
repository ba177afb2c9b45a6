//! Who decides for whom, over HTTP.

use serde_json::{Value, json};
use testkit::TestHub;
use testkit::reqwest::RequestBuilder;

use crate::reviews::person;
use crate::support::{all_items, eventually, expect, get, id};

mod chains;
mod leaves;
mod passing_on;

/// Somebody with a key of their own.
pub(crate) struct Person {
    pub(crate) key: String,
    pub(crate) id: Value,
}

pub(crate) async fn somebody(hub: &TestHub, name: &str, roles: &[&str]) -> Person {
    let key = person(hub, name, roles).await;
    let me = get(hub, &key, "/api/v1/me").await;
    Person { key, id: me["account"]["id"].clone() }
}

impl Person {
    pub(crate) fn ask(&self, hub: &TestHub, method: &str, path: &str) -> RequestBuilder {
        hub.request(method, path).bearer_auth(&self.key)
    }

    /// Delegates to somebody, with what is said besides.
    pub(crate) async fn delegates(&self, hub: &TestHub, to: &Person, said: Value) -> Value {
        let body = with(json!({"delegate_to": to.id}), &said);
        expect(self.ask(hub, "POST", "/api/v1/delegations").json(&body), 201).await.json()
    }

    /// The requests to them about a task.
    pub(crate) async fn asked(&self, hub: &TestHub, task: &Value) -> Vec<Value> {
        all_items(hub, &self.key, &format!("/api/v1/approvals?reviewer=me&task_id={}", id(task))).await
    }

    pub(crate) fn says(&self, hub: &TestHub, request: &Value, verb: &str) -> RequestBuilder {
        let body = json!({"content_hash": request["content_hash"], "reason": "because"});
        self.ask(hub, "POST", &format!("/api/v1/approvals/{}/{verb}", id(request))).json(&body)
    }

    /// The one request to them about a task, in this status.
    pub(crate) async fn waits(&self, hub: &TestHub, task: &Value, status: &str) -> Value {
        eventually("the request is where it belongs", async || {
            let found = self.asked(hub, task).await;
            found.into_iter().find(|request| request["status"] == status)
        })
        .await
    }
}

pub(crate) fn with(mut body: Value, said: &Value) -> Value {
    for (name, value) in said.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// A policy that asks these people.
pub(crate) async fn asks(hub: &TestHub, people: &[&Person], said: Value) {
    let reviewers: Vec<&Value> = people.iter().map(|person| &person.id).collect();
    let body = with(json!({"name": "named", "reviewers": reviewers, "min_approvers": 1}), &said);
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}

pub(crate) async fn proposes(hub: &TestHub, author: &Person, resource: &str, risk: &str) -> Value {
    let config = json!({"type": "infrastructure", "description": "Add an index", "declared_risk": risk,
                        "resources": [{"type": "database", "id": resource, "mode": "exclusive"}]});
    let body = json!({"config": config, "submit": true});
    expect(author.ask(hub, "POST", "/api/v1/tasks").json(&body), 201).await.json()
}

pub(crate) async fn state(hub: &TestHub, person: &Person, task: &Value) -> Value {
    get(hub, &person.key, &format!("/api/v1/tasks/{}", id(task))).await
}

/// Everything of production is critical, so that a critical change of it is a high risk.
pub(crate) async fn rate(hub: &TestHub) {
    let rules = json!([{"pattern": "database:prod-*", "criticality": 100},
                       {"pattern": "database:test-*", "criticality": 100}]);
    expect(hub.admin("PUT", "/api/v1/resource-catalogue").json(&rules), 200).await;
}
