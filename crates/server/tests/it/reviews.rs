//! Reviews over HTTP: who is asked, what answers amount to, and what keeps them from being taken.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, eventually, expect, get, id, refused, send};

/// A member with these roles, who minted a key of their own: what an admin minted counts as that admin.
async fn person(hub: &TestHub, name: &str, roles: &[&str]) -> String {
    let enrolled = hub.member_with(&hub.admin_key, name, roles).await;
    let minted = hub.request("POST", "/api/v1/api-keys").bearer_auth(&enrolled).json(&json!({"name": "own"}));
    let key = expect(minted, 201).await.json()["key"].as_str().unwrap().to_owned();
    testkit::watch::secret(&key);
    key
}

fn config(description: &str) -> Value {
    json!({"type": "infrastructure", "description": description,
           "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]})
}

async fn submitted(hub: &TestHub, author: &str) -> Value {
    let body = json!({"config": config("Add an index"), "submit": true});
    let made = expect(hub.request("POST", "/api/v1/tasks").bearer_auth(author).json(&body), 201).await.json();
    assert_eq!(made["state"], "REVIEWING", "{made}");
    made
}

async fn task(hub: &TestHub, key: &str, task: &Value) -> Value {
    get(hub, key, &format!("/api/v1/tasks/{}", id(task))).await
}

/// The request to whoever has this key.
async fn asked(hub: &TestHub, key: &str, about: &Value) -> Value {
    let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(about));
    let items = all_items(hub, key, &path).await;
    let [one] = items.as_slice() else { panic!("one request: {items:?}") };
    one.clone()
}

fn answer(hub: &TestHub, key: &str, request: &Value, verb: &str) -> RequestBuilder {
    let path = format!("/api/v1/approvals/{}/{verb}", id(request));
    let body = json!({"content_hash": request["content_hash"], "reason": "because"});
    hub.request("POST", &path).bearer_auth(key).json(&body)
}

/// A policy that asks for so many reviewers.
async fn policy(hub: &TestHub, min_approvers: u32, reject_on: &str) {
    let body = json!({"name": format!("all {min_approvers} {reject_on}"), "min_approvers": min_approvers,
                      "required_roles": ["reviewer"], "reject_on": reject_on});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}

#[tokio::test]
async fn a_yes_of_somebody_else_approves() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author", "reviewer"]).await;
        let reviewer = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let review = &made["review"];
        assert_eq!((&review["required_count"], &review["reachable"]), (&json!(1), &json!(true)), "{review}");
        assert!(review["missing"][0].as_str().unwrap().contains("1 more person"), "{review}");
        let none = all_items(&hub, &author, "/api/v1/approvals?reviewer=me").await;
        assert!(none.is_empty(), "nobody is asked about their own work: {none:?}");
        let request = asked(&hub, &reviewer, &made).await;
        assert_eq!(request["content_hash"], made["content_hash"]);
        let answered = expect(answer(&hub, &reviewer, &request, "approve"), 200).await.json();
        assert_eq!(
            (&answered["status"], &answered["response_action"]),
            (&json!("APPROVED"), &json!("approve"))
        );
        let approved = task(&hub, &author, &made).await;
        assert_eq!(
            (&approved["state"], &approved["review"]["resolution"]),
            (&json!("APPROVED"), &json!("quorum"))
        );
        assert!(approved["metadata"]["approved_at"].is_string());
        let others = all_items(&hub, &author, &format!("/api/v1/tasks/{}/approvals", id(&made))).await;
        let open = others.iter().filter(|one| one["status"] == "PENDING").count();
        assert_eq!(open, 0, "the others are told that nobody waits for them: {others:?}");
    })
    .await;
}

