//! What is asked, answered and taken back, one step after the other.

use serde_json::json;
use testkit::on_each_engine;

use super::{answer, asked, config, person, policy, submitted, task};
use crate::support::{all_items, eventually, expect, get, id, refused};

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
async fn a_no_ends_its_own_task_alone() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let [approved, waiting, refused] =
            [submitted(&hub, &author).await, submitted(&hub, &author).await, submitted(&hub, &author).await];
        expect(answer(&hub, &bob, &asked(&hub, &bob, &approved).await, "approve"), 200).await;
        expect(answer(&hub, &bob, &asked(&hub, &bob, &refused).await, "reject"), 200).await;
        for (made, state) in [(&approved, "APPROVED"), (&waiting, "REVIEWING"), (&refused, "REJECTED")] {
            assert_eq!(task(&hub, &author, made).await["state"], state);
        }
    })
    .await;
}
