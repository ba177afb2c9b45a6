//! PostgreSQL: a pool, statements pipelined where nobody waits for their answer.

mod pipeline;
mod tls;
mod tx;

use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::time::Duration;

use deadpool_postgres::{ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType};
use futures_util::FutureExt as _;
use tokio_postgres::error::SqlState;

pub(crate) use tx::PgTx;

use crate::error::UnitError;
use crate::tx::{Conn, Wakes};
use crate::{Error, Result, Tx, Unit};

const CONNECTIONS_MAX: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a unit waits for a connection before it is told that the hub is overloaded.
const POOL_WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// No statement of ours runs longer; one that does holds locks that others wait for.
const STATEMENT_TIMEOUT_MS: u32 = 25_000;

/// A pool on one database and schema.
pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    /// Opens a pool; no connection is made yet.
    pub(crate) fn open(url: &str, schema: &str) -> Result<Self> {
        let mut config = tokio_postgres::Config::from_str(url)
            .map_err(|error| Error::Refused(format!("DATABASE_URL cannot be understood: {error}")))?;
        config.connect_timeout(CONNECT_TIMEOUT);
        config.application_name("countersign");
        let options = config.get_options().unwrap_or_default().to_owned();
        // One plan for each text. Left to itself PostgreSQL plans most lists anew each time, because it thinks that
        // `LIMIT $n` asks for a tenth of all rows; planning then costs more than the list.
        config.options(format!(
            "{options} -c search_path={schema} -c statement_timeout={STATEMENT_TIMEOUT_MS} \
             -c plan_cache_mode=force_generic_plan"
        ));
        let pooling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = tls::manager(config, pooling)?;
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS_MAX)
            .runtime(Runtime::Tokio1)
            .create_timeout(Some(CONNECT_TIMEOUT))
            .wait_timeout(Some(POOL_WAIT_TIMEOUT))
            .build()
            .map_err(|error| Error::Refused(error.to_string()))?;
        Ok(Self { pool })
    }

    pub(crate) async fn connection(&self) -> Result<Object> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::Overloaded,
            PoolError::Backend(error) => Error::Unavailable(reason(&error)),
            other => Error::Unavailable(other.to_string()),
        })
    }

    pub(crate) async fn write<I, T, E, F>(&self, input: &I, unit: &F) -> Result<(T, Wakes), E>
    where
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
    {
        self.run(PgTx::begin_write(self.connection().await?), input, unit).await
    }

    pub(crate) async fn read<I, T, E, F>(&self, input: &I, unit: &F) -> Result<T, E>
    where
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
    {
        self.run(PgTx::begin_read(self.connection().await?), input, unit).await.map(|(value, _)| value)
    }

    /// A read of one statement.
    pub(crate) async fn read_one<I, T, E, F>(&self, input: &I, unit: &F) -> Result<T, E>
    where
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
    {
        let tx = PgTx::without_transaction(self.connection().await?);
        self.run(tx, input, unit).await.map(|(value, _)| value)
    }

    async fn run<I, T, E, F>(&self, tx: PgTx, input: &I, unit: &F) -> Result<(T, Wakes), E>
    where
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
    {
        let mut tx = Tx::new(Conn::Pg(tx));
        let ended = AssertUnwindSafe(async { unit(&mut tx, input).await }).catch_unwind().await;
        let Ok(result) = ended else {
            // Nobody knows where it stopped: dropping the transaction closes its connection.
            return Err(Error::Misbehaved("it panicked").into());
        };
        let (poisoned, wakes) = (tx.poisoned, tx.wakes);
        let Conn::Pg(pg) = tx.conn else {
            return Err(Error::Misbehaved("a unit changed its engine").into());
        };
        match result {
            Ok(_) if poisoned => {
                pg.rollback().await;
                Err(Error::Misbehaved("it went on after a failed statement").into())
            }
            Ok(value) => {
                pg.commit().await?;
                Ok((value, wakes))
            }
            Err(error) => {
                pg.rollback().await;
                Err(error)
            }
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

/// The server's own words, or the client's with their cause.
pub(crate) fn reason(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

/// What an error before the commit means for the caller: nothing was changed.
pub(crate) fn failed(error: tokio_postgres::Error) -> Error {
    let Some(db) = error.as_db_error() else {
        return if error.is_closed()
            || std::error::Error::source(&error).is_some_and(|s| s.is::<std::io::Error>())
        {
            Error::Unavailable(error.to_string())
        } else {
            Error::Engine(error.into())
        };
    };
    let what = match db.constraint() {
        Some(constraint) => constraint.to_owned(),
        None => db.message().to_owned(),
    };
    match db.code() {
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Error::LostRace { what },
        &SqlState::UNIQUE_VIOLATION => Error::Duplicate { what },
        &SqlState::DISK_FULL => Error::DiskFull,
        &SqlState::TOO_MANY_CONNECTIONS | &SqlState::OUT_OF_MEMORY | &SqlState::QUERY_CANCELED => {
            Error::Overloaded
        }
        &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
            Error::Unavailable(what)
        }
        code if code.code().starts_with("23") => Error::Constraint { what },
        code if code.code().starts_with("08") => Error::Unavailable(what),
        _ => Error::Engine(error.into()),
    }
}