#[tokio::test]
async fn every_step_is_on_record_and_told() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let reviewer = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let request = asked(&hub, &reviewer, &made).await;
        expect(answer(&hub, &reviewer, &request, "approve"), 200).await;
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        let steps: Vec<String> = rows
            .iter()
            .rev()
            .filter(|row| row["to_state"].is_string() && row["subject"]["type"] == "task")
            .map(|row| {
                format!("{} {} {}", row["action"].as_str().unwrap(), row["from_state"], row["to_state"])
            })
            .collect();
        let right = [
            "task:created null \"DRAFT\"",
            "task:submitted \"DRAFT\" \"SUBMITTED\"",
            "task:review_began \"SUBMITTED\" \"REVIEWING\"",
            "task:approved \"REVIEWING\" \"APPROVED\"",
        ];
        assert_eq!(steps, right);
        let wanted = [
            "task:created",
            "task:submitted",
            "task:state_changed",
            "approval:requested",
            "approval:approved",
            "approval:superseded",
            "task:approved",
        ];
        eventually("every event", async || {
            let events = get(&hub, &hub.admin_key, "/api/v1/events?types=task:*,approval:*").await;
            let events = events["items"].as_array().unwrap().clone();
            let is_told = |wanted: &&str| events.iter().any(|event| event["type"] == **wanted);
            wanted.iter().all(is_told).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn what_is_not_taken() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author", "reviewer"]).await;
        let [bob, eve] = [person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await];
        let enrolled = hub.member_with(&hub.admin_key, "new", &["reviewer"]).await;
        let theirs =
            hub.admin("POST", "/api/v1/tasks").json(&json!({"config": config("Own"), "submit": true}));
        let admins = expect(theirs, 201).await.json();
        let request = asked(&hub, &enrolled, &admins).await;
        refused(answer(&hub, &enrolled, &request, "approve"), 403, "SELF_APPROVAL").await;
        let made = submitted(&hub, &author).await;
        let request = asked(&hub, &bob, &made).await;
        refused(answer(&hub, &eve, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        refused(answer(&hub, &hub.admin_key, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        refused(answer(&hub, &author, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        let path = format!("/api/v1/approvals/{}/approve", id(&request));
        let stale = json!({"content_hash": format!("sha256:{}", "0".repeat(64))});
        let problem =
            refused(hub.request("POST", &path).bearer_auth(&bob).json(&stale), 409, "STALE_CONTENT").await;
        assert_eq!(problem["content_hash"], made["content_hash"]);
        assert_eq!(problem["review_hash"], made["review"]["review_hash"]);
        let other = json!({"content_hash": made["content_hash"], "review_hash": stale["content_hash"]});
        refused(hub.request("POST", &path).bearer_auth(&bob).json(&other), 409, "STALE_CONTENT").await;
        let no_reason = json!({"content_hash": made["content_hash"]});
        let reject = format!("/api/v1/approvals/{}/reject", id(&request));
        refused(hub.request("POST", &reject).bearer_auth(&bob).json(&no_reason), 422, "VALIDATION_FAILED")
            .await;
        expect(answer(&hub, &bob, &request, "reject"), 200).await;
        let late = asked(&hub, &eve, &made).await;
        let problem = refused(answer(&hub, &eve, &late, "approve"), 409, "ALREADY_RESOLVED").await;
        assert_eq!(problem["resolution"], "rejected");
    })
    .await;
}

#[tokio::test]
async fn an_edit_voids_what_was_answered() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let [bob, eve] = [person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await];
        let made = submitted(&hub, &author).await;
        let first = asked(&hub, &bob, &made).await;
        expect(answer(&hub, &bob, &first, "approve"), 200).await;
        let path = format!("/api/v1/tasks/{}", id(&made));
        let edit = json!({"config": config("Add another index")});
        let edited = expect(hub.request("PATCH", &path).bearer_auth(&author).json(&edit), 200).await.json();
        assert_eq!((&edited["state"], &edited["revision"]), (&json!("REVIEWING"), &json!(2)));
        assert_eq!(edited["review"]["approved_count"], 0);
        assert_ne!(edited["review"]["review_hash"], made["review"]["review_hash"]);
        refused(answer(&hub, &bob, &first, "approve"), 409, "ALREADY_RESOLVED").await;
        let pending = format!("/api/v1/approvals?reviewer=me&status=PENDING&task_id={}", id(&made));
        for (key, is_last) in [(&bob, false), (&eve, true)] {
            let [request] = all_items(&hub, key, &pending).await.try_into().unwrap();
            assert_eq!(request["content_hash"], edited["content_hash"]);
            expect(answer(&hub, key, &request, "approve"), 200).await;
            let now = task(&hub, &author, &made).await;
            assert_eq!(now["state"] == "APPROVED", is_last);
        }
    })
    .await;
}

#[tokio::test]
async fn requested_changes_bring_it_back_and_it_comes_again() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let request = asked(&hub, &bob, &made).await;
        let said = expect(answer(&hub, &bob, &request, "request-changes"), 200).await.json();
        assert_eq!(
            (&said["status"], &said["response_action"]),
            (&json!("REJECTED"), &json!("request_changes"))
        );
        let back = task(&hub, &author, &made).await;
        assert_eq!(
            (&back["state"], &back["review"]["resolution"]),
            (&json!("DRAFT"), &json!("changes_requested"))
        );
        let path = format!("/api/v1/tasks/{}/submit", id(&made));
        let again = expect(hub.request("POST", &path).bearer_auth(&author), 202).await.json();
        assert_eq!(again["state"], "REVIEWING");
        refused(hub.request("POST", &path).bearer_auth(&author), 409, "INVALID_STATE").await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_role_takes_its_vote_along() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let [bob, eve] = [person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await];
        let made = submitted(&hub, &author).await;
        let request = asked(&hub, &bob, &made).await;
        expect(answer(&hub, &bob, &request, "approve"), 200).await;
        let me = get(&hub, &bob, "/api/v1/me").await;
        let org = id(&me["organization"]);
        let seat = format!("/api/v1/organizations/{org}/members/{}", id(&me["account"]));
        expect(hub.admin("PATCH", &seat).json(&json!({"roles": []})), 200).await;
        let now = task(&hub, &author, &made).await;
        assert_eq!(now["review"]["reachable"], false, "one reviewer is left, and two must agree: {now}");
        let last = asked(&hub, &eve, &made).await;
        expect(answer(&hub, &eve, &last, "approve"), 200).await;
        assert_eq!(task(&hub, &author, &made).await["state"], "REVIEWING");
        refused(answer(&hub, &bob, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
    })
    .await;
}

#[tokio::test]
async fn nobody_to_ask_is_not_a_yes() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let dba = json!({"name": "dba", "required_roles": ["dba"], "min_approvers": 1});
        expect(hub.admin("POST", "/api/v1/policies").json(&dba), 201).await;
        let made = submitted(&hub, &author).await;
        assert_eq!(
            (&made["review"]["reachable"], &made["review"]["pending_count"]),
            (&json!(false), &json!(0))
        );
        assert!(made["review"]["missing"][0].as_str().unwrap().contains("nobody is left"), "{made}");
        let told = eventually("that nobody was told", async || {
            let events = get(&hub, &hub.admin_key, "/api/v1/events?types=approval:nobody_told").await;
            Some(events["items"].as_array().unwrap().len()).filter(|count| *count > 0)
        });
        assert_eq!(told.await, 1);
        // An admin can take part.
        let admin = person(&hub, "adm", &["admin"]).await;
        let join = format!("/api/v1/tasks/{}/join-review", id(&made));
        refused(hub.request("POST", &join).bearer_auth(&author), 403, "FORBIDDEN").await;
        let request = expect(hub.request("POST", &join).bearer_auth(&admin), 200).await.json();
        let again = expect(hub.request("POST", &join).bearer_auth(&admin), 200).await.json();
        assert_eq!(id(&request), id(&again));
        expect(answer(&hub, &admin, &request, "approve"), 200).await;
        assert_eq!(task(&hub, &author, &made).await["state"], "APPROVED");
    })
    .await;
}

