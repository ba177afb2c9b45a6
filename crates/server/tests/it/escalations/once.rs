//! However many look at once, a time is over once.

use serde_json::{Value, json};
use testkit::{Engine, on_each_engine, scaled};

use super::{HOUR, escalated, hourly, later, on_record, people, told};
use crate::delegations::{proposes, state};
use crate::support::{expect, id};

const TASKS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_look_at_once_escalate_once() {
    on_each_engine(async |hub| {
        let [ann, bob, carol] = people(&hub, ["ann", "bob", "carol"]).await;
        hourly(&hub, &[&bob], &[&[&carol]], json!({})).await;
        let mut tasks = Vec::new();
        for number in 0..scaled(TASKS).max(6) {
            tasks.push(proposes(&hub, &ann, &format!("db-{number}"), "low").await);
        }
        let mut hubs = vec![hub.hub.clone(); 3];
        if hub.hub.records.engine() == Engine::Postgres {
            hubs.push(hub.twin().await);
        }
        for times in 1..=2 {
            hub.clock.advance(HOUR);
            let mut looking = tokio::task::JoinSet::new();
            for hub in hubs.clone() {
                looking.spawn(async move { hub::reviews::escalate_due(&hub).await.unwrap() });
            }
            looking.join_all().await;
            for task in &tasks {
                escalated(&hub, &ann, task, times).await;
            }
        }
        for task in &tasks {
            assert_eq!(state(&hub, &ann, task).await["review"]["resolution"], "timeout");
            told(&hub, "approval:escalated", task, 2).await;
            told(&hub, "task:rejected", task, 1).await;
            assert_eq!(on_record(&hub, "task:escalated", task).await.len(), 2);
            // Bob's, then Carol's.
            told(&hub, "approval:expired", task, 2).await;
        }
        if let Some(twin) = hubs.get(3) {
            twin.stop().await;
        }
    })
    .await;
}

/// A vote and the end of its time at the same moment: one of them comes first, and the other finds that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vote_in_the_last_moment_counts_or_is_too_late() {
    on_each_engine(async |hub| {
        let [ann, bob] = people(&hub, ["ann", "bob"]).await;
        hourly(&hub, &[&bob], &[], json!({})).await;
        for number in 0..scaled(TASKS).max(6) {
            let made = proposes(&hub, &ann, &format!("db-{number}"), "low").await;
            let request = bob.waits(&hub, &made, "PENDING").await;
            hub.clock.advance(HOUR);
            let vote = bob.says(&hub, &request, "approve").send();
            let (vote, looked) = tokio::join!(vote, hub::reviews::escalate_due(&hub.hub));
            looked.unwrap();
            let counted = vote.unwrap().status().as_u16() == 200;
            let now = state(&hub, &ann, &made).await;
            let right = if counted { json!(["APPROVED", "quorum"]) } else { json!(["REJECTED", "timeout"]) };
            assert_eq!(json!([now["state"], now["review"]["resolution"]]), right, "{now}");
        }
    })
    .await;
}

/// An edit begins a new review, with all its time.
#[tokio::test]
async fn an_edit_begins_the_time_anew() {
    on_each_engine(async |hub| {
        let [ann, bob] = people(&hub, ["ann", "bob"]).await;
        hourly(&hub, &[&bob], &[], json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        later(&hub, HOUR / 2 + HOUR / 4).await;
        let mut config: Value = made["config"].clone();
        config["description"] = json!("Add two indexes");
        let path = format!("/api/v1/tasks/{}", id(&made));
        expect(ann.ask(&hub, "PATCH", &path).json(&json!({"config": config})), 200).await;
        later(&hub, HOUR / 2).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "REVIEWING");
        later(&hub, HOUR / 2).await;
        assert_eq!(escalated(&hub, &ann, &made, 1).await["state"], "REJECTED");
    })
    .await;
}
