//! Several servers over one PostgreSQL: what happens on one is told on the other at once, through Redis; and without it too.

use std::time::Duration;

use hub::Hub;
use hub::events::{Settings, feed};
use hub::standalone_grants::RedisOptions;
use serde_json::json;
use testkit::redis::Redis;
use testkit::socket::Socket;
use testkit::{Engine, Setup, TestHub};

use super::socket::{SILENCE, open_at};
use super::{APPROVALS, HASH};
use crate::support::{eventually, expect};

const NEVER: Duration = Duration::from_secs(3600);
const CHANNEL: &str = "ade:events:channel";

/// Two servers, the second of which does nothing but tell what it is told, and a socket of the second.
struct Two {
    first: TestHub,
    second: Hub,
    socket: Socket,
}

impl Two {
    async fn start(poll_every: Duration, redis: Option<&Redis>) -> Self {
        let hints = redis.map(|redis| RedisOptions { url: redis.url(), key_prefix: "ade:".into() });
        let events = Settings { poll_every, hints };
        let first = TestHub::start(Setup { events, ..Setup::on(Engine::Postgres) }).await;
        let second = first.idle_twin().await;
        feed::start(&second);
        if let Some(redis) = redis {
            until_both_listen(redis).await;
        }
        let url = first.serve(&second).await;
        let socket = open_at(&url, &first.admin_key, "?tenant_id=default").await.unwrap();
        Self { first, second, socket }
    }

    async fn mint(&self) -> String {
        let body = json!({"tenant_id": "default", "ir_hash": HASH});
        let made = expect(self.first.admin("POST", APPROVALS).json(&body), 201).await.json();
        made["approval_id"].as_str().unwrap().to_owned()
    }

    async fn is_told_of(&mut self, id: &str) {
        let told = self.socket.event().await;
        assert_eq!((&told["type"], &told["approval_id"]), (&json!("approval_created"), &json!(id)));
    }

    async fn stop(self) {
        self.second.stop().await;
    }
}

async fn until_both_listen(redis: &Redis) {
    let both = async || redis.ask(&format!("PUBSUB NUMSUB {CHANNEL}")).contains(":2").then_some(());
    eventually("two that listen", both).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_redis() {
    let mut redis = Redis::start();
    let mut two = Two::start(NEVER, Some(&redis)).await;
    for _ in 0..3 {
        let id = two.mint().await;
        two.is_told_of(&id).await;
    }
    // What was told while nobody heard it is found when the connection is back.
    redis.kill();
    let id = two.mint().await;
    assert!(two.socket.is_silent(SILENCE).await);
    redis.start_again();
    two.is_told_of(&id).await;
    until_both_listen(&redis).await;
    let id = two.mint().await;
    two.is_told_of(&id).await;
    two.stop().await;
}

/// Without Redis nobody is told before they look, which shows that it is Redis that tells above.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_whoever_looks_finds_it() {
    let mut deaf = Two::start(NEVER, None).await;
    deaf.mint().await;
    assert!(deaf.socket.is_silent(SILENCE).await);
    deaf.stop().await;
    let mut gone = Redis::start();
    let mut two = Two::start(Settings::default().poll_every, Some(&gone)).await;
    gone.kill();
    let id = two.mint().await;
    two.is_told_of(&id).await;
    two.stop().await;
}

/// CLEAN-08: a cleanup that was never started is told as none.
#[tokio::test]
async fn a_cleanup_that_was_never_started() {
    let first = TestHub::start(Setup::on(Engine::Postgres)).await;
    let second = first.idle_twin().await;
    let url = first.serve(&second).await;
    let http = testkit::reqwest::Client::builder().no_proxy().build().unwrap();
    let get = |path: &str| http.get(format!("{url}{APPROVALS}/{path}")).bearer_auth(&first.admin_key);
    let stats = expect(get("stats?tenant_id=default"), 200).await.json();
    assert_eq!(stats["cleanup_worker"], json!(null));
    let health = expect(get("health"), 200).await.json();
    assert_eq!((&health["cleanup_worker"], &health["healthy"]), (&json!(null), &json!(false)));
    second.stop().await;
}
