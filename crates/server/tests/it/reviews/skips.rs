//! Past what an approved task waits for: two admins sign it, on the Grant that is there.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use super::overrides::{signature, urgent};
use super::{answer, config, person, submitted, task};
use crate::backdoor::Backdoor;
use crate::support::{all_items, eventually, expect, get, id, refused, send};
use crate::ways_to_yes::assert_every_yes_was_said;

/// Everybody who takes part, by their keys.
struct Stage {
    ann: String,
    bob: String,
    ada: String,
    abe: String,
    agent: String,
    agent_key: String,
}

async fn stage(hub: &TestHub) -> Stage {
    let reviewers = json!({"name": "reviewers", "required_roles": ["reviewer"], "min_approvers": 1});
    expect(hub.admin("POST", "/api/v1/policies").json(&reviewers), 201).await;
    let ann = person(hub, "ann", &["author"]).await;
    let bob = person(hub, "bob", &["reviewer"]).await;
    let (ada, abe) = (person(hub, "ada", &["admin"]).await, person(hub, "abe", &["admin"]).await);
    let (agent, agent_key) = super::agent(hub, &ann).await;
    Stage { ann, bob, ada, abe, agent: agent.as_str().unwrap().to_owned(), agent_key }
}

impl Stage {
    async fn approves(&self, hub: &TestHub, made: &Value) {
        let about = format!("/api/v1/approvals?reviewer=me&status=PENDING&task_id={}", id(made));
        let requests = all_items(hub, &self.bob, &about).await;
        expect(answer(hub, &self.bob, &requests[0], "approve"), 200).await;
    }

    /// An approved task that waits for another, which nobody has approved.
    async fn waiting(&self, hub: &TestHub, author: &str) -> (Value, Value) {
        let first = submitted(hub, author).await;
        let body = json!({"config": config("After it"), "depends_on": [first["id"]], "submit": true});
        let second = hub.request("POST", "/api/v1/tasks").bearer_auth(author).json(&body);
        let second = expect(second, 201).await.json();
        self.approves(hub, &second).await;
        let second = task(hub, &self.ada, &second).await;
        assert_eq!((&second["state"], &second["status"]), (&json!("APPROVED"), &json!("blocked")));
        (first, second)
    }

    fn claim(&self, hub: &TestHub, made: &Value) -> RequestBuilder {
        let body = json!({"agent_id": self.agent, "wait_seconds": 0});
        let path = format!("/api/v1/tasks/{}/claim", id(made));
        hub.request("POST", &path).bearer_auth(&self.agent_key).json(&body)
    }

    fn next(&self, hub: &TestHub, wait_seconds: u32) -> RequestBuilder {
        let path = format!("/api/v1/agents/{}/next", self.agent);
        hub.request("POST", &path).bearer_auth(&self.agent_key).json(&json!({"wait_seconds": wait_seconds}))
    }

    async fn complete(&self, hub: &TestHub, claimed: &Value) {
        let path = format!("/api/v1/executions/{}/complete", claimed["execution_id"].as_str().unwrap());
        expect(hub.request("POST", &path).bearer_auth(&self.agent_key).json(&json!({})), 200).await;
    }
}

async fn assert_waits(hub: &TestHub, stage: &Stage, (first, second): (&Value, &Value)) {
    let now = task(hub, &stage.ada, second).await;
    assert_eq!((&now["status"], &now["skipped_dependencies"]), (&json!("blocked"), &Value::Null), "{now}");
    assert_eq!(now["blocked_by"][0]["task_id"], first["id"]);
    refused(stage.claim(hub, second), 409, "BLOCKED").await;
    assert_eq!(send(stage.next(hub, 0)).await.status.as_u16(), 204);
}

async fn rows(hub: &TestHub, stage: &Stage, made: &Value, action: &str) -> Vec<Value> {
    let all = all_items(hub, &stage.ada, &format!("/api/v1/tasks/{}/audit", id(made))).await;
    all.into_iter().filter(|row| row["action"] == action).collect()
}

