//! Reviews as authors and reviewers meet them: handed in, answered, sent back, taken back, joined.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, expect, get, id, items_by, mint, pointers, refused};

/// Somebody with a key that nobody else made: nobody stands behind what they do but they themselves.
async fn person(hub: &TestHub, name: &str, roles: &[&str]) -> String {
    let first = hub.member_with(&hub.admin_key, name, roles).await;
    mint(hub, &first, json!({"name": "own"})).await.key
}

fn post(hub: &TestHub, key: &str, path: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", &format!("/api/v1/{path}")).bearer_auth(key).json(body)
}

/// A task of this author, handed in.
async fn submitted(hub: &TestHub, author: &str) -> Value {
    let body = json!({"config": {"type": "t", "description": "d"}});
    let task = expect(post(hub, author, "tasks", &body), 201).await.json();
    expect(post(hub, author, &format!("tasks/{}/submit", id(&task)), &json!({})), 202).await.json()
}

/// What a reviewer is asked about a task.
async fn asked(hub: &TestHub, reviewer: &str, task: &Value) -> Value {
    let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(task));
    get(hub, reviewer, &path).await["items"][0].clone()
}

fn answer(hub: &TestHub, reviewer: &str, request: &Value, verb: &str) -> RequestBuilder {
    let body = json!({"content_hash": request["content_hash"], "reason": "because"});
    post(hub, reviewer, &format!("approvals/{}/{verb}", id(request)), &body)
}

async fn task(hub: &TestHub, key: &str, task: &Value) -> Value {
    get(hub, key, &format!("/api/v1/tasks/{}", id(task))).await
}

#[tokio::test]
async fn one_yes_settles_what_the_default_policy_asks() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let [rob, ria] = [person(&hub, "rob", &["reviewer"]).await, person(&hub, "ria", &["reviewer"]).await];
        let made = submitted(&hub, &ann).await;
        assert_eq!(made["state"], "REVIEWING");
        let review = &made["review"];
        assert_eq!((&review["required_count"], &review["approved_count"]), (&json!(1), &json!(0)));
        // Two reviewers and the owner, who is an admin.
        assert_eq!((&review["pending_count"], &review["reachable"]), (&json!(3), &json!(true)));
        assert_eq!(review["policies"][0]["required_roles"], json!(["reviewer", "admin"]), "{review}");
        assert!(review["missing"][0].as_str().unwrap().contains("1 more person"), "{review}");
        let request = asked(&hub, &rob, &made).await;
        assert_eq!((&request["status"], &request["kind"]), (&json!("PENDING"), &json!("review")));
        assert_eq!(request["content_hash"], made["content_hash"]);
        assert!(asked(&hub, &ann, &made).await.is_null(), "authors are not asked");
        let answered = expect(answer(&hub, &rob, &request, "approve"), 200).await.json();
        assert_eq!(
            (&answered["status"], &answered["response_action"]),
            (&json!("APPROVED"), &json!("approve"))
        );
        assert_eq!(answered["reviewed_by"], request["reviewer_id"]);
        let approved = task(&hub, &ann, &made).await;
        assert_eq!(
            (&approved["state"], &approved["review"]["resolution"]),
            (&json!("APPROVED"), &json!("quorum"))
        );
        assert_eq!(approved["review"]["quorum_reached"], true);
        assert!(approved["metadata"]["approved_at"].is_string());
        // Nobody waits for the others any more.
        let other = asked(&hub, &ria, &made).await;
        assert_eq!(other["status"], "SUPERSEDED");
        let late = refused(answer(&hub, &ria, &other, "approve"), 409, "ALREADY_RESOLVED").await;
        assert_eq!(late["resolution"], "quorum");
        refused(answer(&hub, &rob, &request, "reject"), 409, "ALREADY_RESOLVED").await;
        let all = all_items(&hub, &ann, &format!("/api/v1/tasks/{}/approvals", id(&made))).await;
        assert_eq!(all.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn whoever_is_not_asked_or_has_a_hand_in_it_does_not_answer() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author", "reviewer"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let request = asked(&hub, &rob, &made).await;
        for stranger in [&ann, &hub.admin_key] {
            refused(answer(&hub, stranger, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        }
        // The owner made this key, and the owner wrote the next task.
        let helped = hub.member_with(&hub.admin_key, "hal", &["reviewer"]).await;
        let owners = submitted(&hub, &hub.admin_key).await;
        let request = asked(&hub, &helped, &owners).await;
        refused(answer(&hub, &helped, &request, "approve"), 403, "SELF_APPROVAL").await;
        let own = mint(&hub, &helped, json!({"name": "own"})).await.key;
        expect(answer(&hub, &own, &request, "approve"), 200).await;
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_about_what_was_read() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let request = asked(&hub, &rob, &made).await;
        let path = format!("approvals/{}/approve", id(&request));
        let other = format!("sha256:{}", "0".repeat(64));
        for body in [
            json!({"content_hash": other}),
            json!({"content_hash": made["content_hash"], "review_hash": other}),
        ] {
            let stale = refused(post(&hub, &rob, &path, &body), 409, "STALE_CONTENT").await;
            assert_eq!(stale["content_hash"], made["content_hash"]);
            assert_eq!(stale["review_hash"], made["review"]["review_hash"]);
        }
        for (body, pointer) in [
            (json!({"content_hash": "md5:0"}), "/content_hash"),
            (json!({"content_hash": "x".repeat(71)}), "/content_hash"),
            (json!({"content_hash": other, "review_hash": "x".repeat(71)}), "/review_hash"),
            (json!({"content_hash": other, "reason": ""}), "/reason"),
            (json!({}), ""),
        ] {
            let problem = refused(post(&hub, &rob, &path, &body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{body}");
        }
        assert_eq!(asked(&hub, &rob, &made).await["status"], "PENDING");
        let right =
            json!({"content_hash": made["content_hash"], "review_hash": made["review"]["review_hash"]});
        expect(post(&hub, &rob, &path, &right), 200).await;
    })
    .await;
}

#[tokio::test]
async fn a_no_ends_it_and_a_wish_sends_it_back() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let request = asked(&hub, &rob, &made).await;
        let silent = json!({"content_hash": made["content_hash"]});
        let path = format!("approvals/{}/reject", id(&request));
        refused(post(&hub, &rob, &path, &silent), 422, "VALIDATION_FAILED").await;
        expect(answer(&hub, &rob, &request, "reject"), 200).await;
        let rejected = task(&hub, &ann, &made).await;
        assert_eq!(
            (&rejected["state"], &rejected["review"]["resolution"]),
            (&json!("REJECTED"), &json!("rejected"))
        );
        let again = format!("tasks/{}/resubmit", id(&made));
        let draft = expect(post(&hub, &ann, &again, &json!({})), 201).await.json();
        assert_eq!((&draft["state"], &draft["resubmitted_from"]), (&json!("DRAFT"), &made["id"]));
        assert_eq!(draft["content_hash"], made["content_hash"]);
        let path = format!("tasks/{}/submit", id(&draft));
        expect(post(&hub, &ann, &path, &json!({})), 202).await;
        let request = asked(&hub, &rob, &draft).await;
        expect(answer(&hub, &rob, &request, "request-changes"), 200).await;
        let back = task(&hub, &ann, &draft).await;
        assert_eq!(
            (&back["state"], &back["review"]["resolution"]),
            (&json!("DRAFT"), &json!("changes_requested"))
        );
        let over = refused(post(&hub, &ann, &again, &json!({"take": 1})), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&over), ["/take"]);
    })
    .await;
}

