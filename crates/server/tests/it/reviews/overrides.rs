//! Two admins instead of a quorum, and the head of the queue.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use super::{answer, asked, config, person, submitted, task};
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, id, refused, send};
use crate::ways_to_yes::assert_every_yes_was_said;

pub(super) fn urgent(hub: &TestHub, key: &str, made: &Value, verb: &str) -> RequestBuilder {
    let body = json!({"reason": "the only reviewer is away", "incident_ticket": "INC-7"});
    hub.request("POST", &format!("/api/v1/tasks/{}/{verb}", id(made))).bearer_auth(key).json(&body)
}

/// The request for a signature to whoever has this key.
pub(super) async fn signature(hub: &TestHub, key: &str, made: &Value) -> Option<Value> {
    let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(made));
    all_items(hub, key, &path).await.into_iter().find(|one| one["kind"] == "override")
}

/// A policy that asks nobody who is here, so that no admin is asked for a review.
pub(crate) async fn asks_nobody(hub: &TestHub) {
    let body = json!({"name": "away", "required_roles": ["nobody-has-it"], "min_approvers": 1});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}

#[tokio::test]
async fn a_second_admin_signs_and_nobody_else() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let author = person(&hub, "ann", &["author"]).await;
        let (ada, abe) = (person(&hub, "ada", &["admin"]).await, person(&hub, "abe", &["admin"]).await);
        let mel = person(&hub, "mel", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        assert_eq!(made["review"]["reachable"], false, "{made}");
        for field in ["reason", "incident_ticket"] {
            let mut body = json!({"reason": "r", "incident_ticket": "INC-7"});
            body[field] = " ".into();
            if field == "reason" {
                body[field] = "".into();
            }
            let path = format!("/api/v1/tasks/{}/override", id(&made));
            let problem =
                refused(hub.request("POST", &path).bearer_auth(&ada).json(&body), 422, "VALIDATION_FAILED")
                    .await;
            assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"));
        }
        refused(urgent(&hub, &mel, &made, "override"), 403, "FORBIDDEN").await;
        expect(urgent(&hub, &ada, &made, "override"), 202).await;
        assert_eq!(task(&hub, &author, &made).await["state"], "REVIEWING", "nothing changes yet");
        assert!(signature(&hub, &ada, &made).await.is_none(), "whoever asks does not sign");
        assert!(signature(&hub, &mel, &made).await.is_none(), "reviewers do not sign");
        let request = signature(&hub, &abe, &made).await.unwrap();
        refused(answer(&hub, &ada, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        let mut stale = request.clone();
        stale["content_hash"] = format!("sha256:{}", "0".repeat(64)).into();
        refused(answer(&hub, &abe, &stale, "approve"), 409, "STALE_CONTENT").await;
        expect(answer(&hub, &abe, &request, "reject"), 200).await;
        assert_eq!(
            task(&hub, &author, &made).await["state"],
            "REVIEWING",
            "a no to the override is no rejection"
        );
        expect(answer(&hub, &abe, &request, "approve"), 200).await;
        let now = task(&hub, &author, &made).await;
        assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("APPROVED"), &json!("override")));
        let rows = all_items(&hub, &ada, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        let row = rows.iter().find(|row| row["action"] == "task:override_asked").unwrap();
        assert_eq!(
            (&row["ticket_ref"], &row["reason"]),
            (&json!("INC-7"), &json!("the only reviewer is away"))
        );
        refused(urgent(&hub, &ada, &made, "override"), 409, "INVALID_STATE").await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "an override").await;
    })
    .await;
}

