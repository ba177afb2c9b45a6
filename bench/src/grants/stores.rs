//! The stores by themselves: how long one call takes (PERF-05 to PERF-07).

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use domain::Id;
use domain::secrets::SecretKind;
use domain::standalone_grants::StandaloneGrant;
use hub::clock::{Clock as _, SystemClock};
use hub::ids::{Ids as _, SystemIds, secret};
use hub::standalone_grants::{InMemory, InRedis, RedisOptions, Store, Tenant};
use testkit::redis::Redis;

use super::bare::pending;
use crate::Bench;
use crate::closed_loop::{self, Worker};
use crate::figures::{Bar, Figure, Row};
use crate::turns::{Side, taken};

/// What S002 promises of each: making one, finding it by its id, finding it by its token, in milliseconds.
const IN_MEMORY_MAX: [f64; 3] = [1.0, 1.0, 1.0];
const IN_REDIS_MAX: [f64; 3] = [5.0, 3.0, 3.0];

#[derive(Clone, Copy)]
enum Call {
    Create,
    Get,
    FindByToken,
}

const CALLS: [(Call, &str); 3] =
    [(Call::Create, "create"), (Call::Get, "get by id"), (Call::FindByToken, "find by token")];

/// One who calls a store, one call after the other.
struct Caller {
    store: Arc<dyn Store>,
    tenant: Tenant,
    clock: SystemClock,
    known: StandaloneGrant,
    call: Call,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let redis = Redis::start();
    let options = RedisOptions { url: redis.url(), key_prefix: "alone:".into() };
    let in_redis: Arc<dyn Store> = Arc::new(bench.runtime.block_on(InRedis::open(&options))?);
    let in_memory: Arc<dyn Store> = Arc::new(InMemory::default());
    let mut table = Vec::new();
    for (store, name, bars) in [(in_memory, "memory", IN_MEMORY_MAX), (in_redis, "Redis", IN_REDIS_MAX)] {
        let side = |(call, what): (Call, &str)| {
            let store = Arc::clone(&store);
            Side::new(format!("store in {name}, {what}"), move |turn| {
                bench.runtime.block_on(async {
                    let caller = Caller::new(Arc::clone(&store), call).await?;
                    closed_loop::run([caller], turn, std::process::id()).await
                })
            })
        };
        let measured = taken(bench, CALLS.map(side))?;
        for ((side, (_, what)), bar) in measured.iter().zip(CALLS).zip(bars) {
            let p50 = Figure::of(side.values(|run| run.p50_micros / 1e3));
            table.push(
                Row::new(format!("store in {name}, {what}: p50, ms"), p50, 3).with_bar(Bar::Below(bar)),
            );
        }
    }
    Ok(table)
}

impl Caller {
    async fn new(store: Arc<dyn Store>, call: Call) -> Result<Self> {
        let (clock, tenant) =
            (SystemClock::default(), Tenant { id: Id::new(SystemIds.fresh()), is_default: true });
        let known = pending(tenant, &secret(SecretKind::Grant)?, clock.now());
        ensure!(store.create(tenant, &known, clock.now()).await?, "it was there before");
        Ok(Self { store, tenant, clock, known, call })
    }
}

impl Worker for Caller {
    async fn once(&mut self) -> Result<()> {
        self.timed().await.map(drop)
    }

    /// What is made is dropped again, outside the time that counts: a run makes more than memory holds.
    async fn timed(&mut self) -> Result<Duration> {
        let now = self.clock.now();
        let began = Instant::now();
        match self.call {
            Call::Get => {
                ensure!(self.store.get(self.tenant, self.known.id, now).await?.is_some(), "it is gone");
            }
            Call::FindByToken => {
                let found = self.store.find_by_token_hash(self.tenant, self.known.token_hash, now).await?;
                ensure!(found.is_some(), "it is gone");
            }
            Call::Create => {
                let grant = pending(self.tenant, &secret(SecretKind::Grant)?, now);
                let began = Instant::now();
                ensure!(self.store.create(self.tenant, &grant, now).await?, "it was there before");
                let took = began.elapsed();
                self.store.delete(self.tenant, grant.id).await?;
                return Ok(took);
            }
        }
        Ok(began.elapsed())
    }
}
