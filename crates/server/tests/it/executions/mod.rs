//! Applying tasks over HTTP: what was approved runs, once, one at a time, and everything that keeps it from that.

use serde_json::{Value, json};
use testkit::TestHub;
use testkit::reqwest::RequestBuilder;

use crate::reviews::{agent, answer, asked, person};
use crate::support::{eventually, expect, get, id};

mod chaos;
mod claims;
mod path;
mod queue;
mod recovery;
mod reports;
mod rollback;

/// Somebody who proposes, somebody who approves, and an agent of the first.
pub(crate) struct Stage {
    pub(crate) author: String,
    pub(crate) reviewer: String,
    pub(crate) agent: String,
    pub(crate) agent_key: String,
}

pub(crate) async fn stage(hub: &TestHub) -> Stage {
    let author = person(hub, "ann", &["author"]).await;
    let reviewer = person(hub, "bob", &["reviewer"]).await;
    let (agent, agent_key) = agent(hub, &author).await;
    let stage = Stage { author, reviewer, agent: agent.as_str().unwrap().to_owned(), agent_key };
    let many = hub.request("PATCH", &format!("/api/v1/agents/{}", stage.agent)).bearer_auth(&stage.author);
    expect(many.json(&json!({"max_tasks": 100})), 200).await;
    stage
}

/// A config that touches this.
pub(crate) fn config(resource: &str) -> Value {
    json!({"type": "infrastructure", "description": "Add an index", "rollback_strategy": "none",
           "resources": [{"type": "database", "id": resource, "mode": "exclusive"}]})
}

/// The config with these members instead.
pub(crate) fn with(mut config: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

impl Stage {
    /// A task of the author's that the reviewer approved.
    pub(crate) async fn approved(&self, hub: &TestHub, config: Value) -> Value {
        self.approved_as(hub, json!({"config": config})).await
    }

    /// The same, with more to say about it.
    pub(crate) async fn approved_as(&self, hub: &TestHub, mut body: Value) -> Value {
        body["submit"] = true.into();
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&self.author).json(&body);
        let made = expect(made, 201).await.json();
        let request = asked(hub, &self.reviewer, &made).await;
        expect(answer(hub, &self.reviewer, &request, "approve"), 200).await;
        self.task(hub, &made).await
    }

    pub(crate) async fn task(&self, hub: &TestHub, task: &Value) -> Value {
        get(hub, &self.author, &format!("/api/v1/tasks/{}", id(task))).await
    }

    /// The agent claims a task.
    pub(crate) fn claim(&self, hub: &TestHub, task: &Value) -> RequestBuilder {
        self.claim_waiting(hub, task, 0)
    }

    pub(crate) fn claim_waiting(&self, hub: &TestHub, task: &Value, wait_seconds: u32) -> RequestBuilder {
        let body = json!({"agent_id": self.agent, "wait_seconds": wait_seconds});
        let path = format!("/api/v1/tasks/{}/claim", id(task));
        hub.request("POST", &path).bearer_auth(&self.agent_key).json(&body)
    }

    /// The agent asks for work.
    pub(crate) fn next(&self, hub: &TestHub, wait_seconds: u32) -> RequestBuilder {
        let path = format!("/api/v1/agents/{}/next", self.agent);
        hub.request("POST", &path).bearer_auth(&self.agent_key).json(&json!({"wait_seconds": wait_seconds}))
    }

    /// The agent says something about an attempt.
    pub(crate) fn says(&self, hub: &TestHub, claimed: &Value, verb: &str, body: Value) -> RequestBuilder {
        says(hub, &self.agent_key, claimed, verb, body)
    }

    /// The attempt, as everybody sees it.
    pub(crate) async fn execution(&self, hub: &TestHub, claimed: &Value) -> Value {
        let path = format!("/api/v1/executions/{}", claimed["execution_id"].as_str().unwrap());
        get(hub, &self.author, &path).await
    }

    /// The task once it is in this state.
    pub(crate) async fn until(&self, hub: &TestHub, task: &Value, state: &str) -> Value {
        eventually(state, async || Some(self.task(hub, task).await).filter(|task| task["state"] == state))
            .await
    }
}

/// Somebody says something about an attempt.
pub(crate) fn says(hub: &TestHub, key: &str, claimed: &Value, verb: &str, body: Value) -> RequestBuilder {
    let path = format!("/api/v1/executions/{}/{verb}", claimed["execution_id"].as_str().unwrap());
    hub.request("POST", &path).bearer_auth(key).json(&body)
}

/// Nobody works on anything, and nothing is locked.
pub(crate) async fn assert_nothing_is_left(hub: &TestHub) {
    let backdoor = crate::backdoor::Backdoor::open(hub).await;
    let claimed = "resource_claims WHERE exclusive_by IS NOT NULL OR shared_count > 0";
    assert_eq!(backdoor.count(claimed).await, 0, "a claim without an attempt");
    assert_eq!(backdoor.count("executions WHERE ended_at IS NULL").await, 0, "an attempt that nobody ended");
    // Locks go after what ended them is durable.
    eventually("the last lock's end", async || {
        let locks = get(hub, &hub.admin_key, "/api/v1/locks").await["items"].clone();
        (locks == json!([])).then_some(())
    })
    .await;
    assert_eq!(backdoor.count(WITHOUT_A_START).await, 0, "an attempt whose Grant does not know of it");
}

/// Attempts that were not taken from their Grant, or that began twice.
const WITHOUT_A_START: &str = "grants WHERE attempts_started <> (SELECT count(*) FROM executions WHERE \
    executions.grant_id = grants.id AND executions.purpose = 'apply')";
