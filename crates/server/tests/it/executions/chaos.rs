//! Many agents on tasks that are in each other's way: every task ends, no attempt begins twice, no two work on one
//! thing, and nothing is left.

use std::collections::HashMap;
use std::sync::Mutex;

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine, scaled};

use super::{Stage, assert_nothing_is_left, config, says, stage, with};
use crate::backdoor::Backdoor;
use crate::support::{expect, mint, send};

const AGENTS: usize = 50;
const TASKS: usize = 200;
const THINGS: usize = 5;

/// Who works on what, as the agents see it.
#[derive(Default)]
struct Seen {
    at_work: HashMap<String, String>,
    begun: Vec<String>,
}

struct Worker {
    id: String,
    key: String,
}

async fn worker(hub: &TestHub, stage: &Stage, number: usize) -> Worker {
    let body = json!({"name": format!("worker {number}"), "max_tasks": 2});
    let made = hub.request("POST", "/api/v1/agents").bearer_auth(&stage.author).json(&body);
    let id = crate::support::id(&expect(made, 201).await.json());
    let key = mint(hub, &stage.author, json!({"name": "its", "account_id": id})).await.key;
    Worker { id, key }
}

/// Works until there is nothing more to do. Every third attempt of an agent fails.
async fn work(hub: &TestHub, worker: &Worker, seen: &Mutex<Seen>) {
    let mut count = 0;
    loop {
        let path = format!("/api/v1/agents/{}/next", worker.id);
        let next = hub.request("POST", &path).bearer_auth(&worker.key).json(&json!({"wait_seconds": 4}));
        let answer = send(next).await;
        if answer.status == 204 {
            return;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
        let begun = answer.json();
        let things = begin(seen, &begun);
        expect(says(hub, &worker.key, &begun, "heartbeat", json!({})), 200).await;
        end(seen, &things);
        count += 1;
        let (verb, body) = match count % 3 {
            0 => ("fail", json!({"error": "a bad day"})),
            _ => ("complete", json!({"output": "done"})),
        };
        expect(says(hub, &worker.key, &begun, verb, body), 200).await;
    }
}

/// Notes that somebody works; nobody else may on what they have alone.
fn begin(seen: &Mutex<Seen>, begun: &Value) -> Vec<String> {
    let execution = begun["execution_id"].as_str().unwrap().to_owned();
    let mut seen = seen.lock().unwrap();
    assert!(!seen.begun.contains(&execution), "{execution} began twice");
    seen.begun.push(execution.clone());
    let resources = begun["config"]["resources"].as_array().unwrap();
    let things: Vec<String> =
        resources.iter().map(|resource| resource["id"].as_str().unwrap().to_owned()).collect();
    for thing in &things {
        let before = seen.at_work.insert(thing.clone(), execution.clone());
        assert_eq!(before, None, "two at once on {thing}");
    }
    things
}

/// Before it is reported: from then on somebody else may begin.
fn end(seen: &Mutex<Seen>, things: &[String]) {
    let mut seen = seen.lock().unwrap();
    for thing in things {
        seen.at_work.remove(thing);
    }
}

/// A config that touches two of few things, and may be tried again.
fn in_the_way(number: usize) -> Value {
    let thing = |number: usize| json!({"type": "database", "id": format!("thing-{}", number % THINGS)});
    let resources = json!([thing(number), thing(number + 1 + number % (THINGS - 1))]);
    let again = number.is_multiple_of(2);
    with(config("x"), json!({"resources": resources, "idempotent": again, "max_retries": u32::from(again)}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_in_each_others_way() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (agents, tasks) = (scaled(AGENTS).max(5), scaled(TASKS).max(20));
        let workers = join_all((0..agents).map(|number| worker(&hub, &stage, number))).await;
        let mut made = Vec::new();
        for number in 0..tasks {
            made.push(stage.approved(&hub, in_the_way(number)).await);
        }
        let seen = Mutex::new(Seen::default());
        join_all(workers.iter().map(|worker| work(&hub, worker, &seen))).await;
        let backdoor = Backdoor::open(&hub).await;
        let ended = backdoor.count("tasks WHERE state IN ('COMPLETED', 'FAILED')").await;
        assert_eq!(ended as usize, tasks, "every task ends");
        let begun = backdoor.count("executions").await;
        assert_eq!(begun as usize, seen.lock().unwrap().begun.len(), "every attempt had one agent");
        assert_nothing_is_left(&hub).await;
    })
    .await;
}
