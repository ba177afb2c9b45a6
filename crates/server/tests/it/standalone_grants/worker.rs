//! The cleanup: what has expired is told, counted and cleared away, once, wherever it was kept.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use testkit::Engine;

use super::{APPROVALS, HASH, in_redis, on_each_store};
use crate::backdoor::Backdoor;
use crate::support::{eventually, expect, refused};

/// `test_cleanup_worker_stats`
#[tokio::test]
async fn what_it_did_is_counted() {
    on_each_store(async |ground| {
        let (short, long) = (ground.mint_for(60).await, ground.mint_for(3600).await);
        ground.hub.clock.advance(Duration::from_secs(61));
        let before = ground.stats().await["cleanup_worker"]["runs"].as_u64().unwrap();
        // Many at once end it once.
        let path = format!("{APPROVALS}/cleanup");
        join_all((0..8).map(|_| expect(ground.hub.admin("POST", &path), 200))).await;
        let worker = ground.stats().await["cleanup_worker"].clone();
        assert!(worker["runs"].as_u64().unwrap() >= before + 8, "{worker}");
        assert_eq!((&worker["running"], &worker["interval_seconds"]), (&json!(true), &json!(300)));
        assert_eq!(worker["total_cleaned"], json!(1), "{worker}");
        assert!(worker["last_run"].is_string() && worker["last_duration_ms"].is_u64(), "{worker}");
        assert_eq!(ground.counts().await, (1, 0, 1));
        let expired = ("grant:expired".to_owned(), short.id.clone());
        let told = async || ground.events().await.contains(&expired).then_some(());
        eventually("the event", told).await;
        let events = ground.events().await;
        assert_eq!(events.iter().filter(|(what, _)| what == "grant:expired").count(), 1, "{events:?}");
        expect(ground.consume(&long.token), 200).await;
        let health = expect(ground.get("health"), 200).await.json();
        assert_eq!(
            (&health["healthy"], &health["message"]),
            (&json!(true), &json!("Approval system is healthy"))
        );
        assert_eq!(health["redis_available"], json!(ground.redis.is_some()));
        let worker = &health["cleanup_worker"];
        assert_eq!((&worker["healthy"], &worker["status"]), (&json!(true), &json!("running")));
        assert_eq!(worker["message"], "Cleanup worker is healthy");
        assert!(worker["stats"]["runs"].is_u64(), "{worker}");
    })
    .await;
}

/// Nobody learns from the statistics how much others have to clean up.
#[tokio::test]
async fn each_organization_sees_what_was_cleaned_for_it() {
    on_each_store(async |ground| {
        let theirs = ground.hub.tenant("other").await;
        let body = json!({"tenant_id": "other", "ir_hash": HASH, "ttl_seconds": 60});
        expect(ground.hub.request("POST", APPROVALS).bearer_auth(&theirs).json(&body), 201).await;
        ground.mint_for(60).await;
        ground.mint_for(60).await;
        ground.hub.clock.advance(Duration::from_secs(61));
        ground.clean().await;
        let path = format!("{APPROVALS}/cleanup");
        let done = expect(ground.hub.request("POST", &path).bearer_auth(&theirs), 200).await.json();
        assert_eq!(done["cleanup_worker"]["total_cleaned"], json!(1), "{done}");
        assert_eq!(ground.stats().await["cleanup_worker"]["total_cleaned"], json!(2));
    })
    .await;
}

/// The mark of a token stays as long as its grant answers, and no longer.
#[tokio::test]
async fn a_used_token_is_forgotten_with_its_grant() {
    on_each_store(async |ground| {
        let minted = ground.mint_for(60).await;
        expect(ground.consume(&minted.token), 200).await;
        let backdoor = Backdoor::open(&ground.hub).await;
        for (seconds, left) in [(24 * 3600, 1), (61, 0)] {
            ground.hub.clock.advance(Duration::from_secs(seconds));
            ground.clean().await;
            for table in ["standalone_grants", "consumed_tokens"] {
                assert_eq!(backdoor.count(table).await, left, "{table}");
            }
        }
        refused(ground.consume(&minted.token), 404, "UNKNOWN_TOKEN").await;
        assert_eq!(ground.counts().await, (0, 1, 0), "what there was stays counted");
    })
    .await;
}

/// The standing job does it without being asked (CLEAN-01).
#[tokio::test]
async fn it_comes_by_itself() {
    on_each_store(async |ground| {
        ground.mint_for(60).await;
        ground.hub.clock.advance(Duration::from_secs(301 + 60));
        let expired = async || {
            let stats = ground.stats().await;
            let done = stats["cleanup_worker"]["total_cleaned"] == json!(1);
            done.then_some(stats)
        };
        let stats = eventually("the cleanup", expired).await;
        assert_eq!(stats["by_status"]["expired"], 1);
    })
    .await;
}

/// what Redis dropped by itself, or lost before its time, is noticed.
#[tokio::test]
async fn what_redis_dropped_is_noticed() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let ground = in_redis(engine, &[]).await;
        let redis = ground.redis.as_ref().unwrap();
        let (dropped, used, kept) = (ground.mint().await, ground.mint().await, ground.mint().await);
        expect(ground.consume(&used.token), 200).await;
        for gone in [&dropped, &used] {
            redis.ask(&format!("DEL ade:approval:token:{{{}}}", gone.id));
        }
        let set = format!("SCARD ade:approval:tenant:{{{}}}", ground.org);
        assert!(redis.ask(&set).starts_with(":3"));
        ground.clean().await;
        assert!(redis.ask(&set).starts_with(":1"), "only what is there is referred to");
        assert_eq!(ground.counts().await, (1, 1, 1));
        let lost = ("grant:expired".to_owned(), dropped.id.clone());
        let told = async || ground.events().await.contains(&lost).then_some(());
        eventually("the event", told).await;
        assert_eq!(expect(ground.get(&dropped.id), 200).await.json()["status"], "expired");
        assert_eq!(expect(ground.get(&used.id), 200).await.json()["status"], "consumed");
        expect(ground.consume(&kept.token), 200).await;
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("events WHERE type = 'grant:expired'").await, 1);
    }
}

/// METRIC-12, under our names.
#[tokio::test]
async fn operators_see_numbers() {
    on_each_store(async |ground| {
        // Whoever looks first begins the counting.
        expect(ground.hub.admin("GET", "/metrics"), 200).await;
        let minted = ground.mint().await;
        expect(ground.consume(&minted.token), 200).await;
        ground.mint_for(60).await;
        ground.hub.clock.advance(Duration::from_secs(61));
        ground.clean().await;
        let text = expect(ground.hub.admin("GET", "/metrics"), 200).await.text();
        for name in [
            "countersign_grants_created_total",
            "countersign_grants_consumed_total",
            "countersign_grants_expired_total",
            "countersign_grant_cleanup_runs_total",
            "countersign_grant_cleanup_cleaned_total",
            "countersign_grant_store_healthy",
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            let value: f64 =
                line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().parse().unwrap();
            assert!(value >= 1.0, "{line:?}");
        }
    })
    .await;
}