#[tokio::test]
async fn whoever_had_a_hand_in_it_neither_asks_nor_signs_and_an_edit_voids_it() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let author = person(&hub, "ann", &["admin"]).await;
        let (ada, abe) = (person(&hub, "ada", &["admin"]).await, person(&hub, "abe", &["admin"]).await);
        let made = submitted(&hub, &author).await;
        refused(urgent(&hub, &author, &made, "override"), 403, "SELF_APPROVAL").await;
        expect(urgent(&hub, &ada, &made, "override"), 202).await;
        assert!(signature(&hub, &author, &made).await.is_none(), "an author is not asked");
        let request = signature(&hub, &abe, &made).await.unwrap();
        let path = format!("/api/v1/tasks/{}", id(&made));
        let edit = json!({"config": config("Something else")});
        expect(hub.request("PATCH", &path).bearer_auth(&author).json(&edit), 200).await;
        refused(answer(&hub, &abe, &request, "approve"), 409, "ALREADY_RESOLVED").await;
        assert_eq!(task(&hub, &author, &made).await["state"], "REVIEWING");
        // A key that the asking admin minted is the asking admin's hand.
        let made = submitted(&hub, &author).await;
        let enrolled = hub.member_with(&ada, "eve", &["admin"]).await;
        expect(urgent(&hub, &ada, &made, "override"), 202).await;
        let request = signature(&hub, &enrolled, &made).await.unwrap();
        refused(answer(&hub, &enrolled, &request, "approve"), 403, "SELF_APPROVAL").await;
        // Somebody who is no admin any more does not sign.
        let request = signature(&hub, &abe, &made).await.unwrap();
        let abe_id = crate::support::get(&hub, &abe, "/api/v1/me").await["account"]["id"].clone();
        let org = crate::support::get(&hub, &abe, "/api/v1/me").await["organization"]["id"].clone();
        let member =
            format!("/api/v1/organizations/{}/members/{}", org.as_str().unwrap(), abe_id.as_str().unwrap());
        expect(hub.admin("PATCH", &member).json(&json!({"roles": ["reviewer"]})), 200).await;
        refused(answer(&hub, &abe, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "overrides that are not").await;
    })
    .await;
}

#[tokio::test]
async fn force_apply_puts_first_what_is_approved_or_will_be() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let (ada, abe) = (person(&hub, "ada", &["admin"]).await, person(&hub, "abe", &["admin"]).await);
        let tasks =
            [submitted(&hub, &author).await, submitted(&hub, &author).await, submitted(&hub, &author).await];
        for made in &tasks[..2] {
            expect(answer(&hub, &ada, &asked(&hub, &ada, made).await, "approve"), 200).await;
        }
        let forced = expect(urgent(&hub, &ada, &tasks[1], "force-apply"), 200).await.json();
        assert_eq!(forced["state"], "APPROVED");
        refused(urgent(&hub, &author, &tasks[1], "force-apply"), 403, "FORBIDDEN").await;
        // Of one that is reviewed it is an override that then does so.
        let asked = expect(urgent(&hub, &ada, &tasks[2], "force-apply"), 202).await.json();
        assert_eq!(asked["state"], "REVIEWING");
        let request = signature(&hub, &abe, &tasks[2]).await.unwrap();
        expect(answer(&hub, &abe, &request, "approve"), 200).await;
        let (agent, key) = super::agent(&hub, &author).await;
        let next = || {
            let next = hub.request("POST", &format!("/api/v1/agents/{}/next", agent.as_str().unwrap()));
            send(next.bearer_auth(&key).json(&json!({"wait_seconds": 0})))
        };
        let first = next().await.json();
        assert_eq!(first["task_id"], tasks[1]["id"], "first who was put first: {first}");
        let done = format!("/api/v1/executions/{}/complete", first["execution_id"].as_str().unwrap());
        expect(hub.request("POST", &done).bearer_auth(&key).json(&json!({})), 200).await;
        assert_eq!(next().await.json()["task_id"], tasks[2]["id"]);
        let rows = all_items(&hub, &ada, &format!("/api/v1/tasks/{}/audit", id(&tasks[1]))).await;
        let row = rows.iter().find(|row| row["action"] == "task:put_first").unwrap();
        assert_eq!(row["ticket_ref"], "INC-7");
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "the head of the queue").await;
    })
    .await;
}

/// Nobody is left to sign: that is said, and nothing changes.
#[tokio::test]
async fn one_admin_alone_overrides_nothing() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let author = person(&hub, "ann", &["author"]).await;
        let made = submitted(&hub, &author).await;
        refused(urgent(&hub, &hub.admin_key, &made, "override"), 409, "CONFLICT").await;
    })
    .await;
}
