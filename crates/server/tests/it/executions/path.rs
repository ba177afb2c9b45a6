//! Submit, approve, apply: the source document's sequence, from the first request to the last event (TEST-18).

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{assert_nothing_is_left, config, stage, with};
use crate::backdoor::Backdoor;
use crate::reviews::{answer, asked};
use crate::support::{all_items, eventually, expect, get, id};

/// The types of all events so far, in order.
async fn told(hub: &TestHub, key: &str, last: &str) -> Vec<String> {
    eventually(last, async || {
        let events = get(hub, key, "/api/v1/events?limit=1000").await["items"].clone();
        let types = events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned());
        Some(types.collect::<Vec<_>>()).filter(|types| types.iter().any(|found| found == last))
    })
    .await
}

#[tokio::test]
async fn submit_approve_apply() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let body = json!({"config": config("prod-db-01")});
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&stage.author).json(&body);
        let made = expect(made, 201).await.json();
        assert_eq!((&made["state"], &made["execution"]), (&json!("DRAFT"), &Value::Null));
        let submit = format!("/api/v1/tasks/{}/submit", id(&made));
        let made = expect(hub.request("POST", &submit).bearer_auth(&stage.author), 202).await.json();
        assert_eq!(made["state"], "REVIEWING");
        let request = asked(&hub, &stage.reviewer, &made).await;
        expect(answer(&hub, &stage.reviewer, &request, "approve"), 200).await;
        assert_eq!(stage.task(&hub, &made).await["state"], "APPROVED");

        let claimed = expect(stage.claim(&hub, &made), 200).await.json();
        assert_eq!(claimed["grant"]["attempt"], 1, "{claimed}");
        assert_eq!(claimed["grant"]["of"], 1);
        assert_eq!(claimed["purpose"], "apply");
        assert_eq!((&claimed["content_hash"], &claimed["config"]), (&made["content_hash"], &made["config"]));
        assert_locked(&hub, &stage.author, &made, &claimed).await;
        let now = stage.task(&hub, &made).await;
        assert_eq!((&now["state"], &now["execution"]["phase"]), (&json!("APPLYING"), &json!("applying")));
        let agent = get(&hub, &stage.author, &format!("/api/v1/agents/{}", stage.agent)).await;
        assert_eq!((&agent["active_tasks"], &agent["status"]), (&json!(1), &json!("active")));

        let heard = expect(stage.says(&hub, &claimed, "heartbeat", json!({})), 200).await.json();
        assert_eq!((&heard["phase"], &heard["heartbeat_interval_seconds"]), (&json!("applying"), &json!(10)));
        let wrote = stage.says(&hub, &claimed, "output", json!({"text": "creating\n"}));
        assert_eq!(expect(wrote, 200).await.json()["output_size"], 9);
        let done = stage.says(&hub, &claimed, "complete", json!({"output": "created\n"}));
        let done = expect(done, 200).await.json();
        assert_eq!(
            (&done["phase"], &done["result"], &done["outcome"]),
            (&json!("ended"), &json!("success"), &json!("known"))
        );
        assert_eq!((&done["output"], &done["output_size"]), (&json!("creating\ncreated\n"), &json!(17)));
        let now = stage.task(&hub, &made).await;
        assert_eq!((&now["state"], &now["status"]), (&json!("COMPLETED"), &json!("completed")));
        assert!(now["metadata"]["completed_at"].is_string() && now["needs_attention"] == false, "{now}");
        assert_nothing_is_left(&hub).await;
        assert_on_record(&hub, &stage.author, &made).await;
    })
    .await;
}

/// The task and what it touches, in the attempt's name.
async fn assert_locked(hub: &TestHub, key: &str, task: &Value, claimed: &Value) {
    let locks = all_items(hub, key, "/api/v1/locks").await;
    let mut keys: Vec<&str> = locks.iter().map(|lock| lock["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    let own = format!("task:{}", id(task));
    assert_eq!(keys, ["resource:database:prod-db-01", &own]);
    assert!(locks.iter().all(|lock| lock["owner"] == claimed["execution_id"]), "{locks:?}");
    let told: Vec<&Value> = claimed["locks"].as_array().unwrap().iter().map(|lock| &lock["key"]).collect();
    assert_eq!(told, ["resource:database:prod-db-01", &own]);
}

async fn assert_on_record(hub: &TestHub, key: &str, task: &Value) {
    let types = told(hub, key, "task:completed").await;
    let place = |wanted: &str| {
        types.iter().position(|found| found == wanted).unwrap_or_else(|| panic!("no {wanted}"))
    };
    let five =
        ["approval:requested", "approval:approved", "task:approved", "lock:acquired", "task:completed"];
    let places: Vec<usize> = five.iter().map(|wanted| place(wanted)).collect();
    assert!(places.is_sorted(), "{types:?}");
    assert!(
        place("task:approved") < place("task:applying") && place("task:applying") < place("task:completed")
    );
    assert_eq!(types.iter().filter(|found| *found == "lock:acquired").count(), 2, "{types:?}");
    assert_eq!(types.iter().filter(|found| *found == "lock:released").count(), 2, "{types:?}");
    let rows = all_items(hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(task))).await;
    let steps: Vec<_> = rows.iter().rev().filter(|row| row["to_state"].is_string()).collect();
    let moves: Vec<_> =
        steps.iter().map(|row| (row["from_state"].as_str(), row["to_state"].as_str().unwrap())).collect();
    assert_eq!(moves[moves.len() - 2..], [(Some("APPROVED"), "APPLYING"), (Some("APPLYING"), "COMPLETED")]);
    let backdoor = Backdoor::open(hub).await;
    let history = "execution_history WHERE task_type = 'infrastructure' AND resource = 'database:prod-db-01' AND \
                   runs = 1 AND failures = 0";
    assert_eq!(backdoor.count(history).await, 1);
}

#[tokio::test]
async fn those_who_wait_for_it_are_free_when_it_is_done() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let first = stage.approved(&hub, config("one")).await;
        let body = json!({"config": config("two"), "depends_on": [first["id"]]});
        let second = stage.approved_as(&hub, body).await;
        assert_eq!((&second["state"], &second["status"]), (&json!("APPROVED"), &json!("blocked")));
        let problem = crate::support::refused(stage.claim(&hub, &second), 409, "BLOCKED").await;
        assert_eq!(problem["blocked_by"][0]["task_id"], first["id"]);
        assert_eq!(expect(stage.next(&hub, 0), 200).await.json()["task_id"], first["id"]);
        expect(stage.next(&hub, 0), 204).await;
        let running = stage.task(&hub, &first).await["execution"].clone();
        let claimed = json!({"execution_id": running["id"]});
        // Whoever waits is told when it is free.
        let (waited, done) = tokio::join!(
            expect(stage.claim_waiting(&hub, &second, 20), 200),
            expect(stage.says(&hub, &claimed, "complete", json!({})), 200)
        );
        assert_eq!(done.json()["result"], "success");
        let second_claim = waited.json();
        assert_eq!(stage.task(&hub, &second).await["status"], "in-progress");
        expect(stage.says(&hub, &second_claim, "complete", json!({})), 200).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_others_carry_out_is_not_taken() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        for kind in ["command", "http", "operation"] {
            let body = json!({"config": with(config("one"), json!({"action": {"kind": kind}}))});
            let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&stage.author).json(&body);
            crate::support::refused(made, 422, "EXECUTOR_DISABLED").await;
        }
    })
    .await;
}
