//! A table of locks in PostgreSQL, as it comes: whoever inserts the row has the lock, whoever deletes it gives it back.

use anyhow::{Result, ensure};
use testkit::postgres::Postgres;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Statement};

use super::{Locker, Peer};

/// What an operator would give it; and no checkpoint in the middle of a run.
const OPTIONS: [&str; 4] =
    ["synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=8GB", "checkpoint_timeout=1h"];
const TABLE: &str =
    "CREATE TABLE locks (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires TIMESTAMPTZ NOT NULL)";
const TAKE: &str = "INSERT INTO locks (key, owner, expires) VALUES ($1, $2, now() + interval '300 s') \
                    ON CONFLICT DO NOTHING";
const GIVE_BACK: &str = "DELETE FROM locks WHERE key = $1 AND owner = $2";

/// A server of our own.
pub(super) struct LockTable {
    server: Postgres,
}

impl LockTable {
    pub(super) fn start() -> Self {
        let server = Postgres::start_with(&OPTIONS);
        server.query(TABLE);
        Self { server }
    }

    /// What earlier turns have left behind is not this one's to step over.
    pub(super) fn clear(&self) {
        self.server.query("TRUNCATE locks");
    }
}

impl Peer for LockTable {
    type Locker = Session;

    async fn open(&self, number: usize) -> Result<Session> {
        let (client, connection) = tokio_postgres::connect(&self.server.url(), NoTls).await?;
        let mut background = JoinSet::new();
        // Whoever uses the client is told what went wrong.
        background.spawn(async { drop(connection.await) });
        let (take, give_back) = (client.prepare(TAKE).await?, client.prepare(GIVE_BACK).await?);
        let owner = format!("client-{number:029}");
        Ok(Session { client, take, give_back, owner, key: String::new(), _background: background })
    }

    fn pid(&self) -> Option<u32> {
        // Its work is done by a process for each client, which come and go.
        None
    }
}

pub(super) struct Session {
    client: Client,
    take: Statement,
    give_back: Statement,
    owner: String,
    key: String,
    _background: JoinSet<()>,
}

impl Locker for Session {
    async fn acquire(&mut self, key: &str) -> Result<()> {
        let rows = self.client.execute(&self.take, &[&key, &self.owner]).await?;
        ensure!(rows == 1, "the lock is held");
        key.clone_into(&mut self.key);
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let rows = self.client.execute(&self.give_back, &[&self.key, &self.owner]).await?;
        ensure!(rows == 1, "the lock was not held");
        Ok(())
    }
}
