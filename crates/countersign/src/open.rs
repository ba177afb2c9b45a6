//! From the configuration to a hub that is ready to start.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use hub::clock::{Clock, SystemClock};
use hub::identity::bootstrap::{HandedOver, bootstrap};
use hub::identity::oidc::Provider;
use hub::identity::operator::Operator;
use hub::ids::SystemIds;
use hub::keys::HubKeys;
use hub::outgoing::{ANSWER_WITHIN, Outgoing, SystemNames};
use hub::standalone_grants::{InMemory, InRedis, RedisOptions, Settings, Store};
use hub::{Hub, events, instance};
use records::{Db, Engine, migrate};

use crate::config::{ApprovalStore, Config, ConnectionUrl};
use crate::data_dir::{DataDir, database_in, locks_in};

/// Requests a minute and address before login.
const ANONYMOUS_RATE_LIMIT: u32 = 300;
/// Space for outputs and archives of one organization.
const BLOB_QUOTA_BYTES: i64 = 10 * 1024 * 1024 * 1024;

/// A hub that has not started yet.
pub(crate) struct Opened {
    pub(crate) hub: Hub,
    /// What is handed to the operator, if this was the first start.
    pub(crate) first_start: Option<HandedOver>,
    _data: DataDir,
}

/// Opens everything a server needs, and refuses where anything is not as it must be.
pub(crate) async fn hub(config: &Config, may_migrate: bool) -> anyhow::Result<Opened> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let data = DataDir::take(&config.data)?;
    let records = match &config.records.database_url {
        None => {
            migrate::run_sqlite(&data.database(), clock.now())?;
            Db::open_sqlite(&data.database())?
        }
        Some(_) => {
            let records = postgres(config)?;
            migrated(&records, config, may_migrate, &*clock).await?;
            records
        }
    };
    let keys = HubKeys::open(&config.keys_dir, &records, clock.now()).await?;
    let hub_config = hub::Config {
        rate_limit: config.http.rate_limit,
        anonymous_rate_limit: ANONYMOUS_RATE_LIMIT,
        lock_rate_limit: config.http.lock_rate_limit,
        blob_quota_bytes: BLOB_QUOTA_BYTES,
        keys,
        oidc: config.oidc.clone().map(Provider::new).transpose()?,
        grants: grants(config).await?,
        outgoing: Outgoing::new(config.allow_private.clone(), Arc::new(SystemNames), ANSWER_WITHIN),
        events: events::Settings { hints: redis(config), ..events::Settings::default() },
    };
    let hub = Hub::new(records, clock, Arc::new(SystemIds), hub_config);
    if hub.records.engine() == Engine::Postgres {
        let lease = instance::hold(&hub).await?;
        drop(hub.coordination.lease.set(lease));
    }
    let first_start = bootstrap(&hub, data.path()).await?;
    hub::locks::open(&hub, &locks_in(data.path()), hub::locks::LOG_BYTES).await?;
    Ok(Opened { hub, first_start, _data: data })
}

/// Where standalone grants are kept. A Redis that is not there is a mistake in the configuration, like any other.
async fn grants(config: &Config) -> anyhow::Result<Settings> {
    let apart: Option<Arc<dyn Store>> = match (config.approvals.store, &config.redis.url) {
        (ApprovalStore::Records, _) => None,
        (ApprovalStore::Memory, _) => Some(Arc::new(InMemory::default())),
        (ApprovalStore::Redis, None) => bail!("REDIS_URL is not set"),
        (ApprovalStore::Redis, Some(url)) => {
            let options = redis_at(config, url);
            let opened = InRedis::open(&options).await.map_err(|error| {
                anyhow!(
                    "Redis at REDIS_URL ({url}), which APPROVAL_STORE=redis needs, cannot be used: {error}. Start it, \
                     or correct REDIS_URL."
                )
            })?;
            Some(Arc::new(opened))
        }
    };
    let (default_ttl, cleanup_interval) = (config.approvals.default_ttl, config.approvals.cleanup_interval);
    Ok(Settings { apart, default_ttl, cleanup_interval })
}

/// Where Redis is, if there is one.
fn redis(config: &Config) -> Option<RedisOptions> {
    config.redis.url.as_ref().map(|url| redis_at(config, url))
}

fn redis_at(config: &Config, url: &ConnectionUrl) -> RedisOptions {
    RedisOptions { url: url.expose().to_owned(), key_prefix: config.redis.key_prefix.clone() }
}

/// The records in the operator's hands, beside a hub that may be running.
pub(crate) async fn operator(config: &Config) -> anyhow::Result<Operator> {
    let clock = SystemClock::default();
    let records = match &config.records.database_url {
        None => {
            let database = database_in(&config.data);
            if !database.exists() {
                bail!("there is no database in {}; say where with --data", config.data.display());
            }
            if !migrate::is_current_sqlite(&database)? {
                bail!(
                    "the database is not that of this release; start `countersign serve` once, which migrates it"
                );
            }
            Db::open_sqlite(&database)?
        }
        Some(_) => {
            let records = postgres(config)?;
            migrated(&records, config, false, &clock).await?;
            records
        }
    };
    Ok(Operator { records, ids: Arc::new(SystemIds), now: clock.now() })
}

/// A pool on the configured PostgreSQL.
pub(crate) fn postgres(config: &Config) -> anyhow::Result<Db> {
    let Some(url) = &config.records.database_url else {
        bail!("DATABASE_URL is not set");
    };
    Ok(Db::open_postgres(url.expose(), &config.records.pg_schema)?)
}

async fn migrated(records: &Db, config: &Config, may: bool, clock: &dyn Clock) -> anyhow::Result<()> {
    let current = migrate::is_current(records).await.map_err(|error| match error {
        records::Error::Unavailable(why) => {
            anyhow!(
                "PostgreSQL at DATABASE_URL cannot be reached ({why}). Start it, or correct DATABASE_URL."
            )
        }
        other => anyhow::Error::new(other).context("PostgreSQL at DATABASE_URL"),
    })?;
    if current {
        return Ok(());
    }
    if !may {
        bail!(
            "the PostgreSQL schema {} is not that of this release. Run `countersign migrate`, or start with \
             `countersign serve --migrate`.",
            config.records.pg_schema
        );
    }
    migrate::run_postgres(records, &config.records.pg_schema, clock.now()).await?;
    Ok(())
}
