//! What would happen to a task, and that nothing does.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{agent, config, person, policy};
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, refused};

const PATH: &str = "/api/v1/tasks/simulate";

async fn simulated(hub: &TestHub, key: &str, body: &Value) -> Value {
    expect(hub.request("POST", PATH).bearer_auth(key).json(body), 200).await.json()
}

#[tokio::test]
async fn what_is_said_is_what_happens_and_nothing_has_happened() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author", "reviewer"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        let body = json!({"config": config("Add an index"), "submit": true});
        let backdoor = Backdoor::open(&hub).await;
        let trail = async || {
            let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit").await.len();
            let tasks = all_items(&hub, &author, "/api/v1/tasks").await.len();
            let asked = all_items(&hub, &hub.admin_key, "/api/v1/approvals").await.len();
            // What the sealer tells comes whenever it has sealed what was there before.
            let told = backdoor.count("events WHERE type <> 'audit:sealed'").await;
            (rows, tasks, asked, told)
        };
        let before = trail().await;
        let mut said = simulated(&hub, &author, &body).await;
        assert_eq!(trail().await, before, "nothing has happened");
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&author).json(&body);
        let made = expect(create, 201).await.json();
        assert_eq!(said["state"], made["state"]);
        // Time went by in between.
        said["review"]["policies"][0]["due_at"] = made["review"]["policies"][0]["due_at"].clone();
        for field in ["required_count", "pending_count", "reachable", "missing", "policies", "review_hash"] {
            assert_eq!(said["review"][field], made["review"][field], "{field}");
        }
        for field in ["score", "level", "factors", "auto_approvable"] {
            assert_eq!(said["risk"][field], made["risk"][field], "{field}");
        }
        assert_eq!(said["review"]["reachable"], false, "two must say yes and one can be asked: {said}");
        let names: Vec<&Value> =
            said["reviewers"].as_array().unwrap().iter().map(|asked| &asked["reviewer_name"]).collect();
        assert_eq!(names, ["bob@default.example"], "never the author");
        assert_eq!(said["reviewers"][0]["policies"], json!(["all 2 any"]));
        assert_eq!(said["auto_approval"], false);
        assert!(!said["asks_because"].as_array().unwrap().is_empty(), "{said}");
    })
    .await;
}

#[tokio::test]
async fn what_would_be_refused_is() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let none = "0197a000-0000-7000-8000-000000000000";
        for (field, value) in [
            ("depends_on", json!([none])),
            ("project_id", json!(none)),
            ("assignee", json!(none)),
            ("config", json!({"type": "t"})),
            ("slug", json!("Not A Slug")),
        ] {
            let mut body = json!({"config": config("x")});
            body[field] = value;
            let request = hub.request("POST", PATH).bearer_auth(&author).json(&body);
            let problem = refused(request, 422, "VALIDATION_FAILED").await;
            let pointer = problem["errors"][0]["pointer"].as_str().unwrap();
            assert!(pointer.starts_with(&format!("/{field}")), "{problem}");
        }
        let exec = json!({"config": {"type": "t", "description": "d", "action": {"kind": "command"}}});
        refused(hub.request("POST", PATH).bearer_auth(&author).json(&exec), 422, "EXECUTOR_DISABLED").await;
    })
    .await;
}

#[tokio::test]
async fn agents_are_told_the_level_and_the_policies_alone() {
    on_each_engine(async |hub| {
        let at_risk = json!({"name": "risky", "required_roles": ["reviewer"], "risk_threshold": 1});
        expect(hub.admin("POST", "/api/v1/policies").json(&at_risk), 201).await;
        let author = person(&hub, "ann", &["author"]).await;
        let (_, key) = agent(&hub, &author).await;
        let said = simulated(&hub, &key, &json!({"config": config("x")})).await;
        assert_eq!(said["review"]["policies"][0]["name"], "risky");
        assert!(said["risk"]["level"].is_string() && said["risk"].get("score").is_none(), "{said}");
        assert_eq!(
            (&said["asks_because"], &said["review"]["policies"][0]["because"]),
            (&json!([]), &json!([]))
        );
        assert_eq!(said["review"]["review_hash"], Value::Null, "a hundred tries would find the score");
    })
    .await;
}
