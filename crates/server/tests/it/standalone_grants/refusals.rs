//! Tokens that open nothing.

use std::time::Duration;

use serde_json::{Value, json};

use super::{APPROVALS, HASH, on_each_store};
use crate::backdoor::Backdoor;
use crate::support::{expect, get, pointers, refused};

const NOTHING: &str = "0197a000-0000-7000-8000-000000000000";

#[tokio::test]
async fn another_tenant_hash_or_token() {
    on_each_store(async |ground| {
        let (hub, minted) = (&ground.hub, ground.mint().await);
        let other = hub.tenant("other").await;
        let others = get(hub, &other, "/api/v1/me").await["organization"]["id"].clone();
        let consume = |key: &str, body: Value| {
            hub.request("POST", &format!("{APPROVALS}/consume")).bearer_auth(key).json(&body)
        };
        let body = |tenant: &Value, hash: &str, token: &str| {
            json!({"tenant_id": tenant, "ir_hash": hash, "token": token})
        };
        let ours = json!(ground.org);
        let admin = &hub.admin_key;
        // A tenant that is not the caller's, whoever's the token is.
        refused(consume(&other, body(&ours, HASH, &minted.token)), 403, "TENANT_MISMATCH").await;
        refused(consume(admin, body(&others, HASH, &minted.token)), 403, "TENANT_MISMATCH").await;
        refused(consume(admin, body(&json!("nobody"), HASH, &minted.token)), 403, "TENANT_MISMATCH").await;
        // Of another organization a token is as good as none.
        refused(consume(&other, body(&others, HASH, &minted.token)), 404, "UNKNOWN_TOKEN").await;
        refused(consume(admin, body(&ours, "sha256:0", &minted.token)), 403, "HASH_MISMATCH").await;
        let upper = HASH.to_uppercase();
        refused(consume(admin, body(&ours, &upper, &minted.token)), 403, "HASH_MISMATCH").await;
        let nobodys = format!("csg_{}", "A".repeat(43));
        let cut = &minted.token[..minted.token.len() - 1];
        for wrong in ["", "csg_", &nobodys, cut, "' OR 1=1 --", admin, &minted.token.replace("csg_", "csk_")] {
            refused(consume(admin, body(&ours, HASH, wrong)), 404, "UNKNOWN_TOKEN").await;
        }
        let path = format!("{APPROVALS}/{}", minted.id);
        refused(hub.request("GET", &path).bearer_auth(&other), 404, "NOT_FOUND").await;
        let seen = json!({"acknowledged_by": "x"});
        let acknowledge = hub.request("POST", &format!("{path}/acknowledge")).bearer_auth(&other);
        refused(acknowledge.json(&seen), 404, "NOT_FOUND").await;
        for list in ["pending", "stats"] {
            let path = format!("{APPROVALS}/{list}?tenant_id={}", ground.org);
            refused(hub.request("GET", &path).bearer_auth(&other), 403, "TENANT_MISMATCH").await;
        }
        for nothing in [NOTHING, "nonsense", "PENDING", "WS"] {
            refused(ground.get(nothing), 404, "NOT_FOUND").await;
        }
        // None of this has used it.
        assert_eq!(ground.counts().await, (1, 0, 0));
        expect(ground.consume(&minted.token), 200).await;
    })
    .await;
}

/// 410 for 24 h after the end, then 404; at once, whether or not the cleanup came by.
#[tokio::test]
async fn too_late() {
    on_each_store(async |ground| {
        let clock = &ground.hub.clock;
        let (cleaned, left) = (ground.mint_for(60).await, ground.mint_for(60).await);
        clock.advance(Duration::from_secs(61));
        for minted in [&cleaned, &left] {
            let problem = refused(ground.consume(&minted.token), 410, "EXPIRED").await;
            assert!(problem["expired_at"].is_string(), "{problem}");
            assert_eq!(expect(ground.get(&minted.id), 200).await.json()["status"], "expired");
            let acknowledge = ground.hub.admin("POST", &format!("{APPROVALS}/{}/acknowledge", minted.id));
            refused(acknowledge.json(&json!({"acknowledged_by": "x"})), 410, "EXPIRED").await;
        }
        let listed = expect(ground.get("pending?tenant_id=default"), 200).await.json();
        assert_eq!((&listed["approvals"], &listed["expired"]), (&json!([]), &json!(2)));
        ground.clean().await;
        assert_eq!(ground.counts().await, (0, 0, 2));
        clock.advance(Duration::from_secs(24 * 3600 - 120));
        refused(ground.consume(&cleaned.token), 410, "EXPIRED").await;
        clock.advance(Duration::from_secs(120));
        for forgotten in [false, true] {
            refused(ground.consume(&cleaned.token), 404, "UNKNOWN_TOKEN").await;
            refused(ground.get(&cleaned.id), 404, "NOT_FOUND").await;
            if !forgotten {
                ground.clean().await;
            }
        }
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("standalone_grants").await, 0);
        assert_eq!(ground.counts().await, (0, 0, 2), "what there was stays counted");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_valid_is_named() {
    on_each_store(async |ground| {
        let org = &ground.org;
        for (body, wrong) in [
            (json!({}), ""),
            (json!({"tenant_id": org}), ""),
            (json!({"tenant_id": org, "ir_hash": ""}), "/ir_hash"),
            (json!({"tenant_id": org, "ir_hash": "a b"}), "/ir_hash"),
            (json!({"tenant_id": org, "ir_hash": "x".repeat(257)}), "/ir_hash"),
            (json!({"tenant_id": org, "ir_hash": HASH, "ttl_seconds": 0}), "/ttl_seconds"),
            (json!({"tenant_id": org, "ir_hash": HASH, "ttl_seconds": 604_801}), "/ttl_seconds"),
            (json!({"tenant_id": org, "ir_hash": HASH, "ttl_seconds": -1}), "/ttl_seconds"),
            (json!({"tenant_id": org, "ir_hash": HASH, "ttl_seconds": 1.5}), "/ttl_seconds"),
            (json!({"tenant_id": org, "ir_hash": HASH, "ttl_seconds": null}), "/ttl_seconds"),
            (json!({"tenant_id": org, "ir_hash": HASH, "created_by": ""}), "/created_by"),
            (json!({"tenant_id": org, "ir_hash": HASH, "created_by": "a\u{1b}[2K"}), "/created_by"),
            (json!({"tenant_id": "", "ir_hash": HASH}), "/tenant_id"),
            (json!({"tenant_id": org, "ir_hash": HASH, "token": "mine"}), ""),
        ] {
            let problem = refused(ground.create(&body), 422, "VALIDATION_FAILED").await;
            let found = pointers(&problem);
            assert!(wrong.is_empty() || found == [wrong], "{body}: {found:?}");
        }
        for query in ["pending", "stats", "ws", "pending?limit=10", "pending?tenant_id=default&limit=0"] {
            refused(ground.get(query), 422, "VALIDATION_FAILED").await;
        }
        refused(ground.get("pending?tenant_id=default&limit=1001"), 422, "VALIDATION_FAILED").await;
        refused(ground.get("pending?tenant_id=default&cursor=x"), 422, "VALIDATION_FAILED").await;
        assert_eq!(ground.counts().await, (0, 0, 0));
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("standalone_grants").await, 0);
    })
    .await;
}
