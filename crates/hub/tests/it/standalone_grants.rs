//! The stores of standalone grants keep one contract, and Redis keeps it under the names that others read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::standalone_grants::StoreKind;
use hub::standalone_grants::{InMemory, InRecords, InRedis, RedisOptions, Store, StoreError, Tenant};
use records::organizations;
use testkit::redis::Redis;
use testkit::standalone_grants::{Ground, is_used_once, keeps_the_contract};
use testkit::{Setup, TestHub, on_each_engine, scaled};

const ROUNDS: usize = 500;
const PREFIX: &str = "ade:";

async fn ground(hub: &TestHub, store: Arc<dyn Store>) -> Ground {
    hub.tenant("other").await;
    let all = organizations::all(&hub.hub.records).await.unwrap();
    let tenant = |slug: &str| Tenant::of(all.iter().find(|org| org.slug == slug).unwrap());
    Ground { store, ours: tenant("default"), other: tenant("other"), now: hub.hub.clock.now() }
}

async fn opened(redis: &Redis) -> Result<InRedis, StoreError> {
    InRedis::open(&RedisOptions { url: redis.url(), key_prefix: PREFIX.into() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_records_keep_the_contract() {
    on_each_engine(async |hub| {
        let store = Arc::new(InRecords(hub.hub.records.clone()));
        assert_eq!(store.kind(), StoreKind::Records);
        let ground = ground(&hub, store).await;
        keeps_the_contract(&ground).await;
        is_used_once(&ground, scaled(ROUNDS)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_keeps_the_contract() {
    let hub = TestHub::start(Setup::on(records::Engine::Sqlite)).await;
    let ground = ground(&hub, Arc::new(InMemory::default())).await;
    keeps_the_contract(&ground).await;
    is_used_once(&ground, scaled(ROUNDS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_keeps_the_contract() {
    let (hub, redis) = (TestHub::start(Setup::on(records::Engine::Sqlite)).await, Redis::start());
    let mut ground = ground(&hub, Arc::new(opened(&redis).await.unwrap())).await;
    keeps_the_contract(&ground).await;
    is_used_once(&ground, scaled(ROUNDS)).await;
    // The same for an organization that has its id in every key.
    (ground.ours, ground.other) = (ground.other, ground.ours);
    redis.ask("FLUSHALL");
    keeps_the_contract(&ground).await;
    let keys = redis.ask(&format!("KEYS {PREFIX}approval:*"));
    assert!(!keys.contains("approval:token"), "{keys}");
    assert!(redis.ask(&format!("KEYS {PREFIX}o:{}:approval:token:*", ground.ours.id)).contains("token:{"));
}

/// TOKEN-07, TOKEN-10, TOKEN-11: record and index end with the grant, also after it was changed; the set does not.
#[tokio::test]
async fn keys_in_redis_end_with_their_grant() {
    let (hub, redis) = (TestHub::start(Setup::on(records::Engine::Sqlite)).await, Redis::start());
    let ground = ground(&hub, Arc::new(opened(&redis).await.unwrap())).await;
    keeps_the_contract(&ground).await;
    let listed = redis.ask(&format!("KEYS {PREFIX}approval:*"));
    let keys: Vec<&str> = listed.split_whitespace().filter(|word| word.starts_with(PREFIX)).collect();
    let left = |key: &str| -> i64 {
        redis.ask(&format!("PTTL {key}")).trim_start_matches(':').lines().next().unwrap().parse().unwrap()
    };
    for key in &keys {
        match key.contains(":tenant:") {
            true => assert_eq!(left(key), -1, "{key}"),
            false => assert!((1..=3_600_000).contains(&left(key)), "{key} lives for {} ms", left(key)),
        }
    }
    // Used, acknowledged and pending ones are among them.
    assert!(keys.len() > 10, "{keys:?}");
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_told() {
    let mut redis = Redis::start();
    let hub = TestHub::start(Setup::on(records::Engine::Sqlite)).await;
    let ground = ground(&hub, Arc::new(opened(&redis).await.unwrap())).await;
    redis.kill();
    assert!(ground.store.health_check().await.is_err());
    assert!(opened(&redis).await.is_err());
    redis.start_again();
    let deadline = Instant::now() + Duration::from_secs(30);
    while ground.store.health_check().await.is_err() {
        assert!(Instant::now() < deadline, "the connection does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    keeps_the_contract(&ground).await;
    for wrong in ["http://127.0.0.1", "redis://", "rediss://127.0.0.1:1", "nonsense"] {
        let options = RedisOptions { url: wrong.into(), key_prefix: PREFIX.into() };
        assert!(InRedis::open(&options).await.is_err(), "{wrong}");
    }
}
