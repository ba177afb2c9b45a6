//! What the hub calls: units of work and reads.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::error::UnitError;
use crate::postgres::Postgres;
use crate::row::FromRow;
use crate::sqlite::{LiteTx, Readers, Writer};
use crate::statement::{Built, Query};
use crate::tx::Wakes;
use crate::value::Value;
use crate::{Error, Result, Tx, Unit};

/// How often a unit that lost a race is run again.
const RETRIES_MAX: u32 = 5;
const RETRY_WAIT_BASE: Duration = Duration::from_millis(4);

/// Which engine keeps the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// SQLite in the data directory.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// Told after each commit, before its answer, of what others wait for or have cached. All count commits.
pub struct Signals {
    /// Units that appended events.
    pub events: watch::Sender<u64>,
    /// Units that appended audit rows.
    pub audit: watch::Sender<u64>,
    /// Units that changed a key, an account or a membership.
    pub identity_changes: watch::Sender<u64>,
    identity: AtomicU64,
    settings: AtomicU64,
    changes: AtomicU64,
}

impl Signals {
    fn new() -> Self {
        Self {
            events: watch::Sender::new(0),
            audit: watch::Sender::new(0),
            identity_changes: watch::Sender::new(0),
            identity: AtomicU64::new(0),
            settings: AtomicU64::new(0),
            changes: AtomicU64::new(0),
        }
    }

    /// Changes whenever a unit of this process changed a key, an account or a membership.
    #[must_use]
    pub fn identity_epoch(&self) -> u64 {
        self.identity.load(Ordering::Acquire)
    }

    /// Changes whenever a unit of this process changed a setting.
    #[must_use]
    pub fn settings_epoch(&self) -> u64 {
        self.settings.load(Ordering::Acquire)
    }

    /// Changes whenever this process may have changed anything at all.
    #[must_use]
    pub fn changes_epoch(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn fire(&self, wakes: Wakes) {
        if wakes.identity {
            self.identity.fetch_add(1, Ordering::AcqRel);
            self.identity_changes.send_modify(|count| *count += 1);
        }
        if wakes.settings {
            self.settings.fetch_add(1, Ordering::AcqRel);
        }
        if wakes.events {
            self.events.send_modify(|count| *count += 1);
        }
        if wakes.audit {
            self.audit.send_modify(|count| *count += 1);
        }
    }
}

/// Notes a change when it ends, also where nobody waits for the answer any more: what was sent may be committed.
struct Changing<'s>(&'s Signals);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.note_change();
    }
}

/// The records. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    store: Arc<Store>,
    signals: Arc<Signals>,
}

enum Store {
    Lite { writer: Writer, readers: Readers },
    Pg(Postgres),
}

impl Db {
    /// Opens the SQLite file, which must have been migrated.
    pub fn open_sqlite(path: &Path) -> Result<Self> {
        let signals = Arc::new(Signals::new());
        let conn = LiteTx::open_writer(path)?;
        let readers = Readers::open(path)?;
        let writer = Writer::start(conn, path, Arc::clone(&signals))?;
        Ok(Self { store: Arc::new(Store::Lite { writer, readers }), signals })
    }

    /// Opens a pool on PostgreSQL, whose schema must have been migrated.
    pub fn open_postgres(url: &str, schema: &str) -> Result<Self> {
        let store = Arc::new(Store::Pg(Postgres::open(url, schema)?));
        Ok(Self { store, signals: Arc::new(Signals::new()) })
    }

    /// Which engine this is, for display.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match *self.store {
            Store::Lite { .. } => Engine::Sqlite,
            Store::Pg(_) => Engine::Postgres,
        }
    }

    /// Who wants to know of commits.
    #[must_use]
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Runs a unit: all of it is durable when this answers `Ok`, nothing of it otherwise (except
    /// [`crate::Error::OutcomeUnknown`]). A unit that lost a race is run again.
    pub async fn write<I, T, E, F>(&self, input: I, unit: F) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
    {
        let (input, unit) = (Arc::new(input), Arc::new(unit));
        let mut retries = 0;
        loop {
            let result = match &*self.store {
                Store::Lite { writer, .. } => writer.write(Arc::clone(&input), Arc::clone(&unit)).await,
                Store::Pg(pg) => {
                    let _changing = Changing(&self.signals);
                    pg.write(&*input, &*unit).await.map(|(value, wakes)| {
                        self.signals.fire(wakes);
                        value
                    })
                }
            };
            match result {
                Err(error) if error.is_lost_race() && retries < RETRIES_MAX => {
                    retries += 1;
                    tokio::time::sleep(back_off(retries)).await;
                }
                result => return result,
            }
        }
    }

    /// Runs several reads on one snapshot.
    pub async fn read<I, T, E, F>(&self, input: I, unit: F) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
    {
        match &*self.store {
            Store::Lite { readers, .. } => readers.read(input, unit).await,
            Store::Pg(pg) => pg.read(&input, &unit).await,
        }
    }

    /// All rows of one query.
    pub async fn all<T: FromRow>(&self, query: &'static Query<T>, values: &[Value<'_>]) -> Result<Vec<T>> {
        let values: Vec<Value<'static>> = values.iter().cloned().map(Value::into_owned).collect();
        self.read_one(values, |tx, values| Box::pin(tx.all(query, values))).await
    }

    /// The first row of one query.
    pub async fn opt<T: FromRow>(&self, query: &'static Query<T>, values: &[Value<'_>]) -> Result<Option<T>> {
        Ok(self.all(query, values).await?.into_iter().next())
    }

    /// All rows of one search.
    pub async fn found<T: FromRow + Sync>(&self, built: Built<'static, T>) -> Result<Vec<T>> {
        self.read_one(built, |tx, built| Box::pin(tx.found(built))).await
    }

    async fn read_one<I, T, F>(&self, input: I, unit: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, Error> + Send + Sync + 'static,
    {
        match &*self.store {
            Store::Lite { readers, .. } => readers.read(input, unit).await,
            Store::Pg(pg) => pg.read_one(&input, &unit).await,
        }
    }

    /// Finishes what is queued and closes the connections.
    pub async fn close(&self) {
        let store = Arc::clone(&self.store);
        let closed = tokio::task::spawn_blocking(move || match &*store {
            // The writer last and alone: of connections that are closed at the same time none may think itself the last
            // one, which is the one that moves the log into the file and removes it.
            Store::Lite { writer, readers } => {
                readers.close();
                writer.close();
            }
            Store::Pg(pg) => pg.close(),
        });
        if closed.await.is_err() {
            tracing::error!("closing the records panicked");
        }
    }

    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        match &*self.store {
            Store::Pg(pg) => Some(pg),
            Store::Lite { .. } => None,
        }
    }
}

/// Doubling, with a random half: two that met once should not meet again.
fn back_off(retry: u32) -> Duration {
    let whole = RETRY_WAIT_BASE * 2_u32.pow(retry);
    let share = RandomState::new().hash_one(retry) % 1000;
    whole / 2 + whole * u32::try_from(share).unwrap_or(0) / 2000
}