#[tokio::test]
async fn a_yes_can_be_taken_back_and_a_task_given_up() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let withdraw = format!("/api/v1/tasks/{}/withdraw-approval", id(&made));
        let why = json!({"reason": "I was wrong"});
        refused(hub.request("POST", &withdraw).bearer_auth(&bob).json(&why), 403, "FORBIDDEN").await;
        let request = asked(&hub, &bob, &made).await;
        expect(answer(&hub, &bob, &request, "approve"), 200).await;
        refused(hub.request("POST", &withdraw).bearer_auth(&author).json(&why), 403, "FORBIDDEN").await;
        let back = expect(hub.request("POST", &withdraw).bearer_auth(&bob).json(&why), 200).await.json();
        assert_eq!(
            (&back["state"], &back["review"]["resolution"]),
            (&json!("REJECTED"), &json!("withdrawn"))
        );
        let resubmit = format!("/api/v1/tasks/{}/resubmit", id(&made));
        let again =
            expect(hub.request("POST", &resubmit).bearer_auth(&author).json(&json!({})), 201).await.json();
        assert_eq!((&again["state"], &again["resubmitted_from"]), (&json!("DRAFT"), &made["id"]));
        assert_eq!(again["content_hash"], made["content_hash"]);
        let cancel = format!("/api/v1/tasks/{}/cancel", id(&again));
        let gone = expect(hub.request("POST", &cancel).bearer_auth(&author).json(&why), 200).await.json();
        assert_eq!(gone["state"], "CANCELLED");
        refused(hub.request("POST", &cancel).bearer_auth(&author).json(&why), 409, "INVALID_STATE").await;
    })
    .await;
}

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

#[tokio::test]
async fn an_agent_does_not_learn_its_score() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        let at_risk = json!({"name": "risky", "required_roles": ["reviewer"], "risk_threshold": 1});
        expect(hub.admin("POST", "/api/v1/policies").json(&at_risk), 201).await;
        let agent = json!({"name": "worker"});
        let agent =
            expect(hub.request("POST", "/api/v1/agents").bearer_auth(&author).json(&agent), 201).await;
        let wanted = json!({"name": "its", "account_id": agent.json()["id"]});
        let minted = hub.request("POST", "/api/v1/api-keys").bearer_auth(&author).json(&wanted);
        let key = expect(minted, 201).await.json()["key"].as_str().unwrap().to_owned();
        testkit::watch::secret(&key);
        let made = submitted(&hub, &key).await;
        assert!(made["risk"].get("score").is_none() && made["risk"]["level"].is_string(), "{made}");
        assert_eq!(made["review"]["policies"][0]["because"], json!([]));
        let people_see = task(&hub, &author, &made).await;
        let score = people_see["risk"]["score"].to_string();
        let because = people_see["review"]["policies"][0]["because"].to_string();
        assert!(because.contains(&score), "{because} names {score}");
    })
    .await;
}