#[tokio::test]
async fn what_was_approved_can_be_taken_back_and_what_waits_can_be_given_up() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let [rob, ria] = [person(&hub, "rob", &["reviewer"]).await, person(&hub, "ria", &["reviewer"]).await];
        let made = submitted(&hub, &ann).await;
        let why = json!({"reason": "a second thought"});
        let withdraw = format!("tasks/{}/withdraw-approval", id(&made));
        refused(post(&hub, &hub.admin_key, &withdraw, &why), 409, "INVALID_STATE").await;
        expect(answer(&hub, &rob, &asked(&hub, &rob, &made).await, "approve"), 200).await;
        refused(post(&hub, &ria, &withdraw, &why), 403, "FORBIDDEN").await;
        let back = expect(post(&hub, &rob, &withdraw, &why), 200).await.json();
        assert_eq!(
            (&back["state"], &back["review"]["resolution"]),
            (&json!("REJECTED"), &json!("withdrawn"))
        );
        refused(post(&hub, &rob, &withdraw, &why), 409, "INVALID_STATE").await;

        let made = submitted(&hub, &ann).await;
        let cancel = format!("tasks/{}/cancel", id(&made));
        refused(post(&hub, &rob, &cancel, &why), 403, "FORBIDDEN").await;
        let gone = expect(post(&hub, &ann, &cancel, &why), 200).await.json();
        assert_eq!(
            (&gone["state"], &gone["review"]["resolution"]),
            (&json!("CANCELLED"), &json!("superseded"))
        );
        let request = asked(&hub, &rob, &made).await;
        assert_eq!(request["status"], "SUPERSEDED");
        refused(answer(&hub, &rob, &request, "approve"), 409, "ALREADY_RESOLVED").await;
        let reasons = all_items(&hub, &ann, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        assert!(reasons.iter().any(|row| row["reason"] == "a second thought"), "{reasons:?}");
    })
    .await;
}

