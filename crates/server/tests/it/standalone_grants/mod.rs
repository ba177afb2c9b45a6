//! Standalone grants over HTTP, on every store and both engines.

mod acknowledged;
mod failover;
mod fan_out;
mod loss;
mod once;
mod path;
mod refusals;
mod rest;
mod rights;
mod socket;
mod worker;

use std::sync::Arc;

use hub::standalone_grants::{InMemory, InRedis, RedisOptions, Store};
use serde_json::{Value, json};
use testkit::redis::Redis;
use testkit::reqwest::RequestBuilder;
use testkit::{Engine, Setup, TestHub};

use crate::support::{eventually, expect};

const APPROVALS: &str = "/api/ir/approvals";
const HASH: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A hub whose grants are in one of the stores.
struct Ground {
    hub: TestHub,
    redis: Option<Redis>,
    org: String,
}

/// A grant and its token.
struct Minted {
    id: String,
    token: String,
}

/// Runs the test with grants in the records of each engine, in memory, and in Redis beside each engine.
async fn on_each_store(test: impl AsyncFn(Ground)) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        test(started(engine, None, None).await).await;
        test(in_redis(engine, &[]).await).await;
    }
    test(started(Engine::Sqlite, Some(Arc::new(InMemory::default())), None).await).await;
}

async fn in_redis(engine: Engine, options: &[&str]) -> Ground {
    let redis = Redis::start_with(options);
    let options = RedisOptions { url: redis.url(), key_prefix: "ade:".into() };
    let store = InRedis::open(&options).await.unwrap();
    started(engine, Some(Arc::new(store)), Some(redis)).await
}

async fn started(engine: Engine, grant_store: Option<Arc<dyn Store>>, redis: Option<Redis>) -> Ground {
    let hub = TestHub::start(Setup { grant_store, ..Setup::on(engine) }).await;
    let me = expect(hub.admin("GET", "/api/v1/me"), 200).await.json();
    let org = me["organization"]["id"].as_str().unwrap().to_owned();
    Ground { hub, redis, org }
}

impl Ground {
    fn create(&self, body: &Value) -> RequestBuilder {
        self.hub.admin("POST", APPROVALS).json(body)
    }

    async fn mint(&self) -> Minted {
        self.mint_for(3600).await
    }

    async fn mint_for(&self, ttl_seconds: u32) -> Minted {
        let body = json!({"tenant_id": self.org, "ir_hash": HASH, "ttl_seconds": ttl_seconds});
        let made = expect(self.create(&body), 201).await.json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Minted { id: text("approval_id"), token: text("token") }
    }

    fn consume(&self, token: &str) -> RequestBuilder {
        let body = json!({"token": token, "tenant_id": self.org, "ir_hash": HASH, "consumed_by": "ci"});
        self.hub.admin("POST", &format!("{APPROVALS}/consume")).json(&body)
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.hub.admin("GET", &format!("{APPROVALS}/{path}"))
    }

    async fn stats(&self) -> Value {
        expect(self.get(&format!("stats?tenant_id={}", self.org)), 200).await.json()
    }

    async fn counts(&self) -> (u64, u64, u64) {
        let stats = self.stats().await;
        let count = |name: &str| stats["by_status"][name].as_u64().unwrap();
        (count("pending"), count("consumed"), count("expired"))
    }

    async fn clean(&self) -> Value {
        expect(self.hub.admin("POST", &format!("{APPROVALS}/cleanup")), 200).await.json()
    }

    async fn health(&self) -> Value {
        expect(self.get("health"), 200).await.json()
    }

    /// Until the hub has its connection to Redis back.
    async fn until_connected(&self) {
        let healthy = async || (self.health().await["redis_available"] == true).then_some(());
        eventually("the connection", healthy).await;
    }

    /// The events of grants, in their order.
    async fn events(&self) -> Vec<(String, String)> {
        let events = expect(self.hub.admin("GET", "/api/v1/events?types=grant:*"), 200).await.json();
        let told = |event: &Value| {
            let text = |pointer: &str| event.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            (text("/type"), text("/payload/approval_id"))
        };
        events["items"].as_array().unwrap().iter().map(told).collect()
    }
}
