//! The transaction a unit is given.

use crate::postgres::PgTx;
use crate::row::FromRow;
use crate::sqlite::LiteTx;
use crate::statement::{Built, Command, Query, Text};
use crate::value::Value;
use crate::{Engine, Error, Result};

/// One transaction on either engine. Nothing else may be awaited inside a unit.
///
/// The first statement that fails poisons the unit: it cannot commit, whatever the unit does with the error.
/// PostgreSQL is like that by nature, and SQLite must not differ.
pub struct Tx {
    pub(crate) conn: Conn,
    /// What the unit did that somebody waits for; read after the commit.
    pub(crate) wakes: Wakes,
    pub(crate) poisoned: bool,
    /// A statement failed because the disk is full.
    pub(crate) disk_full: bool,
}

pub(crate) enum Conn {
    Lite(LiteTx),
    Pg(PgTx),
}

/// Who has to be woken after the commit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wakes {
    pub(crate) events: bool,
    pub(crate) audit: bool,
    pub(crate) identity: bool,
    pub(crate) settings: bool,
}

impl Wakes {
    pub(crate) fn join(&mut self, other: Self) {
        self.events |= other.events;
        self.audit |= other.audit;
        self.identity |= other.identity;
        self.settings |= other.settings;
    }
}

impl Tx {
    pub(crate) fn new(conn: Conn) -> Self {
        Self { conn, wakes: Wakes::default(), poisoned: false, disk_full: false }
    }

    /// Ready for the next unit on the same connection.
    pub(crate) fn renew(&mut self) {
        self.wakes = Wakes::default();
        self.poisoned = false;
        self.disk_full = false;
    }

    /// Which engine runs the unit; for the few nouns whose statements differ in number, not only in text.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match self.conn {
            Conn::Lite(_) => Engine::Sqlite,
            Conn::Pg(_) => Engine::Postgres,
        }
    }

    /// Runs the command now; how many rows it changed.
    pub async fn exec(&mut self, command: &Command, values: &[Value<'_>]) -> Result<u64> {
        let done = match &mut self.conn {
            Conn::Lite(tx) => tx.exec(command.0.lite, values),
            Conn::Pg(tx) => tx.exec(command.0.pg, values).await,
        };
        self.noted(done)
    }

    /// Runs the command without waiting for its answer: at once on SQLite, with the next awaited statement or
    /// the commit on PostgreSQL. An error surfaces there.
    pub async fn push(&mut self, command: &Command, values: &[Value<'_>]) -> Result<()> {
        let done = match &mut self.conn {
            Conn::Lite(tx) => tx.exec(command.0.lite, values).map(drop),
            Conn::Pg(tx) => tx.push(command.0.pg, values).await,
        };
        self.noted(done)
    }

    /// All rows of the query.
    pub async fn all<T: FromRow>(&mut self, query: &Query<T>, values: &[Value<'_>]) -> Result<Vec<T>> {
        let Text { lite, pg, pg_read } = query.text;
        let pg = if matches!(&self.conn, Conn::Pg(tx) if tx.is_read()) { pg_read } else { pg };
        self.rows(lite, pg, values).await
    }

    /// All rows of a search.
    pub async fn found<T: FromRow>(&mut self, built: &Built<'_, T>) -> Result<Vec<T>> {
        self.rows(&built.text, &built.text, &built.values).await
    }

    /// The first row, if there is one.
    pub async fn opt<T: FromRow>(&mut self, query: &Query<T>, values: &[Value<'_>]) -> Result<Option<T>> {
        Ok(self.all(query, values).await?.into_iter().next())
    }

    /// The row; none is damage or a bug, because the caller knows it to be there.
    pub async fn one<T: FromRow>(&mut self, query: &Query<T>, values: &[Value<'_>]) -> Result<T> {
        self.opt(query, values).await?.ok_or(Error::Misbehaved("a row that must exist is missing"))
    }

    /// Runs a compare-and-set: anything but one changed row means that another unit was first.
    pub async fn change_one(&mut self, command: &Command, values: &[Value<'_>], what: &str) -> Result<()> {
        match self.exec(command, values).await? {
            1 => Ok(()),
            _ => {
                self.poisoned = true;
                Err(Error::LostRace { what: what.to_owned() })
            }
        }
    }

    async fn rows<T: FromRow>(&mut self, lite: &str, pg: &str, values: &[Value<'_>]) -> Result<Vec<T>> {
        let rows = match &mut self.conn {
            Conn::Lite(tx) => tx.rows(lite, values),
            Conn::Pg(tx) => tx.rows(pg, values).await,
        };
        self.noted(rows)
    }

    fn noted<T>(&mut self, result: Result<T>) -> Result<T> {
        self.poisoned |= result.is_err();
        self.disk_full |= matches!(result, Err(Error::DiskFull));
        result
    }
}
