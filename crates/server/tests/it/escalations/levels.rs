//! Levels, and what comes after the last.

use serde_json::{Value, json};
use testkit::on_each_engine;

use super::{HOUR, escalated, hourly, later, on_record, people, told};
use crate::backdoor::Backdoor;
use crate::delegations::{proposes, somebody, state};
use crate::reviews::agent;
use crate::support::{expect, id, refused};
use crate::ways_to_yes::assert_every_yes_was_said;

#[tokio::test]
async fn the_next_level_decides() {
    on_each_engine(async |hub| {
        let [ann, bob, carol] = people(&hub, ["ann", "bob", "carol"]).await;
        hourly(&hub, &[&bob], &[&[&carol]], json!({})).await;
        let on_call = json!({"approval:on_call": [bob.id]});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&on_call), 200).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let asked = bob.waits(&hub, &made, "PENDING").await;
        assert_eq!((&asked["priority"], &asked["escalation_level"]), (&json!("NORMAL"), &json!(0)));
        later(&hub, HOUR / 2).await;
        let raised = bob.waits(&hub, &made, "PENDING").await;
        assert_eq!((&raised["priority"], &raised["due_at"]), (&json!("HIGH"), &asked["due_at"]));
        assert_eq!(on_record(&hub, "task:review_raised", &made).await.len(), 1);

        later(&hub, HOUR / 2).await;
        let now = escalated(&hub, &ann, &made, 1).await;
        let step = &now["review"]["escalations"][0];
        assert_eq!(
            (&step["outcome"], &step["level"], &step["to"], &step["policy"]),
            (&json!("escalated"), &json!(1), &json!([carol.id]), &json!("named"))
        );
        assert_eq!((&now["state"], &now["review"]["policies"][0]["level"]), (&json!("REVIEWING"), &json!(1)));
        let hers = carol.waits(&hub, &made, "PENDING").await;
        assert_eq!((&hers["priority"], &hers["escalation_level"]), (&json!("HIGH"), &json!(1)));
        let late = bob.waits(&hub, &made, "EXPIRED").await;
        refused(bob.says(&hub, &late, "approve"), 409, "ALREADY_RESOLVED").await;
        let told = told(&hub, "approval:escalated", &made, 1).await;
        assert_eq!(
            (&told[0]["payload"]["to"], &told[0]["payload"]["on_call"]),
            (&json!([carol.id]), &json!([bob.id]))
        );
        let rows = on_record(&hub, "task:escalated", &made).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (&rows[0]["service"], &rows[0]["details"]["expired"]),
            (&json!("system"), &json!([bob.id]))
        );

        expect(carol.says(&hub, &hers, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
        later(&hub, 3 * HOUR).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED", "what is settled is left alone");
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "an escalation").await;
    })
    .await;
}

/// Nobody rejected it, and nothing says that somebody did.
#[tokio::test]
async fn after_the_last_level_an_agent_is_told_of_a_timeout() {
    on_each_engine(async |hub| {
        let [ann, bob, carol, dave] = people(&hub, ["ann", "bob", "carol", "dave"]).await;
        let (_, key) = agent(&hub, &ann.key).await;
        hourly(&hub, &[&bob], &[&[&carol], &[&dave]], json!({})).await;
        let config = json!({"type": "infrastructure", "description": "Add an index"});
        let body = json!({"config": config, "submit": true});
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&key).json(&body);
        let made = expect(made, 201).await.json();
        for times in 1..=3 {
            later(&hub, HOUR).await;
            escalated(&hub, &ann, &made, times).await;
        }
        let path = format!("/api/v1/tasks/{}", id(&made));
        let now = expect(hub.request("GET", &path).bearer_auth(&key), 200).await.json();
        assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("REJECTED"), &json!("timeout")));
        assert_eq!(now["review"]["rejected_count"], 0, "{now}");
        let outcomes: Vec<&Value> =
            now["review"]["escalations"].as_array().unwrap().iter().map(|step| &step["outcome"]).collect();
        assert_eq!(outcomes, ["escalated", "escalated", "denied"]);
        for person in [&bob, &carol, &dave] {
            let theirs = person.waits(&hub, &made, "EXPIRED").await;
            assert_eq!((&theirs["response_action"], &theirs["reviewed_by"]), (&json!(null), &json!(null)));
        }
        let ended = told(&hub, "task:rejected", &made, 1).await;
        assert_eq!(
            (&ended[0]["payload"]["resolution"], &ended[0]["actor"]),
            (&json!("timeout"), &json!(null))
        );
        told(&hub, "approval:rejected", &made, 0).await;
        let rows = on_record(&hub, "task:rejected", &made).await;
        assert_eq!(
            (&rows[0]["service"], &rows[0]["details"]["resolution"]),
            (&json!("system"), &json!("timeout"))
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_parked_waits_for_those_who_were_asked_last() {
    on_each_engine(async |hub| {
        let [ann, bob] = people(&hub, ["ann", "bob"]).await;
        hourly(&hub, &[&bob], &[], json!({"on_timeout": "park"})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        later(&hub, HOUR).await;
        let now = escalated(&hub, &ann, &made, 1).await;
        assert_eq!(now["review"]["escalations"][0]["outcome"], "parked");
        let waits = bob.waits(&hub, &made, "PENDING").await;
        assert_eq!((&waits["due_at"], &now["review"]["policies"][0]["due_at"]), (&json!(null), &json!(null)));
        later(&hub, 100 * HOUR).await;
        escalated(&hub, &ann, &made, 1).await;
        expect(bob.says(&hub, &waits, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
    })
    .await;
}

/// Without levels of its own the default policy gives two days, and then says no.
#[tokio::test]
async fn nobody_at_all_is_a_timeout_too() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let body = json!({"name": "nobody", "required_roles": ["dba"], "timeout_seconds": 3600});
        expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        assert_eq!(made["review"]["reachable"], false);
        later(&hub, HOUR).await;
        let now = escalated(&hub, &ann, &made, 1).await;
        assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("REJECTED"), &json!("timeout")));
    })
    .await;
}