#[tokio::test]
async fn asked_alone_does_nothing_and_the_second_signature_lets_it_go_first() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (first, second) = stage.waiting(&hub, &stage.ann).await;
        refused(urgent(&hub, &stage.bob, &second, "force-apply"), 403, "FORBIDDEN").await;
        let asked = expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await.json();
        assert_eq!((&asked["state"], &asked["status"]), (&json!("APPROVED"), &json!("blocked")));
        assert_waits(&hub, &stage, (&first, &second)).await;
        assert!(signature(&hub, &stage.ada, &second).await.is_none(), "whoever asks does not sign");
        assert!(signature(&hub, &stage.bob, &second).await.is_none(), "reviewers do not sign");
        let request = signature(&hub, &stage.abe, &second).await.unwrap();
        assert_eq!((&request["status"], &request["skips"]), (&json!("PENDING"), &json!([first["id"]])));
        let row = rows(&hub, &stage, &second, "task:skip_asked").await.remove(0);
        assert_eq!((&row["ticket_ref"], &row["details"]["skips"]), (&json!("INC-7"), &json!([first["id"]])));
        // A no leaves it as it is.
        expect(answer(&hub, &stage.abe, &request, "reject"), 200).await;
        assert_waits(&hub, &stage, (&first, &second)).await;
        // Others that nobody put first come behind it.
        let other = submitted(&hub, &stage.ann).await;
        stage.approves(&hub, &other).await;
        let signed = expect(answer(&hub, &stage.abe, &request, "approve"), 200).await.json();
        assert_eq!(signed["status"], "APPROVED");
        let now = task(&hub, &stage.ada, &second).await;
        assert_eq!((&now["status"], &now["blocked_by"]), (&json!("in-progress"), &json!([])), "{now}");
        let skipped = &now["skipped_dependencies"];
        assert_eq!((&skipped["task_ids"], &skipped["approval_id"]), (&json!([first["id"]]), &request["id"]));
        assert_eq!(now["review"]["resolution"], "quorum", "the Grant is the one that was there");
        let row = rows(&hub, &stage, &second, "task:dependencies_skipped").await.remove(0);
        assert_eq!(row["details"]["skipped"], json!([first["id"]]));
        assert_eq!(rows(&hub, &stage, &second, "task:put_first").await.len(), 1);
        let claimed = expect(stage.next(&hub, 0), 200).await.json();
        assert_eq!(claimed["task_id"], second["id"], "at the head of the queue");
        refused(answer(&hub, &stage.abe, &request, "reject"), 409, "ALREADY_RESOLVED").await;
        // Locks are not skipped: both touch one database.
        refused(stage.claim(&hub, &other), 423, "LOCK_HELD").await;
        stage.complete(&hub, &claimed).await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "what need not wait").await;
    })
    .await;
}

#[tokio::test]
async fn whoever_waits_for_work_gets_it_when_the_second_admin_signs() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (_, second) = stage.waiting(&hub, &stage.ann).await;
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let request = signature(&hub, &stage.abe, &second).await.unwrap();
        let (claimed, _) = tokio::join!(
            expect(stage.next(&hub, 20), 200),
            expect(answer(&hub, &stage.abe, &request, "approve"), 200)
        );
        assert_eq!(claimed.json()["task_id"], second["id"]);
        // The same by its id, and in a batch.
        stage.complete(&hub, &claimed.json()).await;
        let (_, second) = stage.waiting(&hub, &stage.ann).await;
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let request = signature(&hub, &stage.abe, &second).await.unwrap();
        let batch = json!({"approval_ids": [request["id"]], "action": "approve",
            "content_hashes": {request["id"].as_str().unwrap(): request["content_hash"]}});
        let all = hub.request("POST", "/api/v1/approvals/batch").bearer_auth(&stage.abe).json(&batch);
        expect(all, 200).await;
        let claimed = expect(stage.claim(&hub, &second), 200).await.json();
        stage.complete(&hub, &claimed).await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "what need not wait").await;
    })
    .await;
}

