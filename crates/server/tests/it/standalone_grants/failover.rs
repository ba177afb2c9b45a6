//! Redis exchanged for a copy of it, or killed in the middle: no token is revived, none is used twice.

use std::sync::Arc;

use futures_util::future::join_all;
use hub::standalone_grants::{InRedis, RedisOptions};
use testkit::detour::Detour;
use testkit::redis::Redis;
use testkit::{Engine, scaled};

use super::{Ground, in_redis, started};
use crate::backdoor::Backdoor;
use crate::support::{Answer, eventually, expect, refused, send_any};

const CROWD: usize = 64;
const ROUNDS: usize = 30;
const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status.as_u16() == status).count()
}

/// A replica that has everything the master has.
async fn replica_of(master: &Redis) -> Redis {
    let replica = Redis::start_with(&["--replicaof", "127.0.0.1", &master.port().to_string()]);
    let linked = async || replica.ask("INFO replication").contains("master_link_status:up").then_some(());
    eventually("the replica", linked).await;
    replica
}

async fn use_at_once(ground: &Ground, token: &str) -> Vec<Answer> {
    join_all((0..CROWD).map(|_| send_any(ground.consume(token)))).await
}

/// Replication is asynchronous: the copy that takes over may not know of the last uses, and of the last grants.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failover_loses_grants_and_revives_none() {
    for engine in ENGINES {
        let mut master = Redis::start();
        let replica = replica_of(&master).await;
        let detour = Detour::to(master.port()).await;
        let url = format!("redis://127.0.0.1:{}", detour.port());
        let store = InRedis::open(&RedisOptions { url, key_prefix: "ade:".into() }).await.unwrap();
        let ground = started(engine, Some(Arc::new(store)), None).await;

        let (used, pending) = (ground.mint().await, ground.mint().await);
        // Not by `WAIT`, which waits for what its own connection has written.
        for minted in [&used, &pending] {
            let copied = format!("EXISTS ade:approval:token:{{{}}}", minted.id);
            eventually("a copy", async || replica.ask(&copied).starts_with(":1").then_some(())).await;
        }
        replica.ask("REPLICAOF NO ONE");
        let lost = ground.mint().await;
        expect(ground.consume(&used.token), 200).await;
        master.kill();
        detour.lead_to(replica.port());
        ground.until_connected().await;

        let revived = replica.ask(&format!("GET ade:approval:token:{{{}}}", used.id));
        assert!(revived.contains("\"pending\""), "the copy is older: {revived}");
        let again = use_at_once(&ground, &used.token).await;
        assert_eq!(count(&again, 409), CROWD, "used before the failover");
        let first = use_at_once(&ground, &pending.token).await;
        assert_eq!((count(&first, 200), count(&first, 409)), (1, CROWD - 1), "once, after it");
        refused(ground.consume(&lost.token), 404, "UNKNOWN_TOKEN").await;
        assert_eq!(ground.counts().await, (1, 2, 0));
        // What the copy never had ends in time, like everything else.
        ground.hub.clock.advance(std::time::Duration::from_secs(3601));
        ground.clean().await;
        assert_eq!(ground.counts().await, (0, 2, 1));
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("consumed_tokens").await, 2);
    }
}

/// `kill -9` while many use one token, again and again; it comes back with all that it has said it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_while_many_use_a_token() {
    for engine in ENGINES {
        let mut ground = in_redis(engine, &["--appendonly", "yes", "--appendfsync", "always"]).await;
        let mut redis = ground.redis.take().unwrap();
        for round in 0..scaled(ROUNDS) {
            let minted = ground.mint().await;
            let (answers, ()) = tokio::join!(use_at_once(&ground, &minted.token), async {
                tokio::task::block_in_place(|| redis.kill());
            });
            let known = [200, 404, 409, 503].map(|status| count(&answers, status));
            assert_eq!(known.iter().sum::<usize>(), CROWD, "round {round}: {known:?}");
            redis.start_again();
            ground.until_connected().await;
            let later = use_at_once(&ground, &minted.token).await;
            assert_eq!(known[0] + count(&later, 200), 1, "round {round}: {known:?}");
            assert_eq!(count(&later, 200) + count(&later, 409), CROWD, "round {round}");
        }
        let rounds = scaled(ROUNDS) as u64;
        assert_eq!(ground.counts().await, (0, rounds, 0));
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("audit_logs WHERE action = 'grant:consumed'").await, rounds);
        ground.redis = Some(redis);
    }
}
