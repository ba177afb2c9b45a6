//! In which order work is handed out, and to whom.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::on_each_engine;

use super::claims::another;
use super::{assert_nothing_is_left, config, stage, with};
use crate::backdoor::Backdoor;
use crate::support::{expect, get, id, mint};

#[tokio::test]
async fn the_head_of_the_queue_then_priority_then_age() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let mut wanted = Vec::new();
        for (name, priority) in [("a", 10), ("b", 90), ("c", 50), ("d", 90), ("e", 0)] {
            let task = stage.approved(&hub, with(config(name), json!({"priority": priority}))).await;
            wanted.push((name, id(&task)));
        }
        let marked = &wanted[4].1;
        Backdoor::open(&hub)
            .await
            .change(&format!("UPDATE tasks SET queue_rank = -1 WHERE id = '{marked}'"))
            .await;
        let queued = get(&hub, &stage.author, &format!("/api/v1/agents/{}", stage.agent)).await;
        assert_eq!(queued["queued_tasks"], 0, "they wait for anybody");
        let mut order = Vec::new();
        for _ in 0..5 {
            let begun = expect(stage.next(&hub, 0), 200).await.json();
            let found = wanted.iter().find(|(_, id)| *id == begun["task_id"]).unwrap();
            order.push(found.0);
            expect(stage.says(&hub, &begun, "complete", json!({})), 200).await;
        }
        assert_eq!(order, ["e", "b", "d", "c", "a"]);
        expect(stage.next(&hub, 0), 204).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn work_goes_to_those_it_is_for() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let made = json!({"name": "labelled", "labels": {"region": "eu"}, "max_tasks": 5});
        let made = hub.request("POST", "/api/v1/agents").bearer_auth(&stage.author).json(&made);
        let labelled = id(&expect(made, 201).await.json());
        let key = mint(&hub, &stage.author, json!({"name": "its", "account_id": labelled})).await.key;
        let next = |agent: &str, key: &str| {
            let path = format!("/api/v1/agents/{agent}/next");
            hub.request("POST", &path).bearer_auth(key).json(&json!({}))
        };
        let for_eu =
            stage.approved(&hub, with(config("one"), json!({"requires_labels": {"region": "eu"}}))).await;
        expect(stage.next(&hub, 0), 204).await;
        let begun = expect(next(&labelled, &key), 200).await.json();
        assert_eq!(begun["task_id"], for_eu["id"]);
        expect(super::says(&hub, &key, &begun, "complete", json!({})), 200).await;
        let assigned =
            stage.approved_as(&hub, json!({"config": config("one"), "assignee": stage.agent})).await;
        expect(next(&labelled, &key), 204).await;
        let queued = get(&hub, &stage.author, &format!("/api/v1/agents/{}", stage.agent)).await;
        assert_eq!((&queued["queued_tasks"], &queued["active_tasks"]), (&json!(1), &json!(0)));
        let begun = expect(stage.next(&hub, 0), 200).await.json();
        assert_eq!(begun["task_id"], assigned["id"]);
        expect(stage.says(&hub, &begun, "complete", json!({})), 200).await;
        // What an agent proposed it applies itself.
        let own = json!({"config": config("one"), "submit": true});
        let own = hub.request("POST", "/api/v1/tasks").bearer_auth(&stage.agent_key).json(&own);
        let own = expect(own, 201).await.json();
        let request = crate::reviews::asked(&hub, &stage.reviewer, &own).await;
        expect(crate::reviews::answer(&hub, &stage.reviewer, &request, "approve"), 200).await;
        expect(next(&labelled, &key), 204).await;
        assert_eq!(expect(stage.next(&hub, 0), 200).await.json()["task_id"], own["id"]);
    })
    .await;
}

#[tokio::test]
async fn whoever_waits_for_work_gets_it_when_it_is_approved() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let since = Instant::now();
        // However the two race, the one who waits learns of it.
        let (begun, task) =
            tokio::join!(expect(stage.next(&hub, 30), 200), stage.approved(&hub, config("one")));
        assert_eq!(begun.json()["task_id"], task["id"]);
        assert!(since.elapsed() < Duration::from_secs(20), "it was told, not found at the end of the wait");
        expect(stage.says(&hub, &begun.json(), "complete", json!({})), 200).await;
        expect(stage.next(&hub, 1), 204).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn two_agents_never_get_one_task() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (second, second_key) =
            another(&hub, &stage.author, json!({"name": "second", "max_tasks": 9})).await;
        for _ in 0..testkit::scaled(30) {
            let task = stage.approved(&hub, config("one")).await;
            let path = format!("/api/v1/agents/{second}/next");
            let other = hub.request("POST", &path).bearer_auth(&second_key).json(&json!({}));
            let (one, two) =
                tokio::join!(crate::support::send(stage.next(&hub, 0)), crate::support::send(other));
            let begun: Vec<Value> =
                [&one, &two].iter().filter(|one| one.status == 200).map(|one| one.json()).collect();
            let [begun] = begun.as_slice() else { panic!("{one:?} {two:?}") };
            assert_eq!(begun["task_id"], task["id"]);
            let key = if one.status == 200 { &stage.agent_key } else { &second_key };
            expect(super::says(&hub, key, begun, "complete", json!({})), 200).await;
        }
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn whoever_was_outrun_looks_further_behind() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let mut agents = Vec::new();
        for name in ["a", "b", "c", "d"] {
            agents.push(another(&hub, &stage.author, json!({"name": name, "max_tasks": 8})).await);
        }
        for number in 0..32 {
            stage.approved(&hub, config(&format!("thing-{number}"))).await;
        }
        // More than are tried in one look, and all of them look at once.
        let asked = agents.iter().flat_map(|agent| std::iter::repeat_n(agent, 8)).map(|(agent, key)| {
            let path = format!("/api/v1/agents/{agent}/next");
            let asked = hub.request("POST", &path).bearer_auth(key).json(&json!({"wait_seconds": 5}));
            async move { (key, expect(asked, 200).await.json()) }
        });
        for (key, begun) in futures_util::future::join_all(asked).await {
            expect(super::says(&hub, key, &begun, "complete", json!({})), 200).await;
        }
        assert_nothing_is_left(&hub).await;
    })
    .await;
}