#[tokio::test]
async fn an_admin_who_came_later_joins_once_and_counts() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let made = submitted(&hub, &ann).await;
        let late = person(&hub, "lea", &["admin"]).await;
        let plain = person(&hub, "mia", &[]).await;
        let path = format!("tasks/{}/join-review", id(&made));
        refused(post(&hub, &plain, &path, &json!({})), 403, "FORBIDDEN").await;
        refused(post(&hub, &ann, &path, &json!({})), 403, "FORBIDDEN").await;
        assert!(asked(&hub, &late, &made).await.is_null());
        let request = expect(post(&hub, &late, &path, &json!({})), 200).await.json();
        assert_eq!(request["status"], "PENDING");
        let again = expect(post(&hub, &late, &path, &json!({})), 200).await.json();
        assert_eq!(again["id"], request["id"]);
        let joined = all_items(&hub, &late, "/api/v1/audit?action=approval:joined").await;
        assert_eq!(joined.len(), 1);
        expect(answer(&hub, &late, &request, "approve"), 200).await;
        assert_eq!(task(&hub, &ann, &made).await["state"], "APPROVED");
        // Whoever wrote it does not join, admin or not.
        let own = submitted(&hub, &late).await;
        let path = format!("tasks/{}/join-review", id(&own));
        refused(post(&hub, &late, &path, &json!({})), 403, "SELF_APPROVAL").await;
    })
    .await;
}

#[tokio::test]
async fn the_queue_and_the_numbers_of_a_reviewer() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        for _ in 0..5 {
            submitted(&hub, &ann).await;
        }
        let waiting = items_by(&hub, &rob, "/api/v1/approvals?reviewer=me&status=PENDING", 2).await;
        assert_eq!(waiting.len(), 5);
        let dues: Vec<&str> = waiting.iter().map(|item| item["due_at"].as_str().unwrap()).collect();
        assert!(dues.is_sorted(), "of equal scores, what is due first: {dues:?}");
        let seen = &waiting[0];
        let path = format!("approvals/{}/acknowledge", id(seen));
        let first = expect(post(&hub, &rob, &path, &json!({})), 200).await.json();
        hub.clock.advance(Duration::from_secs(60));
        let second = expect(post(&hub, &rob, &path, &json!({})), 200).await.json();
        assert!(first["acknowledged_at"].is_string() && first == second);
        refused(post(&hub, &ann, &path, &json!({})), 403, "NOT_YOUR_REVIEW").await;
        expect(answer(&hub, &rob, &waiting[0], "approve"), 200).await;
        expect(answer(&hub, &rob, &waiting[1], "reject"), 200).await;
        let stats = get(&hub, &rob, "/api/v1/approvals/stats").await;
        assert_eq!(
            (&stats["pending_count"], &stats["approved_today"], &stats["rejected_today"]),
            (&json!(3), &json!(1), &json!(1)),
            "{stats}"
        );
        assert!(stats["avg_response_time"].as_f64().unwrap() >= 60.0, "{stats}");
        let of_another =
            format!("/api/v1/approvals/stats?reviewer={}", stats["reviewer_id"].as_str().unwrap());
        assert_eq!(get(&hub, &ann, &of_another).await, stats);
        let nobody = "/api/v1/approvals/stats?reviewer=0197a000-0000-7000-8000-000000000000";
        refused(hub.admin("GET", nobody), 404, "NOT_FOUND").await;
    })
    .await;
}

#[tokio::test]
async fn who_waits_is_told_when_it_is_decided() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let path = format!("/api/v1/tasks/{}?wait_seconds=", id(&made));
        let still = expect(hub.request("GET", &format!("{path}1")).bearer_auth(&ann), 200).await.json();
        assert_eq!(still["state"], "REVIEWING");
        let wait = expect(hub.request("GET", &format!("{path}50")).bearer_auth(&ann), 200);
        let decide = async {
            // However the two race, the one who waits learns of it.
            expect(answer(&hub, &rob, &asked(&hub, &rob, &made).await, "approve"), 200).await
        };
        let begun = std::time::Instant::now();
        let (told, _) = tokio::join!(wait, decide);
        assert_eq!(told.json()["state"], "APPROVED");
        assert!(begun.elapsed() < Duration::from_secs(40), "it waited to the end");
        let problem = refused(hub.admin("GET", &format!("{path}51")), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/wait_seconds"]);
    })
    .await;
}