#[tokio::test]
async fn nobody_signs_their_own_asking_or_their_own_task() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let author = person(&hub, "adm", &["admin"]).await;
        let (first, second) = stage.waiting(&hub, &author).await;
        refused(urgent(&hub, &author, &second, "force-apply"), 403, "SELF_APPROVAL").await;
        let enrolled = hub.member_with(&stage.ada, "eve", &["admin"]).await;
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        assert!(signature(&hub, &author, &second).await.is_none(), "an author is not asked");
        // A key that the asking admin minted is the asking admin's hand.
        let request = signature(&hub, &enrolled, &second).await.unwrap();
        refused(answer(&hub, &enrolled, &request, "approve"), 403, "SELF_APPROVAL").await;
        let request = signature(&hub, &stage.abe, &second).await.unwrap();
        refused(answer(&hub, &stage.ada, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        let ada = get(&hub, &stage.ada, "/api/v1/me").await["account"]["id"].clone();
        let pass = format!("/api/v1/approvals/{}/delegate", id(&request));
        let pass = hub.request("POST", &pass).bearer_auth(&stage.abe).json(&json!({"to": ada}));
        assert!(send(pass).await.status.is_client_error(), "a signature is nobody's to pass on");
        let mut stale = request.clone();
        stale["content_hash"] = format!("sha256:{}", "0".repeat(64)).into();
        refused(answer(&hub, &stage.abe, &stale, "approve"), 409, "STALE_CONTENT").await;
        // Asked again nobody is asked twice, and somebody who is no admin any more does not sign.
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let me = get(&hub, &stage.abe, "/api/v1/me").await;
        let member = format!(
            "/api/v1/organizations/{}/members/{}",
            me["organization"]["id"].as_str().unwrap(),
            me["account"]["id"].as_str().unwrap()
        );
        expect(hub.admin("PATCH", &member).json(&json!({"roles": ["reviewer"]})), 200).await;
        refused(answer(&hub, &stage.abe, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        assert_waits(&hub, &stage, (&first, &second)).await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "signatures that are none").await;
    })
    .await;
}

/// Whoever signed that the review is skipped may be asked about the prerequisites too: those are two things.
#[tokio::test]
async fn an_override_of_the_review_skips_no_prerequisite() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let first = submitted(&hub, &stage.ann).await;
        let body = json!({"config": config("After it"), "depends_on": [first["id"]], "submit": true});
        let second = hub.request("POST", "/api/v1/tasks").bearer_auth(&stage.ann).json(&body);
        let second = expect(second, 201).await.json();
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let review = signature(&hub, &stage.abe, &second).await.unwrap();
        assert_eq!(review["skips"], json!([]));
        expect(answer(&hub, &stage.abe, &review, "approve"), 200).await;
        assert_waits(&hub, &stage, (&first, &second)).await;
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let path = format!("/api/v1/approvals?reviewer=me&status=PENDING&task_id={}", id(&second));
        let open = all_items(&hub, &stage.abe, &path).await;
        assert_eq!(open[0]["skips"], json!([first["id"]]), "{open:?}");
        expect(answer(&hub, &stage.abe, &open[0], "approve"), 200).await;
        let claimed = expect(stage.claim(&hub, &second), 200).await.json();
        stage.complete(&hub, &claimed).await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "both at once").await;
    })
    .await;
}

#[tokio::test]
async fn the_signature_goes_with_the_grant() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let validity = json!({"approval:validity": 3600});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&validity), 200).await;
        // Given up, or taken back: what was asked is closed, and nobody signs it any more.
        for (key, verb) in [(&stage.ann, "cancel"), (&stage.bob, "withdraw-approval")] {
            let (_, second) = stage.waiting(&hub, &stage.ann).await;
            expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
            let path = format!("/api/v1/tasks/{}/{verb}", id(&second));
            let over = hub.request("POST", &path).bearer_auth(key).json(&json!({"reason": "no"}));
            expect(over, 200).await;
            let request = signature(&hub, &stage.abe, &second).await.unwrap();
            assert_eq!(request["status"], "SUPERSEDED", "{verb}");
            refused(answer(&hub, &stage.abe, &request, "approve"), 409, "ALREADY_RESOLVED").await;
        }
        // Too old: it is reviewed anew, and waits again.
        let (first, second) = stage.waiting(&hub, &stage.ann).await;
        expect(urgent(&hub, &stage.ada, &second, "force-apply"), 202).await;
        let request = signature(&hub, &stage.abe, &second).await.unwrap();
        expect(answer(&hub, &stage.abe, &request, "approve"), 200).await;
        assert_eq!(task(&hub, &stage.ada, &second).await["status"], "in-progress");
        hub.clock.advance(Duration::from_secs(3601));
        eventually("the old approval to be found", async || {
            Some(task(&hub, &stage.ann, &second).await).filter(|now| now["state"] == "REVIEWING")
        })
        .await;
        refused(answer(&hub, &stage.abe, &request, "approve"), 409, "ALREADY_RESOLVED").await;
        stage.approves(&hub, &second).await;
        assert_waits(&hub, &stage, (&first, &second)).await;
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "a signature that went with its Grant").await;
    })
    .await;
}
