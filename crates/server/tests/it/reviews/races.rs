//! What happens at once: answers, edits, rules that change.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{answer, asked, config, person, policy, submitted, task};
use crate::backdoor::Backdoor;
use crate::support::{expect, get, id, send};
use crate::ways_to_yes::assert_every_yes_was_said;

#[tokio::test]
async fn many_answers_at_once_are_one_resolution() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let names = ["bob", "eve", "joe", "kim"];
        let reviewers = join_all(names.map(|name| person(&hub, name, &["reviewer"]))).await;
        for round in 0..testkit::scaled(200) {
            let made = submitted(&hub, &author).await;
            let requests = join_all(reviewers.iter().map(|key| asked(&hub, key, &made))).await;
            let votes = reviewers.iter().zip(&requests).enumerate().map(|(place, (key, request))| {
                let verb = if (round + place).is_multiple_of(3) { "reject" } else { "approve" };
                send(answer(&hub, key, request, verb))
            });
            let answers = join_all(votes).await;
            let now = task(&hub, &author, &made).await;
            let (review, state) = (&now["review"], now["state"].as_str().unwrap());
            let taken = answers.iter().filter(|answer| answer.status == 200).count();
            let late = answers.iter().filter(|answer| answer.status == 409).count();
            assert_eq!(
                taken + late,
                answers.len(),
                "{:?}",
                answers.iter().map(|a| a.text()).collect::<Vec<_>>()
            );
            let [yes, no] = ["approved_count", "rejected_count"].map(|name| review[name].as_u64().unwrap());
            assert_eq!(taken as u64, yes + no, "{now}");
            match state {
                "APPROVED" => assert_eq!((yes, no), (2, 0), "{now}"),
                "REJECTED" => assert!(no == 1 && yes < 2, "{now}"),
                _ => panic!("not settled: {now}"),
            }
        }
    })
    .await;
}

/// Whoever answers decides on the bytes they were shown: an edit that comes at the same time is approved with them, or
/// voids all of them.
#[tokio::test]
async fn an_edit_among_answers_voids_all_or_none() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let reviewers = join_all(["bob", "eve"].map(|name| person(&hub, name, &["reviewer"]))).await;
        let mut edited = 0;
        for round in 0..testkit::scaled(100) {
            let made = submitted(&hub, &author).await;
            let requests = join_all(reviewers.iter().map(|key| asked(&hub, key, &made))).await;
            let votes = reviewers
                .iter()
                .zip(&requests)
                .map(|(key, request)| send(answer(&hub, key, request, "approve")));
            let body = json!({"config": config(&format!("Drop the table, round {round}"))});
            let patch = hub.request("PATCH", &format!("/api/v1/tasks/{}", id(&made))).bearer_auth(&author);
            // Whoever is polled first is sent first; what happens then is up to the hub.
            let (votes, edit) = match round % 2 {
                0 => tokio::join!(join_all(votes), send(patch.json(&body))),
                _ => {
                    let (edit, votes) = tokio::join!(send(patch.json(&body)), join_all(votes));
                    (votes, edit)
                }
            };
            let now = task(&hub, &author, &made).await;
            match edit.status.as_u16() {
                200 => {
                    edited += 1;
                    assert_eq!((&now["state"], &now["revision"]), (&json!("REVIEWING"), &json!(2)), "{now}");
                    assert_eq!(now["review"]["approved_count"], 0, "no yes was about these bytes: {now}");
                    assert!(votes.iter().filter(|vote| vote.status == 200).count() < 2, "{now}");
                }
                409 => {
                    assert_eq!(now["state"], "APPROVED", "{now}");
                    assert_eq!(now["content_hash"], made["content_hash"], "what was shown: {now}");
                    assert!(votes.iter().all(|vote| vote.status == 200), "{now}");
                }
                other => panic!("{other}: {}", edit.text()),
            }
        }
        assert!(edited > 0, "no edit came before the answers");
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "edits among answers").await;
    })
    .await;
}

/// A policy that asks one holder of this role.
async fn asks(hub: &TestHub, role: &str) -> Value {
    let body = json!({"name": role, "required_roles": [role], "min_approvers": 1});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await.json()
}

#[tokio::test]
async fn one_policy_is_never_content_for_another() {
    on_each_engine(async |hub| {
        asks(&hub, "dba").await;
        asks(&hub, "security").await;
        let author = person(&hub, "ann", &["author"]).await;
        let dbas = join_all(["bob", "eve"].map(|name| person(&hub, name, &["dba"]))).await;
        let guard = person(&hub, "joe", &["security"]).await;
        for _ in 0..testkit::scaled(100) {
            let made = submitted(&hub, &author).await;
            let requests = join_all(dbas.iter().map(|key| asked(&hub, key, &made))).await;
            let last = asked(&hub, &guard, &made).await;
            let votes =
                dbas.iter().zip(&requests).map(|(key, request)| send(answer(&hub, key, request, "approve")));
            assert!(join_all(votes).await.iter().all(|vote| vote.status == 200), "two yeses of one role");
            let now = task(&hub, &author, &made).await;
            assert_eq!((&now["state"], &now["review"]["approved_count"]), (&json!("REVIEWING"), &json!(2)));
            let all = dbas.iter().zip(&requests).chain([(&guard, &last)]);
            let again = all.map(|(key, request)| send(answer(&hub, key, request, "approve")));
            join_all(again).await;
            let now = task(&hub, &author, &made).await;
            assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("APPROVED"), &json!("quorum")));
        }
    })
    .await;
}

/// A review goes by one version of a policy, whole, however it changes meanwhile.
#[tokio::test]
async fn a_policy_that_changes_while_tasks_come_in_is_pinned_whole() {
    on_each_engine(async |hub| {
        let made = asks(&hub, "dba").await;
        let path = format!("/api/v1/policies/{}", id(&made));
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["dba"]).await;
        let mut pinned = Vec::new();
        for round in 0..testkit::scaled(100) {
            let role = ["dba", "sre"][round % 2];
            let change = json!({"min_approvers": 1 + round % 2, "required_roles": [role]});
            let changed = expect(hub.admin("PATCH", &path).json(&change), 200);
            let (_, task) = tokio::join!(changed, submitted(&hub, &author));
            pinned.push(task["review"]["policies"][0].clone());
        }
        for policy in pinned {
            let then = get(&hub, &hub.admin_key, &format!("{path}?version={}", policy["version"])).await;
            for field in ["min_approvers", "required_roles", "reviewers", "reject_on"] {
                assert_eq!(policy[field], then[field], "{field} of version {}", policy["version"]);
            }
        }
    })
    .await;
}
