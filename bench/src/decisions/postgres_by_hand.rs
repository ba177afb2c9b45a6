//! The unit on bare tokio-postgres, as a careful person would write it in one place: a pool, prepared
//! statements, a transaction, each statement awaited.

use std::str::FromStr as _;

use anyhow::Result;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use tokio_postgres::{Config, NoTls};

use super::schema::SCHEMA;
use super::through_records::{ACTION, Texts};
use super::{Decision, Store, link};

/// As many as the product's pool has.
const CONNECTIONS_MAX: usize = 16;

pub(super) const HEAD: &str = "SELECT seq, hash FROM audit_head WHERE chain_id = $1 FOR UPDATE";

#[derive(Clone)]
pub(crate) struct PostgresByHand {
    pool: Pool,
}

impl PostgresByHand {
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut config = Config::from_str(url)?;
        config.options(format!("-c search_path={SCHEMA}"));
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, recycling);
        Ok(Self { pool: Pool::builder(manager).max_size(CONNECTIONS_MAX).build()? })
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

impl Store for PostgresByHand {
    async fn decide(&self, decision: Decision) -> Result<bool> {
        let texts = Texts::with_head(HEAD);
        let Decision { task_id, chain, now, data, .. } = &decision;
        let mut client = self.pool.get().await?;
        let tx = client.transaction().await?;
        let statement = tx.prepare_cached(texts.cas).await?;
        if tx.execute(&statement, &[&decision.state, now, task_id, &decision.version]).await? == 0 {
            return Ok(false);
        }
        let statement = tx.prepare_cached(texts.approve).await?;
        let (verdict, comment) = (&decision.verdict, &None::<&str>);
        tx.execute(&statement, &[&decision.approval_id, task_id, &decision.actor, verdict, comment, now])
            .await?;
        let statement = tx.prepare_cached(texts.head).await?;
        let row = tx.query_one(&statement, &[chain]).await?;
        let (seq, previous): (i64, Vec<u8>) = (row.try_get::<_, i64>(0)? + 1, row.try_get(1)?);
        let hash = link(&previous, seq, &decision);
        let statement = tx.prepare_cached(texts.audit).await?;
        tx.execute(&statement, &[chain, &seq, &previous, &hash, &ACTION, task_id, data, now]).await?;
        let statement = tx.prepare_cached(texts.set_head).await?;
        tx.execute(&statement, &[&seq, &hash, chain]).await?;
        let statement = tx.prepare_cached(texts.event).await?;
        tx.execute(&statement, &[&decision.event_id, &ACTION, data, now]).await?;
        tx.commit().await?;
        Ok(true)
    }
}
