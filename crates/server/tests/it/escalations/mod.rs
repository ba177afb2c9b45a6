//! Time that is over, over HTTP: who is asked next, what comes in the end, and who is told.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestHub;

use crate::delegations::{Person, asks, somebody, state};
use crate::support::{all_items, eventually, expect, id};

mod levels;
mod month;
mod once;

pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// A policy that asks these people for an hour on each level.
pub(super) async fn hourly(hub: &TestHub, people: &[&Person], levels: &[&[&Person]], said: Value) {
    let ids = |people: &[&Person]| people.iter().map(|person| person.id.clone()).collect::<Vec<_>>();
    let levels: Vec<Vec<Value>> = levels.iter().map(|level| ids(level)).collect();
    let mut rules = json!({"timeout_seconds": 3600, "escalate_to": levels});
    for (name, value) in said.as_object().unwrap() {
        rules[name] = value.clone();
    }
    asks(hub, people, rules).await;
}

/// Moves the clock, and waits until what is due then is done.
pub(super) async fn later(hub: &TestHub, span: Duration) {
    hub.clock.advance(span);
    hub::reviews::escalate_due(&hub.hub).await.unwrap();
}

/// The task once it says so many times that time was over.
pub(super) async fn escalated(hub: &TestHub, person: &Person, task: &Value, times: usize) -> Value {
    eventually("the time to be over", async || {
        let now = state(hub, person, task).await;
        let found = now["review"]["escalations"].as_array().unwrap().len();
        assert!(found <= times, "more than {times}: {now}");
        (found == times).then_some(now)
    })
    .await
}

/// What the log tells of a type about a task, once it tells so many times of it.
pub(super) async fn told(hub: &TestHub, event_type: &str, task: &Value, times: usize) -> Vec<Value> {
    let path = format!("/api/v1/events?types={event_type}&limit=1000");
    eventually("it to be told", async || {
        let page = expect(hub.admin("GET", &path), 200).await.json();
        let about = |event: &&Value| event["payload"]["task_id"] == task["id"];
        let found: Vec<Value> = page["items"].as_array().unwrap().iter().filter(about).cloned().collect();
        assert!(found.len() <= times, "told more than {times} times: {found:?}");
        (found.len() == times).then_some(found)
    })
    .await
}

/// The audit rows of an action about a task.
pub(super) async fn on_record(hub: &TestHub, action: &str, task: &Value) -> Vec<Value> {
    let rows = all_items(hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(task))).await;
    rows.into_iter().filter(|row| row["action"] == action).collect()
}

pub(super) async fn people<const N: usize>(hub: &TestHub, names: [&str; N]) -> [Person; N] {
    let mut all = Vec::new();
    for name in names {
        all.push(somebody(hub, name, if name == "ann" { &["author"] } else { &[] }).await);
    }
    all.try_into().unwrap_or_else(|_| panic!("as many as names"))
}
