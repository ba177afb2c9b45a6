//! `kill -9` in the middle of applying: between claim, locks, gate, answer, heartbeat, output, report and release. What
//! was answered is true, no attempt begins twice, none is half there, and whoever worked goes on after the restart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use client::{Client, ClientError};
use serde_json::json;
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{AppendOutput, ClaimedTask, CompleteExecution, FailExecution, NextTask};

use crate::support::{Crew, Hired, Home, Kind, Served, assert_attempts_are_whole, chance, touching, until};

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
    let crew = Crew::hire(home, served, WORKERS, 3).await;
    let worker = |Hired { id, key }| Worker { agent: id, key, asked: Arc::default() };
    (crew.author, crew.agents.into_iter().map(worker).collect())
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
    let more = json!({"description": format!("by {number}"), "rollback_strategy": "automatic"});
    let task = touching(&[format!("thing-{thing}")], more);
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
    let output = AppendOutput { text: "some\n".into(), ..AppendOutput::default() };
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

/// Nothing here is tried again.
const TWICE: &str = "SELECT CAST(task_id AS TEXT) FROM executions WHERE purpose = 'apply' GROUP BY task_id HAVING count(*) > 1";

async fn assert_whole(home: &Home, told: &Shared) {
    assert_attempts_are_whole(home).await;
    let twice = home.sql(TWICE).await;
    assert!(twice.is_empty(), "tasks that began twice: {twice:?}");
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