#[tokio::test]
async fn a_level_on_leave_has_somebody_else_decide() {
    on_each_engine(async |hub| {
        let [ann, bob, carol] = people(&hub, ["ann", "bob", "carol"]).await;
        let dave = somebody(&hub, "dave", &["reviewer"]).await;
        hourly(&hub, &[&bob], &[&[&carol]], json!({})).await;
        carol.delegates(&hub, &dave, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        later(&hub, HOUR).await;
        escalated(&hub, &ann, &made, 1).await;
        let hers = carol.waits(&hub, &made, "DELEGATED").await;
        assert_eq!(hers["delegated_to"], dave.id);
        let his = dave.waits(&hub, &made, "PENDING").await;
        expect(dave.says(&hub, &his, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
        let other = proposes(&hub, &ann, "b", "low").await;
        later(&hub, HOUR).await;
        dave.waits(&hub, &other, "PENDING").await;
        later(&hub, HOUR).await;
        let now = escalated(&hub, &ann, &other, 2).await;
        assert_eq!(now["review"]["resolution"], "timeout");
        for person in [&bob, &carol, &dave] {
            person.waits(&hub, &other, "EXPIRED").await;
        }
    })
    .await;
}

/// Whoever is suspended, has left or wrote the task is not asked, whatever the list says.
#[tokio::test]
async fn a_level_of_people_who_cannot_decide_is_passed_over() {
    on_each_engine(async |hub| {
        let [ann, bob, carol, dave] = people(&hub, ["ann", "bob", "carol", "dave"]).await;
        hourly(&hub, &[&bob], &[&[&ann, &carol], &[&dave]], json!({})).await;
        let suspend = json!({"status": "suspended"});
        let path = format!("/api/v1/accounts/{}", carol.id.as_str().unwrap());
        expect(hub.admin("PATCH", &path).json(&suspend), 200).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        later(&hub, HOUR).await;
        let now = escalated(&hub, &ann, &made, 1).await;
        let step = &now["review"]["escalations"][0];
        assert_eq!((&step["level"], &step["to"]), (&json!(2), &json!([dave.id])));
        assert!(ann.asked(&hub, &made).await.is_empty());
    })
    .await;
}

/// What somebody said yes to before the time was over still counts for the quorum.
#[tokio::test]
async fn answers_of_the_level_before_count_on() {
    on_each_engine(async |hub| {
        let [ann, bob, carol, dave] = people(&hub, ["ann", "bob", "carol", "dave"]).await;
        hourly(&hub, &[&bob, &carol], &[&[&dave]], json!({"min_approvers": 2})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let his = bob.waits(&hub, &made, "PENDING").await;
        expect(bob.says(&hub, &his, "approve"), 200).await;
        later(&hub, HOUR).await;
        escalated(&hub, &ann, &made, 1).await;
        carol.waits(&hub, &made, "EXPIRED").await;
        let daves = dave.waits(&hub, &made, "PENDING").await;
        expect(dave.says(&hub, &daves, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "an escalation").await;
    })
    .await;
}
