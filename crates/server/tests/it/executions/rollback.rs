//! Undoing: by the agent that failed, or by whoever claims it when a person asked.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Stage, assert_nothing_is_left, config, stage, with};
use crate::support::{expect, refused};

fn undone(strategy: &str) -> Value {
    with(config("one"), json!({"rollback_strategy": strategy}))
}

/// A task whose only attempt has failed.
async fn failed(hub: &TestHub, stage: &Stage, strategy: &str) -> (Value, Value, Value) {
    let task = stage.approved(hub, undone(strategy)).await;
    let claimed = expect(stage.claim(hub, &task), 200).await.json();
    let failed = expect(stage.says(hub, &claimed, "fail", json!({"error": "half"})), 200).await.json();
    (task, claimed, failed)
}

#[tokio::test]
async fn the_agent_that_failed_undoes_it() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        for (verb, body, rollback, looks) in
            [("complete", json!({}), "succeeded", false), ("fail", json!({"error": "stuck"}), "failed", true)]
        {
            let (task, claimed, failed) = failed(&hub, &stage, "automatic").await;
            assert_eq!((&failed["phase"], &failed["rollback"]), (&json!("rolling_back"), &json!("running")));
            let now = stage.task(&hub, &task).await;
            assert_eq!(
                (&now["state"], &now["execution"]["phase"]),
                (&json!("APPLYING"), &json!("rolling_back"))
            );
            // Under the claims and locks it has.
            let second = stage.approved(&hub, config("one")).await;
            refused(stage.claim(&hub, &second), 423, "LOCK_HELD").await;
            let heard = expect(stage.says(&hub, &claimed, "heartbeat", json!({})), 200).await.json();
            assert_eq!(heard["phase"], "rolling_back");
            let ended = expect(stage.says(&hub, &claimed, verb, body), 200).await.json();
            assert_eq!((&ended["phase"], &ended["rollback"]), (&json!("ended"), &json!(rollback)));
            assert_eq!(
                (&ended["result"], &ended["error"]),
                (&json!("failure"), &json!("half")),
                "the first word stays"
            );
            let now = stage.task(&hub, &task).await;
            assert_eq!((&now["state"], &now["needs_attention"]), (&json!("FAILED"), &json!(looks)));
            // Once.
            let again = stage.author_asks(&hub, &claimed);
            refused(again, 409, "INVALID_STATE").await;
            let claimed = expect(stage.claim(&hub, &second), 200).await.json();
            expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
            assert_nothing_is_left(&hub).await;
        }
    })
    .await;
}

impl Stage {
    fn author_asks(&self, hub: &TestHub, claimed: &Value) -> testkit::reqwest::RequestBuilder {
        super::says(hub, &self.author, claimed, "rollback", json!({"reason": "half of it is there"}))
    }
}

#[tokio::test]
async fn a_person_has_it_undone_by_whoever_claims_it() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        for (verb, body, rollback, looks) in
            [("complete", json!({}), "succeeded", false), ("fail", json!({"error": "stuck"}), "failed", true)]
        {
            let (task, claimed, ended) = failed(&hub, &stage, "manual").await;
            assert_eq!((&ended["phase"], &ended["rollback"]), (&json!("ended"), &json!("none")));
            assert_eq!(stage.task(&hub, &task).await["needs_attention"], true);
            refused(
                super::says(&hub, &stage.agent_key, &claimed, "rollback", json!({"reason": "x"})),
                403,
                "FORBIDDEN",
            )
            .await;
            refused(
                super::says(&hub, &stage.reviewer, &claimed, "rollback", json!({"reason": "x"})),
                403,
                "FORBIDDEN",
            )
            .await;
            expect(stage.next(&hub, 0), 204).await;
            let asked = expect(stage.author_asks(&hub, &claimed), 202).await.json();
            assert_eq!((&asked["phase"], &asked["rollback"]), (&json!("rolling_back"), &json!("asked")));
            refused(stage.author_asks(&hub, &claimed), 409, "INVALID_STATE").await;
            let begun = expect(stage.next(&hub, 0), 200).await.json();
            assert_eq!((&begun["purpose"], &begun["task_id"]), (&json!("rollback"), &task["id"]));
            assert_ne!(begun["execution_id"], claimed["execution_id"]);
            assert_eq!(stage.execution(&hub, &claimed).await["rollback"], "running");
            refused(stage.claim(&hub, &task), 409, "NOT_APPROVED").await;
            expect(stage.says(&hub, &begun, verb, body), 200).await;
            assert_eq!(stage.execution(&hub, &claimed).await["rollback"], rollback);
            let now = stage.task(&hub, &task).await;
            assert_eq!((&now["state"], &now["needs_attention"]), (&json!("FAILED"), &json!(looks)));
            refused(stage.author_asks(&hub, &claimed), 409, "INVALID_STATE").await;
            assert_nothing_is_left(&hub).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_lost_agent_left_waits_for_a_person() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, undone("automatic")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        hub.clock.advance(Duration::from_secs(36));
        let now = stage.until(&hub, &task, "FAILED").await;
        assert_eq!((&now["execution"]["rollback"], &now["needs_attention"]), (&json!("none"), &json!(true)));
        expect(stage.next(&hub, 0), 204).await;
        expect(stage.author_asks(&hub, &claimed), 202).await;
        let begun = expect(stage.claim(&hub, &task), 200).await.json();
        assert_eq!(begun["purpose"], "rollback");
        // Lost again: nobody undoes it a second time.
        hub.clock.advance(Duration::from_secs(36));
        crate::support::eventually("the rollback's end", async || {
            let found = stage.execution(&hub, &claimed).await;
            (found["rollback"] == "failed").then_some(())
        })
        .await;
        assert_eq!(stage.task(&hub, &task).await["needs_attention"], true);
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_was_not_approved_is_not_undone() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (task, claimed, ended) = failed(&hub, &stage, "none").await;
        assert_eq!(ended["phase"], "ended");
        assert_eq!(stage.task(&hub, &task).await["needs_attention"], false);
        refused(stage.author_asks(&hub, &claimed), 409, "INVALID_STATE").await;
        let done = stage.approved(&hub, undone("manual")).await;
        let claimed = expect(stage.claim(&hub, &done), 200).await.json();
        let problem = refused(stage.author_asks(&hub, &claimed), 409, "INVALID_STATE").await;
        assert_eq!(problem["state"], "APPLYING");
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        refused(stage.author_asks(&hub, &claimed), 409, "INVALID_STATE").await;
    })
    .await;
}
