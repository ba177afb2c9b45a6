//! How many locks, how long, how often, and how many who wait.

use std::time::Duration;

use domain::locks::LOCKS_PER_AGENT_MAX;
use futures_util::future::join_all;
use serde_json::json;
use testkit::{Setup, on_each_engine};

use crate::locks::{KEY, acquired, asks, logged, post, stand_in_line};
use crate::support::{eventually, expect, get, on_each_engine_with, refused, send_any};

#[tokio::test]
async fn settings_and_limits_hold() {
    on_each_engine(async |hub| {
        let settings = json!({"lock:default_ttl": 4, "lock:max_ttl": 4, "lock:heartbeat_interval": 2, "lock:max_queue_depth": 1});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&settings), 200).await;
        let ann = hub.member(&hub.admin_key, "ann").await;
        let lock = acquired(&hub, &ann, json!({"key": KEY})).await;
        assert_eq!(lock["ttl_seconds"], json!(4));
        refused(post(&hub, &ann, "acquire", &json!({"key": "resource:a:b", "ttl_seconds": 5})), 422, "VALIDATION_FAILED").await;
        let queue = json!({"key": KEY, "queue": true});
        expect(post(&hub, &hub.admin_key, "acquire", &queue), 202).await;
        let full = send_any(post(&hub, &hub.member(&hub.admin_key, "bob").await, "acquire", &queue)).await;
        full.problem(503, "QUEUE_FULL");
        let held = refused(post(&hub, &hub.admin_key, "acquire", &json!({"key": KEY, "owner": "x"})), 423, "LOCK_HELD");
        assert_eq!(held.await["queue_length"], json!(1), "who does not wait is told who holds it");
        // The clock on the wall does not end it; four seconds do.
        hub.clock.advance(Duration::from_secs(3600));
        expect(post(&hub, &ann, "heartbeat", &json!({"lock_id": lock["lock_id"], "ttl_extension": 1})), 200).await;
        eventually("its end", async || logged(&hub, "lock:expired").await.pop()).await;
        refused(post(&hub, &ann, "heartbeat", &json!({"lock_id": lock["lock_id"]})), 409, "LOCK_EXPIRED").await;
    })
    .await;
}

#[tokio::test]
async fn an_account_waits_only_so_often_at_once() {
    on_each_engine(async |hub| {
        let ann = hub.member(&hub.admin_key, "ann").await;
        let keys = ["resource:a:x", "resource:a:y"];
        for key in keys {
            acquired(&hub, &hub.admin_key, json!({"key": key})).await;
        }
        let ask =
            |number: usize| json!({"key": keys[number % 2], "owner": number.to_string(), "wait_seconds": 60});
        let waiting: Vec<_> = (0..200).map(|number| asks(&hub, &ann, &ask(number))).collect();
        for key in keys {
            stand_in_line(&hub, key, 100).await;
        }
        let other = json!({"key": "resource:a:z", "wait_seconds": 1});
        refused(post(&hub, &ann, "acquire", &other), 429, "RATE_LIMITED").await;
        let full = json!({"key": keys[0], "wait_seconds": 1});
        let bob = hub.member(&hub.admin_key, "bob").await;
        send_any(post(&hub, &bob, "acquire", &full)).await.problem(503, "QUEUE_FULL");
        // Who does not wait, or with a ticket, takes no place from those who do.
        acquired(&hub, &ann, json!({"key": "resource:a:z"})).await;
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for key in keys {
            stand_in_line(&hub, key, 0).await;
        }
        acquired(&hub, &ann, json!({"key": "resource:a:w", "wait_seconds": 1})).await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_asks_only_so_often() {
    let limited = |setup: &mut Setup| setup.lock_rate_limit = 3;
    on_each_engine_with(limited, async |hub| {
        for number in 0..3 {
            acquired(&hub, &hub.admin_key, json!({"key": format!("resource:a:{number}")})).await;
        }
        refused(post(&hub, &hub.admin_key, "acquire", &json!({"key": KEY})), 429, "RATE_LIMITED").await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_holds_only_so_many() {
    const AT_ONCE: usize = 125;
    on_each_engine(async |hub| {
        let ann = hub.member(&hub.admin_key, "ann").await;
        let batch = |batch: usize| {
            let key = |number: usize| json!({"key": format!("resource:a:{batch}-{number}")});
            let keys: Vec<_> = (0..AT_ONCE).map(key).collect();
            expect(post(&hub, &ann, "acquire-many", &json!({"keys": keys, "ttl_seconds": 300})), 200)
        };
        join_all((0..LOCKS_PER_AGENT_MAX / AT_ONCE).map(batch)).await;
        let more = json!({"key": "resource:a:more"});
        for full in [more.clone(), json!({"key": "resource:a:more", "owner": "other"})] {
            refused(post(&hub, &ann, "acquire", &full), 429, "TOO_MANY_LOCKS").await;
        }
        refused(post(&hub, &ann, "acquire-many", &json!({"keys": [more]})), 429, "TOO_MANY_LOCKS").await;
        acquired(&hub, &hub.admin_key, more.clone()).await;
        // A place in a line counts as well.
        let ticket = json!({"key": "resource:a:more", "queue": true});
        refused(post(&hub, &ann, "acquire", &ticket), 429, "TOO_MANY_LOCKS").await;
        let held = get(&hub, &ann, "/api/v1/locks/queue?key=resource:a:0-0").await;
        let id = &held["holders"][0]["lock_id"];
        expect(post(&hub, &ann, "release", &json!({"lock_id": id})), 200).await;
        expect(post(&hub, &ann, "acquire", &ticket), 202).await;
    })
    .await;
}