/// A policy that lets small risks of authors pass.
async fn lets_pass(hub: &TestHub) {
    let body = json!({"name": "small", "required_roles": ["reviewer"], "auto_approve_if": {
        "risk_below": 100, "author_has_role": ["author"], "resources_in_scope": ["database:*"]}});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}

#[tokio::test]
async fn what_every_policy_lets_pass_is_approved_and_says_why() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        lets_pass(&hub).await;
        submitted(&hub, &author).await;
        let on = json!({"feature:auto_approve_low_risk": "enabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&on), 200).await;
        let body = json!({"config": config("Small"), "submit": true});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&author).json(&body);
        let made = expect(create, 201).await.json();
        assert_eq!((&made["state"], &made["review"]["resolution"]), (&json!("APPROVED"), &json!("auto")));
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        let of = |action: &str| rows.iter().find(|row| row["action"] == action).unwrap()["details"].clone();
        assert_eq!(of("task:review_began")["policies"][0]["version"], 1, "{rows:?}");
        assert_eq!(of("task:approved")["content_hash"], made["content_hash"]);
        let off = json!({"feature:auto_approve_low_risk": "disabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&off), 200).await;
        submitted(&hub, &author).await;
    })
    .await;
}

#[tokio::test]
async fn whoever_had_a_hand_in_it_is_never_asked() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author", "reviewer"]).await;
        let boss = person(&hub, "boss", &["admin"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let request = asked(&hub, &bob, &made).await;
        expect(answer(&hub, &bob, &request, "reject"), 200).await;
        // The admin makes it anew: its bytes are still Ann's.
        let path = format!("/api/v1/tasks/{}/resubmit", id(&made));
        let again = hub.request("POST", &path).bearer_auth(&boss).json(&json!({}));
        let again = expect(again, 201).await.json();
        let submit = format!("/api/v1/tasks/{}/submit", id(&again));
        expect(hub.request("POST", &submit).bearer_auth(&boss), 202).await;
        let about = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&again));
        assert!(all_items(&hub, &ann, &about).await.is_empty(), "Ann wrote it");
        assert!(all_items(&hub, &boss, &about).await.is_empty(), "and the admin handed it in");
        asked(&hub, &bob, &again).await;
        // Who points a draft at somebody had a hand in it too.
        let body = json!({"config": config("Draft")});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&ann).json(&body);
        let draft = expect(create, 201).await.json();
        let me = get(&hub, &boss, "/api/v1/me").await;
        let patch = hub.request("PATCH", &format!("/api/v1/tasks/{}", id(&draft))).bearer_auth(&boss);
        expect(patch.json(&json!({"assignee": me["account"]["id"]})), 200).await;
        let submit = format!("/api/v1/tasks/{}/submit", id(&draft));
        expect(hub.request("POST", &submit).bearer_auth(&ann), 202).await;
        let about = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&draft));
        assert!(all_items(&hub, &boss, &about).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_task_that_waits_for_another_than_before_is_reviewed_anew() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let ann = person(&hub, "ann", &["author"]).await;
        let [bob, eve] = [person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await];
        let first = submitted(&hub, &ann).await;
        let body = json!({"config": config("After it"), "depends_on": [first["id"]], "submit": true});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&ann).json(&body);
        let waiting = expect(create, 201).await.json();
        assert_eq!(waiting["status"], "blocked");
        let request = asked(&hub, &bob, &waiting).await;
        expect(answer(&hub, &bob, &request, "approve"), 200).await;
        let no = asked(&hub, &eve, &first).await;
        expect(answer(&hub, &eve, &no, "reject"), 200).await;
        let path = format!("/api/v1/tasks/{}/resubmit", id(&first));
        let again = hub.request("POST", &path).bearer_auth(&ann).json(&json!({}));
        let again = expect(again, 201).await.json();
        let moved = task(&hub, &ann, &waiting).await;
        assert_eq!(moved["depends_on"], json!([again["id"]]));
        let facts = (&moved["state"], &moved["revision"], &moved["review"]["approved_count"]);
        assert_eq!(facts, (&json!("REVIEWING"), &json!(2), &json!(0)), "the yes was about another plan");
    })
    .await;
}
