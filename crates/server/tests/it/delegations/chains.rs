//! Chains: where a request goes when it is made, and who may answer it then.

use serde_json::json;
use testkit::on_each_engine;

use super::{asks, proposes, rate, somebody, state};
use crate::support::{all_items, expect, get, id, refused};

/// DELEG-06: Alice to Bob for infrastructure above 50, Bob to Carol for `prod-*`.
#[tokio::test]
async fn a_high_risk_change_of_production_needs_only_carol() {
    on_each_engine(async |hub| {
        rate(&hub).await;
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        let said =
            json!({"conditions": {"task_types": ["infrastructure"], "risk_above": 50}, "cascade": true});
        let to_bob = alice.delegates(&hub, &bob, said).await;
        assert_eq!((&to_bob["kind"], &to_bob["active"]), (&json!("transfer"), &json!(true)), "{to_bob}");
        bob.delegates(&hub, &carol, json!({"conditions": {"resource_patterns": ["prod-*"]}})).await;

        let made = proposes(&hub, &ann, "prod-db-01", "critical").await;
        assert!(state(&hub, &alice, &made).await["risk"]["score"].as_u64().unwrap() > 50);
        let hers = alice.waits(&hub, &made, "DELEGATED").await;
        let chain = json!([alice.id, bob.id]);
        assert_eq!((&hers["delegated_to"], &hers["delegation_chain"]), (&carol.id, &chain), "{hers}");
        assert!(bob.asked(&hub, &made).await.is_empty(), "Bob only passes it on");
        let request = carol.waits(&hub, &made, "PENDING").await;
        assert_eq!(request["delegation_chain"], chain);
        refused(alice.says(&hub, &hers, "approve"), 409, "ALREADY_RESOLVED").await;
        refused(bob.says(&hub, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        expect(carol.says(&hub, &request, "approve"), 200).await;
        let now = state(&hub, &ann, &made).await;
        assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("APPROVED"), &json!("quorum")));
        assert_eq!(now["review"]["approved_count"], 1);

        // What the conditions do not cover stays where it was meant for.
        let other = proposes(&hub, &ann, "test-db-01", "critical").await;
        assert_eq!(bob.waits(&hub, &other, "PENDING").await["delegation_chain"], json!([alice.id]));
        let small = proposes(&hub, &ann, "stage-db-01", "trivial").await;
        assert_eq!(alice.waits(&hub, &small, "PENDING").await["delegation_chain"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn circles_are_refused_and_what_is_over_does_nothing() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        alice.delegates(&hub, &bob, json!({"cascade": true, "expires_at": "2099-01-01T00:00:00Z"})).await;
        let back = json!({"delegate_to": alice.id, "cascade": true});
        let back = bob.ask(&hub, "POST", "/api/v1/delegations").json(&back);
        let problem = refused(back, 409, "CONFLICT").await;
        assert!(problem["detail"].as_str().unwrap().contains("circle"), "{problem}");
        for (to, pointer) in [(&alice, "/delegate_to"), (&ann, "/delegate_to")] {
            let body = json!({"delegate_to": to.id});
            let request = alice.ask(&hub, "POST", "/api/v1/delegations").json(&body);
            let problem = refused(request, 422, "VALIDATION_FAILED").await;
            assert_eq!(problem["errors"][0]["pointer"], pointer, "neither oneself nor who may not review");
        }
        let made = proposes(&hub, &ann, "a", "low").await;
        bob.waits(&hub, &made, "PENDING").await;
        let [one] = all_items(&hub, &alice.key, "/api/v1/delegations?owner=me").await.try_into().unwrap();
        let path = format!("/api/v1/delegations/{}", id(&one));
        let over = json!({"expires_at": "2020-01-01T00:00:00Z"});
        expect(alice.ask(&hub, "PATCH", &path).json(&over), 200).await;
        let made = proposes(&hub, &ann, "b", "low").await;
        alice.waits(&hub, &made, "PENDING").await;
        assert!(bob.asked(&hub, &made).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_delegate_who_is_the_author_makes_it_void() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author", "reviewer"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        alice.delegates(&hub, &ann, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        assert_eq!(
            (&made["state"], &made["review"]["reachable"]),
            (&json!("REVIEWING"), &json!(false)),
            "{made}"
        );
        let all = all_items(&hub, &ann.key, &format!("/api/v1/tasks/{}/approvals", id(&made))).await;
        assert!(all.is_empty(), "nobody is asked: {all:?}");
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        let began = rows.iter().find(|row| row["action"] == "task:review_began").unwrap();
        assert_eq!(began["details"]["void_delegations"][0]["by"], ann.id, "{began}");
    })
    .await;
}

/// However many requests reach somebody, they act once.
#[tokio::test]
async fn whoever_stands_in_for_another_counts_once() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        asks(&hub, &[&alice, &carol], json!({"min_approvers": 2})).await;
        alice.delegates(&hub, &carol, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        assert_eq!(made["review"]["reachable"], false, "one person is not two: {made}");
        let request = carol.waits(&hub, &made, "PENDING").await;
        expect(carol.says(&hub, &request, "approve"), 200).await;
        let now = state(&hub, &ann, &made).await;
        assert_eq!((&now["state"], &now["review"]["approved_count"]), (&json!("REVIEWING"), &json!(1)));
    })
    .await;
}

#[tokio::test]
async fn who_follows_agrees_and_counts_where_the_policy_says_so() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let eve = somebody(&hub, "eve", &["reviewer"]).await;
        alice.delegates(&hub, &bob, json!({"kind": "follow"})).await;
        asks(&hub, &[&alice, &bob, &eve], json!({"min_approvers": 2, "reject_on": "unreachable"})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let request = bob.waits(&hub, &made, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        let followed = alice.waits(&hub, &made, "APPROVED").await;
        assert_eq!(followed["reviewed_by"], bob.id, "{followed}");
        let now = state(&hub, &ann, &made).await;
        assert_eq!(now["state"], "REVIEWING", "following is no act of one's own: {now}");
        // Whoever changes their mind takes those with them who followed; those may still answer for themselves.
        expect(bob.says(&hub, &request, "reject"), 200).await;
        let again = alice.waits(&hub, &made, "PENDING").await;
        assert_eq!(again["reviewed_by"], json!(null));
        expect(bob.says(&hub, &request, "approve"), 200).await;
        expect(alice.says(&hub, &again, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");

        let policy = &get(&hub, &hub.admin_key, "/api/v1/policies?name=named").await["items"][0];
        let counts = json!({"following_counts": true});
        expect(hub.admin("PATCH", &format!("/api/v1/policies/{}", id(policy))).json(&counts), 200).await;
        let made = proposes(&hub, &ann, "b", "low").await;
        let request = bob.waits(&hub, &made, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
    })
    .await;
}

/// Bob passes his own requests on, and decides in Alice's place: hers do not go further than she said.
#[tokio::test]
async fn who_decides_for_another_decides_for_themselves_too() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        asks(&hub, &[&alice, &bob], json!({})).await;
        bob.delegates(&hub, &carol, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        carol.waits(&hub, &made, "PENDING").await;
        alice.delegates(&hub, &bob, json!({})).await;
        let made = proposes(&hub, &ann, "b", "low").await;
        assert!(carol.asked(&hub, &made).await.is_empty());
        let request = bob.waits(&hub, &made, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
    })
    .await;
}
