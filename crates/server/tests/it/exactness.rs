//! Once a key has ended, not one more request passes with it, however busy the hub is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use testkit::{TestHub, on_each_engine, scaled};

use crate::support::{eventually, expect, get, mint, send};
use crate::world::set_status;

const TASKS: usize = 32;
/// Keys revoked one after the other, at full scale.
const ROUNDS: usize = 80;
/// Requests each task makes after the end, to be sure.
const AFTER: usize = 5;

#[derive(Default)]
struct Watch {
    /// The answer that the key has ended has arrived.
    ended: AtomicBool,
    passed: AtomicU64,
    passed_after: AtomicU64,
}

/// Asks again and again. What is asked after the end was told must be refused.
async fn hammer(hub: &TestHub, key: &str, watch: &Watch) {
    let mut after = 0;
    while after < AFTER {
        let ended = watch.ended.load(Ordering::SeqCst);
        let answer = send(hub.request("GET", "/api/v1/me").bearer_auth(key)).await;
        let passed = answer.status.is_success();
        if !passed {
            answer.problem(401, "UNAUTHENTICATED");
        }
        watch.passed.fetch_add(u64::from(passed), Ordering::SeqCst);
        watch.passed_after.fetch_add(u64::from(passed && ended), Ordering::SeqCst);
        after += usize::from(ended);
    }
}

async fn ends_exactly(hub: &TestHub, key: &str, end: impl AsyncFnOnce()) {
    let watch = Watch::default();
    let hammering = join_all((0..TASKS).map(|_| hammer(hub, key, &watch)));
    // Changes of identity empty the cache again and again, so that some request is always loading.
    let stirring = async {
        while !watch.ended.load(Ordering::SeqCst) {
            let other = mint(hub, &hub.admin_key, json!({"name": "bystander"})).await;
            expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", other.id)), 204).await;
        }
    };
    let ending = async {
        eventually("a few hundred requests", async || {
            (watch.passed.load(Ordering::SeqCst) > 300).then_some(())
        })
        .await;
        end().await;
        watch.ended.store(true, Ordering::SeqCst);
    };
    tokio::join!(hammering, stirring, ending);
    assert_eq!(watch.passed_after.load(Ordering::SeqCst), 0, "requests passed with a key that had ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_passes_after_a_revocation() {
    on_each_engine(async |hub| {
        for _ in 0..scaled(ROUNDS) {
            let key = mint(&hub, &hub.admin_key, json!({"name": "busy"})).await;
            let path = format!("/api/v1/api-keys/{}", key.id);
            ends_exactly(&hub, &key.key, async || drop(expect(hub.admin("DELETE", &path), 204).await)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_passes_after_a_rotation() {
    on_each_engine(async |hub| {
        let key =
            mint(&hub, &hub.admin_key, json!({"name": "busy", "scopes": ["events:read", "keys:*"]})).await;
        let path = format!("/api/v1/api-keys/{}/rotate", key.id);
        // By its owner with the key itself, as a program does that renews its own.
        let rotate = hub.request("POST", &path).bearer_auth(&key.key);
        ends_exactly(&hub, &key.key, async || {
            let successor = crate::support::minted(&expect(rotate, 201).await);
            let me = get(&hub, &successor.key, "/api/v1/me").await;
            assert_eq!(me["permissions"], json!(["events:read", "keys:read", "keys:write"]));
        })
        .await;
        let old = get(&hub, &hub.admin_key, &format!("/api/v1/api-keys/{}", key.id)).await;
        assert!(old["rotated_to_id"].is_string() && old["revoked_at"].is_string(), "{old}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_passes_after_a_suspension() {
    on_each_engine(async |hub| {
        let key = hub.member(&hub.admin_key, "busy").await;
        let account = get(&hub, &key, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
        ends_exactly(&hub, &key, async || {
            set_status(&hub, &hub.admin_key, &account, "suspended").await;
        })
        .await;
    })
    .await;
}

/// What another server changes is known a second later at most (DECISIONS 16).
#[tokio::test]
async fn with_postgresql_a_cached_key_is_believed_for_a_second() {
    on_each_engine(async |hub| {
        let key = mint(&hub, &hub.admin_key, json!({"name": "shared"})).await;
        get(&hub, &key.key, "/api/v1/me").await;
        let backdoor = crate::backdoor::Backdoor::open(&hub).await;
        backdoor.change(&format!("UPDATE api_keys SET enabled = false WHERE id = '{}'", key.id)).await;
        hub.clock.advance(Duration::from_secs(1));
        let answer = send(hub.request("GET", "/api/v1/me").bearer_auth(&key.key)).await;
        let shared = hub.hub.records.engine().to_string() == "PostgreSQL";
        assert_eq!(answer.status.as_u16(), if shared { 401 } else { 200 });
    })
    .await;
}

/// The last use is noted, once a minute at most, beside the request.
#[tokio::test]
async fn the_last_use_is_noted() {
    on_each_engine(async |hub| {
        let key = mint(&hub, &hub.admin_key, json!({"name": "used"})).await;
        assert!(key.body["last_used_at"].is_null());
        let path = format!("/api/v1/api-keys/{}", key.id);
        let noted = async |before: &serde_json::Value| {
            get(&hub, &key.key, "/api/v1/me").await;
            eventually("the note of the last use", async || {
                let used = get(&hub, &hub.admin_key, &path).await["last_used_at"].clone();
                (!used.is_null() && used != *before).then_some(used)
            })
            .await
        };
        let first = noted(&json!(null)).await;
        get(&hub, &key.key, "/api/v1/me").await;
        assert_eq!(get(&hub, &hub.admin_key, &path).await["last_used_at"], first);
        hub.clock.advance(Duration::from_secs(61));
        noted(&first).await;
    })
    .await;
}
