//! Where a hub keeps its records and its first key, from one start to the next.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use records::{Db, Engine};
use testkit::postgres::Postgres;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::Bench;
use crate::programs::Program;

/// As the product names them.
const DATABASE_FILE: &str = "data/countersign.db";
const ADMIN_KEY_FILE: &str = "data/admin.key";
const PG_SCHEMA: &str = "countersign";

/// What an operator would give a database of a gigabyte; and no checkpoint in the middle of a run.
const PG_OPTIONS: [&str; 3] = ["shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=1h"];

/// The records of one hub. They go with this.
pub(crate) struct Home {
    directory: tempfile::TempDir,
    database_url: Option<String>,
}

/// Makes homes on one engine; a PostgreSQL server of our own is part of it.
pub(crate) struct Homes<'b> {
    bench: &'b Bench,
    server: Option<Postgres>,
}

impl<'b> Homes<'b> {
    pub(crate) fn on(engine: Engine, bench: &'b Bench) -> Self {
        let server = (engine == Engine::Postgres).then(|| Postgres::start_with(&PG_OPTIONS));
        Self { bench, server }
    }

    /// A home with what the first start makes of it: tables, organization, admin.
    pub(crate) fn founded(&self) -> Result<Home> {
        let database_url = self.server.as_ref().map(Postgres::fresh_database);
        let home = Home { database_url, ..Home::sqlite(self.bench)? };
        drop(Program::at(&home, self.bench)?);
        Ok(home)
    }
}

impl Home {
    /// An empty directory.
    pub(crate) fn sqlite(bench: &Bench) -> Result<Self> {
        Ok(Self { directory: tempfile::tempdir_in(bench.scratch())?, database_url: None })
    }

    /// How the product is started on it: without rate limits, otherwise as it comes.
    pub(crate) fn command(&self) -> Result<Command> {
        let mut command = Command::new(beside_us("countersign")?);
        command.args(["serve", "--migrate", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(self.directory.path().join("data")).env_clear().env("COUNTERSIGN_RATE_LIMIT", "0");
        command.env("COUNTERSIGN_LOCK_RATE_LIMIT", "0");
        if let Some(url) = &self.database_url {
            command.env("DATABASE_URL", url);
        }
        Ok(command)
    }

    /// The key of the first admin.
    pub(crate) fn admin_key(&self) -> Result<String> {
        let key = std::fs::read_to_string(self.directory.path().join(ADMIN_KEY_FILE))?;
        Ok(key.trim().to_owned())
    }

    /// The records, behind the back of a hub that does not run or does not care.
    pub(crate) fn records(&self) -> Result<Db> {
        Ok(match &self.database_url {
            Some(url) => Db::open_postgres(url, PG_SCHEMA)?,
            None => Db::open_sqlite(&self.database_file())?,
        })
    }

    /// The file of SQLite.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.directory.path().join(DATABASE_FILE)
    }

    /// A connection to PostgreSQL, if the records are there; it ends with the set it is given.
    pub(crate) async fn client(&self, background: &mut JoinSet<()>) -> Result<Option<Client>> {
        let Some(url) = &self.database_url else {
            return Ok(None);
        };
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        // Whoever uses the client is told what went wrong.
        background.spawn(async { drop(connection.await) });
        client.batch_execute(&format!("SET search_path = {PG_SCHEMA}")).await?;
        Ok(Some(client))
    }

    /// Makes the records as settled as those of a database that has been up for long.
    pub(crate) async fn settle(&self) -> Result<()> {
        let mut background = JoinSet::new();
        if let Some(client) = self.client(&mut background).await? {
            // Neither of them may run in a transaction, and a text of several statements is one.
            client.batch_execute("VACUUM ANALYZE").await?;
            client.batch_execute("CHECKPOINT").await?;
        } else {
            // Otherwise the kernel writes the file out during the run.
            std::fs::File::open(self.database_file())?.sync_all()?;
        }
        Ok(())
    }
}

/// The product as it was built with us.
fn beside_us(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().unwrap_or(Path::new(".")).join(name);
    path.is_file()
        .then_some(path)
        .with_context(|| format!("there is no `{name}` beside this program: start me as `cargo xtask bench`"))
}
