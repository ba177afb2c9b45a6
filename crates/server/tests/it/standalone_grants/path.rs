//! The whole way of a grant (`test_approvals_service_with_redis`), with the bodies of S002.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{APPROVALS, HASH, on_each_store};
use crate::support::{all_items, eventually, expect, refused};

fn names(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn made_seen_used_and_counted() {
    on_each_store(async |ground| {
        let body =
            json!({"tenant_id": "default", "ir_hash": HASH, "ttl_seconds": 600, "created_by": "system"});
        let answer = expect(ground.create(&body), 201).await;
        let made = answer.json();
        assert_eq!(names(&made), BTreeSet::from(["approval_id", "expires_at", "replayed", "token"]));
        let (id, token) = (made["approval_id"].as_str().unwrap(), made["token"].as_str().unwrap());
        assert_eq!(answer.header("location"), Some(format!("{APPROVALS}/{id}").as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-store"));

        let pending = format!("pending?tenant_id={}&limit=10", ground.org);
        let listed = expect(ground.get(&pending), 200).await.json();
        let numbers = ["total", "pending", "consumed", "expired"].map(|name| listed[name].as_u64().unwrap());
        assert_eq!(numbers, [1, 1, 0, 0]);
        let grant = &listed["approvals"][0];
        let expected = [
            "acknowledged_at",
            "acknowledged_by",
            "approval_id",
            "consumed_at",
            "consumed_by",
            "created_at",
            "created_by",
            "expires_at",
            "ir_hash",
            "status",
            "tenant_id",
        ];
        // never the hash of the token.
        assert_eq!(names(grant), BTreeSet::from(expected));
        assert_eq!((&grant["tenant_id"], &grant["ir_hash"]), (&json!(ground.org), &json!(HASH)));
        assert_eq!((&grant["status"], &grant["created_by"]), (&json!("pending"), &json!("system")));
        assert_eq!(expect(ground.get(id), 200).await.json(), *grant);

        let acknowledge = ground.hub.admin("POST", &format!("{APPROVALS}/{id}/acknowledge"));
        let seen = expect(acknowledge.json(&json!({"acknowledged_by": "ada@example.org"})), 200).await.json();
        let expected = json!({"success": true, "approval_id": id, "acknowledged_by": "ada@example.org",
                              "message": "Approval acknowledged successfully"});
        assert_eq!(seen, expected);
        assert_eq!(expect(ground.get(id), 200).await.json()["status"], "pending", "seeing does not use it");

        let used = expect(ground.consume(token), 200).await.json();
        assert_eq!((&used["status"], &used["consumed_by"]), (&json!("consumed"), &json!("ci")));
        assert_eq!(used["acknowledged_by"], "ada@example.org");
        assert_eq!(expect(ground.get(id), 200).await.json(), used);
        let problem = refused(ground.consume(token), 409, "ALREADY_CONSUMED").await;
        assert_eq!(problem["consumed_at"], used["consumed_at"]);

        assert_eq!(ground.counts().await, (0, 1, 0));
        let listed = expect(ground.get(&pending), 200).await.json();
        assert_eq!(listed["approvals"], json!([]));
        told_and_on_record(&ground, id).await;
    })
    .await;
}

async fn told_and_on_record(ground: &super::Ground, id: &str) {
    let expected = ["grant:created", "grant:consumed"].map(|what| (what.to_owned(), id.to_owned()));
    eventually("the events", async || (ground.events().await == expected).then_some(())).await;
    // what the token is for is told, and nothing of the token.
    let told = expect(ground.hub.admin("GET", "/api/v1/events?types=grant:*"), 200).await.json();
    let facts = BTreeSet::from(["approval_id", "expires_at", "ir_hash", "status", "tenant_id"]);
    assert_eq!(names(&told["items"][0]["payload"]), facts);
    let by = BTreeSet::from(["consumed_by"]);
    assert_eq!(names(&told["items"][1]["payload"]), facts.union(&by).copied().collect());
    let audit = all_items(&ground.hub, &ground.hub.admin_key, "/api/v1/audit").await;
    let about = |row: &&Value| row["subject"]["id"] == json!(id);
    let actions: Vec<&str> = audit.iter().filter(about).map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["grant:consumed", "grant:acknowledged", "grant:created"]);
}

#[tokio::test]
async fn pending_ones_are_listed_newest_first_and_no_more_than_asked() {
    on_each_store(async |ground| {
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(ground.mint().await.id);
        }
        ids.reverse();
        for limit in [1, 2, 3, 4] {
            let path = format!("pending?tenant_id={}&limit={limit}", ground.org);
            let listed = expect(ground.get(&path), 200).await.json();
            let shown = listed["approvals"].as_array().unwrap().iter().map(|grant| &grant["approval_id"]);
            assert_eq!(shown.collect::<Vec<_>>(), ids.iter().take(limit).collect::<Vec<_>>(), "{limit}");
            assert_eq!((&listed["total"], &listed["pending"]), (&json!(3), &json!(3)), "all are counted");
        }
    })
    .await;
}

#[tokio::test]
async fn who_says_nothing_is_named_by_account() {
    on_each_store(async |ground| {
        let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
        let made = expect(ground.create(&body), 201).await.json();
        let grant = expect(ground.get(made["approval_id"].as_str().unwrap()), 200).await.json();
        let me = expect(ground.hub.admin("GET", "/api/v1/me"), 200).await.json();
        assert_eq!(grant["created_by"], me["account"]["id"]);
        let time = |name: &str| grant[name].as_str().unwrap().parse::<domain::Timestamp>().unwrap();
        assert_eq!(time("expires_at").since(time("created_at")).as_secs(), 3600, "the default");
    })
    .await;
}

/// DECISIONS 17: the token is in the first answer alone; a token that was used is used once.
#[tokio::test]
async fn a_repeated_request_is_one_request() {
    on_each_store(async |ground| {
        let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
        let create = || ground.create(&body).header("idempotency-key", "mint-1");
        let first = expect(create(), 201).await.json();
        let again = expect(create(), 201).await.json();
        assert_eq!(again["approval_id"], first["approval_id"]);
        assert_eq!((&again["token"], &again["replayed"]), (&json!(null), &json!(true)));
        assert_eq!(ground.counts().await, (1, 0, 0));
        let token = first["token"].as_str().unwrap();
        let consume = || ground.consume(token).header("idempotency-key", "use-1");
        let used = expect(consume(), 200).await.json();
        assert_eq!(expect(consume(), 200).await.json(), used);
        refused(ground.consume(token), 409, "ALREADY_CONSUMED").await;
        assert_eq!(ground.counts().await, (0, 1, 0));
    })
    .await;
}
