//! Thirty days on a clock that is moved, against a plain count of what must have happened by then.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::on_each_engine;

use super::{HOUR, later, on_record, people, told};
use crate::delegations::{Person, asks, proposes, state};
use crate::support::expect;

const DAYS: u32 = 30;
const STEP_HOURS: u32 = 6;
const LEVELS: u32 = 9;
/// How long people have on each level, in hours, and what comes after the last.
const POLICIES: [(u32, &str); 4] = [(12, "park"), (24, "deny"), (48, "deny"), (120, "deny")];

#[tokio::test]
async fn thirty_days_of_escalations() {
    on_each_engine(async |hub| {
        let [ann, bob, carol, dave] = people(&hub, ["ann", "bob", "carol", "dave"]).await;
        let long = json!({"approval:max_timeout": 30 * 24 * 3600});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&long), 200).await;
        let others = [&carol, &dave];
        let mut tasks = Vec::new();
        for (hours, on_timeout) in POLICIES {
            let levels: Vec<Value> =
                (0..LEVELS).map(|level| json!([others[level as usize % 2].id])).collect();
            let resource = format!("of-{hours}");
            let rules = json!({"name": resource, "resource_patterns": [resource], "escalate_to": levels,
                               "timeout_seconds": hours * 3600, "on_timeout": on_timeout});
            asks(&hub, &[&bob], rules).await;
            tasks.push((proposes(&hub, &ann, &resource, "low").await, hours, on_timeout));
        }
        for step in 1..=DAYS * 24 / STEP_HOURS {
            later(&hub, STEP_HOURS * HOUR).await;
            for (task, hours, on_timeout) in &tasks {
                assert_at(&state(&hub, &ann, task).await, (step * STEP_HOURS, *hours, on_timeout));
            }
        }
        for (task, hours, on_timeout) in &tasks {
            let over = (DAYS * 24 / hours).min(LEVELS + 1) as usize;
            told(&hub, "approval:escalated", task, over).await;
            let rows = on_record(&hub, "task:escalated", task).await.len();
            assert_eq!(rows, over, "each exactly once: {hours} h, {on_timeout}");
        }
        one_at_a_time(&hub, [&bob, &carol, &dave], &tasks[0].0).await;
    })
    .await;
}

/// So many hours after it began.
fn assert_at(now: &Value, (passed, hours, on_timeout): (u32, u32, &str)) {
    let times = passed / hours;
    let review = &now["review"];
    let over = review["escalations"].as_array().unwrap();
    assert_eq!(over.len() as u32, times.min(LEVELS + 1), "after {passed} h of {hours} h: {now}");
    assert_eq!(review["policies"][0]["level"], times.min(LEVELS), "after {passed} h of {hours} h");
    let is_over = times > LEVELS;
    let resolution = if is_over && on_timeout == "deny" { json!("timeout") } else { json!(null) };
    assert_eq!(review["resolution"], resolution, "after {passed} h of {hours} h: {now}");
    assert_eq!(review["pending_count"], u32::from(resolution.is_null()), "one is asked at a time: {now}");
}

/// Whoever was asked last still waits, and nobody else.
async fn one_at_a_time(hub: &testkit::TestHub, people: [&Person; 3], parked: &Value) {
    hub.clock.advance(Duration::from_secs(1));
    let mut statuses = Vec::new();
    for person in people {
        statuses.push(person.asked(hub, parked).await[0]["status"].clone());
    }
    assert_eq!(statuses, ["EXPIRED", "PENDING", "EXPIRED"], "nine levels end with Carol");
}
