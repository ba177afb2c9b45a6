//! Open requests when somebody goes on leave, comes back, takes a delegation back, or leaves for good.

use std::time::Duration;

use serde_json::json;
use testkit::on_each_engine;

use super::{asks, proposes, somebody, state};
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, id, refused, send};
use crate::ways_to_yes::assert_every_yes_was_said;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn a_leave_moves_what_is_open_and_its_end_gives_back_what_is_not_answered() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({"timeout_seconds": 604_800})).await;
        let now = hub.hub.clock.now();
        let (from, until) = (now.plus(DAY).to_string(), now.plus(3 * DAY).to_string());
        alice.delegates(&hub, &bob, json!({"starts_at": from, "expires_at": until})).await;
        let before = [proposes(&hub, &ann, "a", "low").await, proposes(&hub, &ann, "b", "low").await];
        for made in &before {
            alice.waits(&hub, made, "PENDING").await;
        }
        hub.clock.advance(DAY + Duration::from_secs(60));
        let mut moved = Vec::new();
        for made in &before {
            let hers = alice.waits(&hub, made, "DELEGATED").await;
            assert_eq!((&hers["delegated_to"], &hers["delegation_chain"]), (&bob.id, &json!([alice.id])));
            moved.push(bob.waits(&hub, made, "PENDING").await);
        }
        let during = proposes(&hub, &ann, "c", "low").await;
        bob.waits(&hub, &during, "PENDING").await;
        expect(bob.says(&hub, &moved[0], "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &before[0]).await["state"], "APPROVED");

        hub.clock.advance(2 * DAY);
        for made in [&before[1], &during] {
            let hers = alice.waits(&hub, made, "PENDING").await;
            assert_eq!((&hers["delegated_to"], &hers["delegation_chain"]), (&json!(null), &json!([])));
            let his = bob.waits(&hub, made, "SUPERSEDED").await;
            let stale = refused(bob.says(&hub, &his, "approve"), 409, "ALREADY_RESOLVED").await;
            assert_eq!(stale["code"], "ALREADY_RESOLVED");
            expect(alice.says(&hub, &hers, "approve"), 200).await;
            assert_eq!(state(&hub, &ann, made).await["state"], "APPROVED");
        }
        let actions = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=approval:returned").await;
        assert_eq!(actions.len(), 2, "each way back is on record");
    })
    .await;
}

#[tokio::test]
async fn what_is_taken_back_counts_no_more() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let eve = somebody(&hub, "eve", &["reviewer"]).await;
        asks(&hub, &[&alice, &eve], json!({"min_approvers": 2})).await;
        let given = alice.delegates(&hub, &bob, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let request = bob.waits(&hub, &made, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        let path = format!("/api/v1/delegations/{}", id(&given));
        refused(bob.ask(&hub, "DELETE", &path), 403, "FORBIDDEN").await;
        expect(alice.ask(&hub, "DELETE", &path), 204).await;
        expect(alice.ask(&hub, "DELETE", &path), 204).await;
        let hers = alice.waits(&hub, &made, "PENDING").await;
        let eves = eve.waits(&hub, &made, "PENDING").await;
        expect(eve.says(&hub, &eves, "approve"), 200).await;
        let now = state(&hub, &ann, &made).await;
        assert_eq!(now["state"], "REVIEWING", "Bob's yes was taken back with his right to give it: {now}");
        expect(alice.says(&hub, &hers, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
    })
    .await;
}

/// A delegate who loses what makes them one, in the middle of it.
#[tokio::test]
async fn a_delegate_who_leaves_gives_it_back() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        alice.delegates(&hub, &bob, json!({})).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        let request = bob.waits(&hub, &made, "PENDING").await;
        // Without the role the request is still there, and says nothing.
        let org = crate::support::get(&hub, &hub.admin_key, "/api/v1/me").await["organization"]["id"].clone();
        let member =
            format!("/api/v1/organizations/{}/members/{}", org.as_str().unwrap(), bob.id.as_str().unwrap());
        expect(hub.admin("PATCH", &member).json(&json!({"roles": []})), 200).await;
        refused(bob.says(&hub, &request, "approve"), 403, "NOT_YOUR_REVIEW").await;
        let gone = json!({"status": "deactivated"});
        let account = format!("/api/v1/accounts/{}", bob.id.as_str().unwrap());
        expect(hub.admin("PATCH", &account).json(&gone), 200).await;
        let hers = alice.waits(&hub, &made, "PENDING").await;
        expect(alice.says(&hub, &hers, "approve"), 200).await;
        assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED");
    })
    .await;
}

/// EDGE-05: a reviewer who leaves is replaced by their delegate, else by their manager.
#[tokio::test]
async fn a_reviewer_who_leaves_is_replaced() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let dave = somebody(&hub, "dave", &["reviewer"]).await;
        let max = somebody(&hub, "max", &["reviewer"]).await;
        asks(&hub, &[&alice, &dave], json!({"min_approvers": 2})).await;
        let org = crate::support::get(&hub, &hub.admin_key, "/api/v1/me").await["organization"]["id"].clone();
        let member = |of: &super::Person| {
            format!("/api/v1/organizations/{}/members/{}", org.as_str().unwrap(), of.id.as_str().unwrap())
        };
        let manager = json!({"manager_id": max.id});
        expect(hub.admin("PATCH", &member(&alice)).json(&manager), 200).await;
        let made = proposes(&hub, &ann, "a", "low").await;
        alice.waits(&hub, &made, "PENDING").await;
        expect(hub.admin("DELETE", &member(&alice)), 204).await;
        let request = max.waits(&hub, &made, "PENDING").await;
        assert_eq!(request["delegation_chain"], json!([alice.id]), "{request}");
        expect(max.says(&hub, &request, "approve"), 200).await;
        let daves = dave.waits(&hub, &made, "PENDING").await;
        expect(dave.says(&hub, &daves, "approve"), 200).await;
        let now = state(&hub, &ann, &made).await;
        assert_eq!(now["state"], "APPROVED", "the manager decided in her place: {now}");
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=approval:reassigned").await;
        assert_eq!(rows.len(), 1);
    })
    .await;
}

/// Somebody takes a delegation back while the delegate answers: one of them was first, and both know it.
#[tokio::test]
async fn a_vote_and_the_end_of_what_it_rests_on() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let alice = somebody(&hub, "alice", &["reviewer"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&alice], json!({})).await;
        for round in 0..testkit::scaled(100) {
            let given = alice.delegates(&hub, &bob, json!({})).await;
            let made = proposes(&hub, &ann, &format!("r{round}"), "low").await;
            let request = bob.waits(&hub, &made, "PENDING").await;
            let end = alice.ask(&hub, "DELETE", &format!("/api/v1/delegations/{}", id(&given)));
            let vote = bob.says(&hub, &request, "approve");
            let (vote, end) = match round % 2 {
                0 => tokio::join!(send(vote), send(end)),
                _ => {
                    let (end, vote) = tokio::join!(send(end), send(vote));
                    (vote, end)
                }
            };
            assert_eq!(end.status, 204, "{}", end.text());
            match vote.status.as_u16() {
                200 => assert_eq!(state(&hub, &ann, &made).await["state"], "APPROVED"),
                403 | 409 => {
                    let hers = alice.waits(&hub, &made, "PENDING").await;
                    expect(alice.says(&hub, &hers, "reject"), 200).await;
                }
                other => panic!("{other}: {}", vote.text()),
            }
        }
        assert_every_yes_was_said(&Backdoor::open(&hub).await, "delegations that end").await;
    })
    .await;
}
