//! Attempts that nobody reports on: lost agents, too much time, admins who take a key.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Stage, assert_nothing_is_left, config, stage, with};
use crate::support::{all_items, expect, id, refused};

/// Longer than an agent may be silent: the lease of 30 s, and 5 s more.
const SILENCE: Duration = Duration::from_secs(36);

async fn begun(hub: &TestHub, stage: &Stage, config: Value) -> (Value, Value) {
    let task = stage.approved(hub, config).await;
    let claimed = expect(stage.claim(hub, &task), 200).await.json();
    (task, claimed)
}

#[tokio::test]
async fn a_lost_agent_is_noticed_and_nothing_is_repeated_that_may_not_be() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (task, claimed) = begun(&hub, &stage, config("one")).await;
        hub.clock.advance(SILENCE);
        let now = stage.until(&hub, &task, "FAILED").await;
        assert_eq!(now["needs_attention"], true);
        let ended = &now["execution"];
        assert_eq!((&ended["result"], &ended["outcome"]), (&json!("failure"), &json!("unknown")));
        assert_eq!((&ended["error"], &ended["rollback"]), (&json!("AGENT_LOST"), &json!("none")));
        // It comes back too late, and is told.
        for (verb, body) in
            [("complete", json!({})), ("heartbeat", json!({})), ("fail", json!({"error": "no"}))]
        {
            let problem = refused(stage.says(&hub, &claimed, verb, body), 409, "ATTEMPT_ENDED").await;
            assert_eq!(problem["error"], "AGENT_LOST");
        }
        assert_eq!(stage.task(&hub, &task).await["state"], "FAILED");
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&task))).await;
        assert!(
            rows.iter().any(|row| row["action"] == "task:failed" && row["service"] == "system"),
            "{rows:?}"
        );
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_may_be_repeated_is_begun_again_within_its_number() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let twice = with(config("one"), json!({"idempotent": true, "max_retries": 1}));
        let (task, first) = begun(&hub, &stage, twice).await;
        hub.clock.advance(SILENCE);
        stage.until(&hub, &task, "APPROVED").await;
        let second = expect(stage.claim_waiting(&hub, &task, 20), 200).await.json();
        assert_ne!(second["execution_id"], first["execution_id"]);
        refused(stage.says(&hub, &first, "complete", json!({})), 409, "ATTEMPT_ENDED").await;
        hub.clock.advance(SILENCE);
        let now = stage.until(&hub, &task, "FAILED").await;
        assert_eq!((&now["execution"]["attempt"], &now["needs_attention"]), (&json!(2), &json!(true)));
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn whoever_is_heard_goes_on_until_the_time_is_over() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (task, claimed) = begun(&hub, &stage, with(config("one"), json!({"timeout_seconds": 60}))).await;
        for _ in 0..2 {
            hub.clock.advance(Duration::from_secs(25));
            expect(stage.says(&hub, &claimed, "heartbeat", json!({})), 200).await;
        }
        assert_eq!(stage.task(&hub, &task).await["state"], "APPLYING");
        hub.clock.advance(Duration::from_secs(10));
        refused(stage.says(&hub, &claimed, "heartbeat", json!({})), 409, "ATTEMPT_ENDED").await;
        hub.clock.advance(Duration::from_secs(6));
        let now = stage.until(&hub, &task, "FAILED").await;
        let ended = &now["execution"];
        assert_eq!((&ended["result"], &ended["outcome"]), (&json!("timeout"), &json!("unknown")));
        assert_eq!((&ended["error"], &now["needs_attention"]), (&json!("TIMEOUT"), &json!(true)));
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn an_admin_who_takes_a_key_ends_the_attempt_first() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let often = with(config("one"), json!({"idempotent": true, "max_retries": 5}));
        for key in ["resource:database:one", "task"] {
            let (task, claimed) = begun(&hub, &stage, often.clone()).await;
            let key = if key == "task" { format!("task:{}", id(&task)) } else { key.to_owned() };
            let body = json!({"key": key, "reason": "it hangs"});
            let take =
                |by: &str| hub.request("POST", "/api/v1/locks/force-release").bearer_auth(by).json(&body);
            refused(take(&stage.author), 403, "FORBIDDEN").await;
            expect(take(&hub.admin_key), 200).await;
            let now = stage.task(&hub, &task).await;
            let ended = &now["execution"];
            assert_eq!(
                (&now["state"], &now["needs_attention"]),
                (&json!("FAILED"), &json!(true)),
                "not repeated"
            );
            assert_eq!((&ended["result"], &ended["outcome"]), (&json!("cancelled"), &json!("unknown")));
            assert_eq!(ended["error"], "FORCE_RELEASED");
            refused(stage.says(&hub, &claimed, "complete", json!({})), 409, "ATTEMPT_ENDED").await;
            assert_nothing_is_left(&hub).await;
        }
    })
    .await;
}

/// A hub that was away has heard nobody: whoever worked meanwhile is not lost.
#[tokio::test]
async fn an_agent_that_could_not_be_heard_is_not_lost() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (task, claimed) = begun(&hub, &stage, config("one")).await;
        hub.clock.advance(Duration::from_secs(20));
        let path = format!("/api/v1/executions/{}", claimed["execution_id"].as_str().unwrap());
        let before = crate::support::get(&hub, &stage.author, &path).await;
        expect(stage.says(&hub, &claimed, "heartbeat", json!({})), 200).await;
        hub.clock.advance(Duration::from_secs(20));
        expect(stage.says(&hub, &claimed, "heartbeat", json!({})), 200).await;
        let after = crate::support::get(&hub, &stage.author, &path).await;
        assert!(before["lease_until"].as_str() < after["lease_until"].as_str());
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        assert_eq!(stage.task(&hub, &task).await["state"], "COMPLETED");
    })
    .await;
}
