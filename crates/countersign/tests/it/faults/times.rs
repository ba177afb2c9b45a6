//! The hub is killed while the time of a review is over: whatever was cut off, it is over once.

use futures_util::future::join_all;
use serde_json::json;
use uuid::Uuid;
use wire::CreateTask;

use super::assert_killed;
use super::cases::{Case, TIMES};
use super::scenes::Scene;
use crate::support::{Home, Kind, Served, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_when_time_is_over_on_sqlite() {
    every_time(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_when_time_is_over_on_postgres() {
    every_time(Kind::Postgres).await;
}

/// Side by side, because each takes its time.
async fn every_time(kind: Kind) {
    join_all(TIMES.iter().map(|case| over(case, kind))).await;
}

async fn over(case: &Case, kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let task = propose(case, &home, &served).await;
    served.stop();
    // As long as nobody serves, time goes by. A review without clocks is due when it is looked at.
    home.sql("UPDATE reviews SET clocks = '[]', next_look_at = created_at").await;
    home.sql("UPDATE jobs SET run_at = created_at WHERE kind = 'approvals:escalate'").await;
    let mut process = home.start_until(case.point);
    assert_killed(&mut process, case).await;
    assert_eq!(found(&home, task).await, case.then, "{} ({})", case.point, case.scene.name());
    assert_told_together(&home, case).await;
    home.forget_crash().await;
    // The work of whoever was killed is taken over when their lease is over; nobody waits for that here.
    home.sql("UPDATE jobs SET lease_until = NULL, owner = NULL").await;
    let served = home.serve().await;
    until("its end", async || found(&home, task).await == case.end).await;
    served.stop();
    assert_eq!(found(&home, task).await, case.end, "{} ({})", case.point, case.scene.name());
    assert_told_together(&home, case).await;
    home.verified(&[]);
}

/// An event and what people were told by it are there together, or neither is.
async fn assert_told_together(home: &Home, case: &Case) {
    let orphans = "SELECT event_type FROM notifications WHERE event_id NOT IN (SELECT id FROM events)";
    assert!(home.sql(orphans).await.is_empty(), "{}: told without an event", case.point);
    // Each of these is addressed to one person who is here and did not do it.
    let silent = "SELECT type FROM events WHERE type IN ('approval:requested', 'task:rejected') AND \
                  id NOT IN (SELECT event_id FROM notifications)";
    assert!(home.sql(silent).await.is_empty(), "{}: an event that told nobody", case.point);
    let told = "SELECT event_type FROM notifications WHERE event_type = 'approval:requested'";
    assert!(!home.sql(told).await.is_empty(), "{}: nobody was ever told anything", case.point);
}

/// A task that somebody is asked about, and perhaps somebody else after them.
async fn propose(case: &Case, home: &Home, served: &Served) -> Uuid {
    let people = ["first", "second"].map(|name| join(home, served, name, "reviewer"));
    let levels = match case.scene {
        Scene::Escalation => json!([[people[1]]]),
        _ => json!([]),
    };
    let policy = json!({"name": "timed", "reviewers": [people[0]], "escalate_to": levels});
    served.admin().create_policy(&serde_json::from_value(policy).unwrap()).await.unwrap();
    join(home, served, "author", "author");
    let key = home.as_admin(served, &["key", "mint", "first", "--account", "author@example.org"]).done();
    let config = json!({"type": "t", "description": "d"});
    let task = CreateTask { config, submit: Some(true), ..CreateTask::default() };
    served.client(key.trim()).create_task(&task).await.unwrap().id
}

fn join(home: &Home, served: &Served, name: &str, role: &str) -> Uuid {
    let email = format!("{name}@example.org");
    let made = ["account", "create", &email, "--name", name, "--role", role, "--json"];
    let made = home.as_admin(served, &made).done();
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    made["id"].as_str().unwrap().parse().unwrap()
}

/// What the records say: where the task is, who is asked, and what was told and put on record of it.
async fn found(home: &Home, task: Uuid) -> String {
    let state = home.sql(&format!("SELECT state FROM tasks WHERE id = '{task}'")).await;
    let requests = format!(
        "SELECT accounts.display_name, approvals.status FROM approvals JOIN accounts ON \
         accounts.id = approvals.reviewer_id WHERE task_id = '{task}' ORDER BY accounts.display_name"
    );
    let requests = home.sql(&requests).await;
    let requests: Vec<String> = requests.iter().map(|row| format!("{} {}", row[0], row[1])).collect();
    let told = format!(
        "SELECT type FROM events WHERE type IN ('approval:escalated', 'task:rejected') AND subject_id = '{task}'"
    );
    let rows = format!(
        "SELECT action FROM audit_logs WHERE action IN ('task:escalated', 'task:rejected') AND \
         subject_id = '{task}'"
    );
    let (told, rows) = (home.sql(&told).await.len(), home.sql(&rows).await.len());
    format!("{}; {}; {told} told, {rows} on record", state[0][0], requests.join(", "))
}
