//! A Redis that is away, full, empty, or older than it was: what is not sure does not happen.

use serde_json::json;
use testkit::Engine;
use testkit::redis::Redis;

use super::{APPROVALS, Ground, HASH, in_redis};
use crate::backdoor::Backdoor;
use crate::support::{expect, refused, send_any};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

impl Ground {
    fn redis(&mut self) -> &mut Redis {
        self.redis.as_mut().unwrap()
    }

    async fn key_of(&self, minted: &super::Minted) -> String {
        format!("ade:approval:token:{{{}}}", minted.id)
    }
}

/// Everything that a grant leaves in the records.
async fn rows(backdoor: &Backdoor) -> u64 {
    let tables = ["standalone_grants", "consumed_tokens", "standalone_grant_counts"];
    let mut sum = backdoor.count("audit_logs WHERE action LIKE 'grant:%'").await;
    for table in tables {
        sum += backdoor.count(table).await;
    }
    sum
}

#[tokio::test]
async fn a_redis_that_was_killed_between_making_and_using() {
    for engine in ENGINES {
        let mut ground = in_redis(engine, &[]).await;
        let backdoor = Backdoor::open(&ground.hub).await;
        let minted = ground.mint().await;
        let before = rows(&backdoor).await;
        ground.redis().kill();
        send_any(ground.consume(&minted.token)).await.problem(503, "COORDINATION_UNAVAILABLE");
        let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
        send_any(ground.create(&body)).await.problem(503, "COORDINATION_UNAVAILABLE");
        let health = ground.health().await;
        assert_eq!((&health["healthy"], &health["redis_available"]), (&json!(false), &json!(false)));
        assert_eq!(rows(&backdoor).await, before, "nothing half made, nothing used");
        // What does not need the store goes on.
        assert_eq!(ground.counts().await, (1, 0, 0));
        expect(ground.get(&minted.id), 200).await;
        ground.redis().start_again();
        ground.until_connected().await;
        refused(ground.consume(&minted.token), 404, "UNKNOWN_TOKEN").await;
        let fresh = ground.mint().await;
        expect(ground.consume(&fresh.token), 200).await;
    }
}

/// A failover to a copy that does not know yet that the token was used.
#[tokio::test]
async fn a_redis_that_is_older_than_it_was_revives_no_token() {
    for engine in ENGINES {
        let ground = in_redis(engine, &[]).await;
        let minted = ground.mint().await;
        let key = ground.key_of(&minted).await;
        let redis = ground.redis.as_ref().unwrap();
        assert!(redis.ask(&format!("COPY {key} copy")).starts_with(":1"));
        expect(ground.consume(&minted.token), 200).await;
        assert!(redis.ask(&format!("GET {key}")).contains("\"consumed\""), "the store is told");
        assert!(redis.ask(&format!("COPY copy {key} REPLACE")).starts_with(":1"));
        assert!(redis.ask(&format!("GET {key}")).contains("\"pending\""));
        refused(ground.consume(&minted.token), 409, "ALREADY_CONSUMED").await;
        assert_eq!(ground.counts().await, (0, 1, 0));
        assert_eq!(expect(ground.get(&minted.id), 200).await.json()["status"], "consumed");
    }
}

/// A log that is synced with every change brings everything back after `kill -9`.
#[tokio::test]
async fn a_redis_that_keeps_a_log_keeps_grants() {
    for engine in ENGINES {
        let mut ground = in_redis(engine, &["--appendonly", "yes", "--appendfsync", "always"]).await;
        let (used, pending) = (ground.mint().await, ground.mint().await);
        expect(ground.consume(&used.token), 200).await;
        ground.redis().kill();
        ground.redis().start_again();
        ground.until_connected().await;
        refused(ground.consume(&used.token), 409, "ALREADY_CONSUMED").await;
        expect(ground.consume(&pending.token), 200).await;
        assert_eq!(ground.counts().await, (0, 2, 0));
    }
}

/// TOKEN-34.
#[tokio::test]
async fn a_redis_that_is_full() {
    for engine in ENGINES {
        let ground = in_redis(engine, &["--maxmemory-policy", "noeviction"]).await;
        let backdoor = Backdoor::open(&ground.hub).await;
        let minted = ground.mint().await;
        let before = rows(&backdoor).await;
        let redis = ground.redis.as_ref().unwrap();
        let keys = redis.ask("DBSIZE");
        redis.ask("CONFIG SET maxmemory 1");
        let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
        send_any(ground.create(&body)).await.problem(503, "COORDINATION_UNAVAILABLE");
        assert_eq!((rows(&backdoor).await, redis.ask("DBSIZE")), (before, keys), "nothing half made");
        // The records decide: a store that cannot note it does not make the token good a second time.
        expect(ground.consume(&minted.token), 200).await;
        refused(ground.consume(&minted.token), 409, "ALREADY_CONSUMED").await;
        redis.ask("CONFIG SET maxmemory 0");
        let fresh = ground.mint().await;
        expect(ground.consume(&fresh.token), 200).await;
        assert_eq!(ground.counts().await, (0, 2, 0));
    }
}

/// What the records did not take is not left in the store either.
#[tokio::test]
async fn a_grant_that_could_not_be_written_is_taken_back() {
    for engine in ENGINES {
        let ground = in_redis(engine, &[]).await;
        let backdoor = Backdoor::open(&ground.hub).await;
        let redis = ground.redis.as_ref().unwrap();
        let keys = redis.ask("DBSIZE");
        backdoor.run("ALTER TABLE standalone_grant_counts RENAME TO away").await;
        let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
        let answer = send_any(ground.create(&body)).await;
        assert!(answer.status.is_server_error(), "{}", answer.text());
        assert_eq!(redis.ask("DBSIZE"), keys, "nothing half made");
        backdoor.run("ALTER TABLE away RENAME TO standalone_grant_counts").await;
        let minted = ground.mint().await;
        expect(ground.consume(&minted.token), 200).await;
    }
}

/// What is in the store alone opens nothing: there must be a row.
#[tokio::test]
async fn a_record_that_nobody_has_a_row_of() {
    for engine in ENGINES {
        let ground = in_redis(engine, &[]).await;
        let minted = ground.mint().await;
        let backdoor = Backdoor::open(&ground.hub).await;
        backdoor.change(&format!("DELETE FROM standalone_grants WHERE id = '{}'", minted.id)).await;
        refused(ground.consume(&minted.token), 404, "UNKNOWN_TOKEN").await;
        refused(ground.hub.admin("GET", &format!("{APPROVALS}/{}", minted.id)), 404, "NOT_FOUND").await;
    }
}
