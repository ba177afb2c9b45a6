//! Passing a request on by hand.

use serde_json::json;
use testkit::on_each_engine;

use super::{asks, proposes, somebody, state};
use crate::support::{expect, id, refused};

#[tokio::test]
async fn a_request_is_passed_on_by_whoever_has_it() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author", "reviewer"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        let mel = somebody(&hub, "mel", &[]).await;
        asks(&hub, &[&alice], json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let request = alice.waits(&hub, &made, "PENDING").await;
        let path = format!("/api/v1/approvals/{}/delegate", id(&request));
        for (to, why) in [(&ann, "had a hand"), (&mel, "reviewer or an admin"), (&alice, "circle")] {
            let problem =
                refused(alice.ask(&hub, "POST", &path).json(&json!({"to": to.id})), 422, "VALIDATION_FAILED")
                    .await;
            assert_eq!(problem["errors"][0]["pointer"], "/to");
            assert!(problem["errors"][0]["detail"].as_str().unwrap().contains(why), "{problem}");
        }
        refused(bob.ask(&hub, "POST", &path).json(&json!({"to": carol.id})), 403, "NOT_YOUR_REVIEW").await;
        let to_bob = json!({"to": bob.id, "reason": "his database"});
        let passed = expect(alice.ask(&hub, "POST", &path).json(&to_bob), 200).await.json();
        assert_eq!((&passed["status"], &passed["delegated_to"]), (&json!("DELEGATED"), &bob.id));
        refused(alice.ask(&hub, "POST", &path).json(&to_bob), 409, "ALREADY_RESOLVED").await;

        // And on, but not back.
        let his = bob.waits(&hub, &made, "PENDING").await;
        let path = format!("/api/v1/approvals/{}/delegate", id(&his));
        let back = bob.ask(&hub, "POST", &path).json(&json!({"to": alice.id}));
        refused(back, 422, "VALIDATION_FAILED").await;
        expect(bob.ask(&hub, "POST", &path).json(&json!({"to": carol.id})), 200).await;
        let hers = carol.waits(&hub, &made, "PENDING").await;
        assert_eq!(hers["delegation_chain"], json!([alice.id, bob.id]));
        let origin = alice.waits(&hub, &made, "DELEGATED").await;
        assert_eq!(
            (&origin["delegated_to"], &origin["delegation_chain"]),
            (&carol.id, &json!([alice.id, bob.id]))
        );
        expect(carol.says(&hub, &hers, "approve"), 200).await;
        let now = state(&hub, &ann, &made).await;
        assert_eq!((&now["state"], &now["review"]["approved_count"]), (&json!("APPROVED"), &json!(1)));
    })
    .await;
}

#[tokio::test]
async fn what_does_not_cascade_is_not_passed_on() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        alice.delegates(&hub, &bob, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let his = bob.waits(&hub, &made, "PENDING").await;
        let path = format!("/api/v1/approvals/{}/delegate", id(&his));
        let problem =
            refused(bob.ask(&hub, "POST", &path).json(&json!({"to": carol.id})), 403, "FORBIDDEN").await;
        assert!(problem["detail"].as_str().unwrap().contains("cascade"), "{problem}");
    })
    .await;
}
