//! `kill -9` in the middle of applying: between claim, locks, gate, answer, heartbeat, output, report and release. What
//! was answered is true, no attempt begins twice, none is half there, and whoever worked goes on after the restart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use client::{Client, ClientError};
use serde_json::json;
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{
    AppendOutput, ClaimedTask, CompleteExecution, CreateAgent, CreateApiKey, CreateTask, FailExecution,
    NextTask,
};

use crate::support::{Home, Kind, Served, chance, until};

const ROUNDS: usize = 20;
const WORKERS: usize = 6;
const THINGS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_is_whole_or_has_not_begun_on_sqlite() {
    survives(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_is_whole_or_has_not_begun_on_postgres() {
    survives(&Home::on(Kind::Postgres)).await;
}

#[derive(Clone)]
struct Worker {
    agent: Uuid,
    key: String,
    /// The request whose answer may be lost, and how many came before it.
    asked: Arc<Mutex<Option<String>>>,
}

/// What agents were told.
#[derive(Default)]
struct Told {
    begun: Vec<Uuid>,
    completed: Vec<Uuid>,
    count: usize,
}

type Shared = Arc<Mutex<Told>>;

async fn survives(home: &Home) {
    let told = Shared::default();
    let mut crew: Option<(String, Vec<Worker>)> = None;
    for round in 0..scaled(ROUNDS).max(3) {
        if round > 0 {
            home.forget_crash().await;
        }
        let mut served = home.serve().await;
        if crew.is_none() {
            crew = Some(hired(home, &served).await);
        }
        let (author, workers) = crew.as_ref().unwrap();
        go_on(&served, workers, &told).await;
        assert_whole(home, &told).await;
        killed_at_work(&mut served, (author.as_str(), workers.as_slice()), &told).await;
        assert_whole(home, &told).await;
        home.verified(&[]);
    }
    home.forget_crash().await;
    let served = home.serve().await;
    go_on(&served, &crew.unwrap().1, &told).await;
    assert_whole(home, &told).await;
    let left = home.sql("SELECT resource FROM resource_claims WHERE exclusive_by IS NOT NULL").await;
    assert!(left.is_empty(), "claims of attempts that have ended: {left:?}");
}

/// An author whose tasks pass by themselves, and agents.
async fn hired(home: &Home, served: &Served) -> (String, Vec<Worker>) {
    let admin = served.admin();
    let on = json!({"feature:auto_approve_low_risk": "enabled"});
    admin.patch_settings(&serde_json::from_value(on).unwrap()).await.unwrap();
    let pass = json!({"name": "pass", "required_roles": ["reviewer", "admin"], "auto_approve_if": {
        "risk_below": 100, "author_has_role": ["author"], "resources_in_scope": ["db:*"]}});
    admin.create_policy(&serde_json::from_value(pass).unwrap()).await.unwrap();
    let email = "ann@example.org";
    home.as_admin(served, &["account", "create", email, "--name", "Ann", "--role", "author"]).done();
    let author =
        home.as_admin(served, &["key", "mint", "first", "--account", email]).done().trim().to_owned();
    let client = served.client(&author);
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let agent = json!({"name": format!("worker {number}"), "max_tasks": 3});
        let agent: CreateAgent = serde_json::from_value(agent).unwrap();
        let agent = client.create_agent(&agent).await.unwrap().id;
        let key = CreateApiKey { account_id: Some(agent), name: "its".into(), ..CreateApiKey::default() };
        let key = client.create_api_key(&key).await.unwrap().key.unwrap();
        testkit::watch::secret(&key);
        workers.push(Worker { agent, key, asked: Arc::default() });
    }
    (author, workers)
}

/// Many propose and apply at once, until the hub is killed.
async fn killed_at_work(served: &mut Served, (author, workers): (&str, &[Worker]), told: &Shared) {
    let mut at_work = JoinSet::new();
    for number in 0..2 {
        let author = served.client(author);
        at_work.spawn(async move { while proposed(&author, number).await.is_some() {} });
    }
    for worker in workers {
        let (client, worker, told) = (served.client(&worker.key), worker.clone(), Arc::clone(told));
        at_work.spawn(async move { while worked(&client, &worker, &told).await.is_some() {} });
    }
    let enough = told.lock().unwrap().count + 20 + chance(60);
    until("attempts", async || told.lock().unwrap().count >= enough).await;
    served.process.kill();
    at_work.join_all().await;
}

async fn proposed(author: &Client, number: usize) -> Option<()> {
    let thing = chance(THINGS);
    let config = json!({"type": "t", "description": format!("by {number}"), "rollback_strategy": "automatic",
        "resources": [{"type": "db", "id": format!("thing-{thing}")}]});
    let task = CreateTask { config, submit: Some(true), ..CreateTask::default() };
    match author.create_task(&task).await {
        Ok(_) => Some(()),
        // Too many wait already: the agents are slower.
        Err(ClientError::Problem(_)) => {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            Some(())
        }
        Err(_) => None,
    }
}

/// One attempt from its claim to its end; none once the hub is gone.
async fn worked(client: &Client, worker: &Worker, told: &Shared) -> Option<()> {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let key = format!("attempt-{}", ASKED.fetch_add(1, Ordering::Relaxed));
    *worker.asked.lock().unwrap() = Some(key.clone());
    let asked = client.next_task(worker.agent, &NextTask { wait_seconds: Some(1) }, Some(&key)).await;
    let claimed = match asked {
        Ok(claimed) => claimed,
        Err(ClientError::Problem(problem)) => panic!("{problem:?}"),
        Err(_) => return None,
    };
    // Answered: whatever it was is not in doubt.
    *worker.asked.lock().unwrap() = None;
    let Some(claimed) = claimed else { return Some(()) };
    told.lock().unwrap().begun.push(claimed.execution_id);
    reported(client, &claimed, told).await
}

async fn reported(client: &Client, claimed: &ClaimedTask, told: &Shared) -> Option<()> {
    let id = claimed.execution_id;
    let reached = |result: Result<(), ClientError>| match result {
        Ok(()) => Some(()),
        Err(ClientError::Problem(problem)) => panic!("{problem:?}"),
        Err(_) => None,
    };
    reached(client.heartbeat_execution(id).await.map(drop))?;
    let output = AppendOutput { text: "some\n".into(), offset: None };
    reached(client.append_output(id, &output).await.map(drop))?;
    if chance(4) == 0 {
        let no = FailExecution { error: "a bad day".into(), error_details: None };
        reached(client.fail_execution(id, &no, None).await.map(drop))?;
    }
    let done = client.complete_execution(id, &CompleteExecution::default(), None).await;
    reached(done.map(drop))?;
    let mut told = told.lock().unwrap();
    told.completed.push(id);
    told.count += 1;
    Some(())
}

/// After a restart everybody goes on: whose answer was lost asks again, and what was begun is kept and ended.
async fn go_on(served: &Served, workers: &[Worker], told: &Shared) {
    for worker in workers {
        let client = served.client(&worker.key);
        let lost = worker.asked.lock().unwrap().take();
        if let Some(key) = lost {
            let asked = client.next_task(worker.agent, &NextTask { wait_seconds: Some(1) }, Some(&key)).await;
            if let Some(claimed) = asked.unwrap() {
                let mut told = told.lock().unwrap();
                assert!(!told.begun.contains(&claimed.execution_id), "the same attempt for two requests");
                told.begun.push(claimed.execution_id);
            }
        }
    }
    let begun = told.lock().unwrap().begun.clone();
    for id in begun {
        let of = |execution: &wire::Execution, worker: &Worker| execution.agent_id == worker.agent;
        let execution = served.admin().execution(id).await.unwrap();
        if execution.completed_at.is_some() {
            continue;
        }
        let worker = workers.iter().find(|worker| of(&execution, worker)).unwrap();
        let client = served.client(&worker.key);
        client.heartbeat_execution(id).await.expect("its locks outlive the hub");
        client.complete_execution(id, &CompleteExecution::default(), None).await.unwrap();
        told.lock().unwrap().completed.push(id);
    }
}

/// What would be half an attempt, or one too many.
const HALVES: &[(&str, &str)] = &[
    (
        "SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPLYING' EXCEPT SELECT CAST(task_id AS TEXT) FROM \
         executions WHERE ended_at IS NULL AND purpose = 'apply'",
        "APPLYING without an attempt",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE ended_at IS NULL AND purpose = 'apply' EXCEPT \
         SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPLYING'",
        "an attempt of a task that is not APPLYING",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE purpose = 'apply' GROUP BY task_id HAVING count(*) > 1",
        "a task that began twice",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM grants WHERE attempts_started <> (SELECT count(*) FROM executions WHERE \
         executions.grant_id = grants.id)",
        "an attempt that was not taken from its Grant",
    ),
    (
        "SELECT CAST(exclusive_by AS TEXT) FROM resource_claims WHERE exclusive_by IS NOT NULL EXCEPT \
         SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL",
        "a claim of an attempt that has ended",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL EXCEPT \
         SELECT CAST(exclusive_by AS TEXT) FROM resource_claims WHERE exclusive_by IS NOT NULL",
        "an attempt without its claim",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions EXCEPT SELECT subject_id FROM audit_logs WHERE \
         action = 'task:applying'",
        "an attempt that is not on record",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE ended_at IS NOT NULL EXCEPT SELECT subject_id FROM \
         audit_logs WHERE action IN ('task:completed', 'task:failed')",
        "an end that is not on record",
    ),
];

async fn assert_whole(home: &Home, told: &Shared) {
    for (rows, meaning) in HALVES {
        let found = home.sql(rows).await;
        assert!(found.is_empty(), "{meaning}: {found:?}");
    }
    let all = home.sql("SELECT CAST(id AS TEXT) FROM executions").await;
    let ended = home.sql("SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NOT NULL").await;
    let is_in = |rows: &[Vec<String>], id: &Uuid| rows.iter().any(|row| row[0] == id.to_string());
    let told = told.lock().unwrap();
    for id in &told.begun {
        assert!(is_in(&all, id), "{id} was answered and is lost");
    }
    for id in &told.completed {
        assert!(is_in(&ended, id), "{id} was ended, and runs");
    }
}
