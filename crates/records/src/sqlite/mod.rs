//! SQLite: one writer thread with group commit, a few readers.

mod log;
mod readers;
mod writer;

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

pub(crate) use readers::Readers;
pub(crate) use writer::Writer;

use crate::row::{FromRow, Row};
use crate::value::Value;
use crate::{Error, Result};

/// Prepared statements kept per connection; more than the program has.
const STATEMENTS_MAX: usize = 512;
const BUSY_TIMEOUT_MS: u32 = 5_000;
/// Where votes and their indexes do not fit, an eighth of the writer's time is reading pages again. Taken up as it is
/// needed, so only by large hubs.
const WRITER_CACHE_KIB: u32 = 64 * 1024;
/// Rows of a list may lie all over the file of a large hub. Taken up as it is needed, so only by those.
const READER_CACHE_KIB: u32 = 32 * 1024;

/// More rows than these are a page of a list, which has room at once instead of being moved each time it has doubled.
const FEW_ROWS: usize = 4;
const PAGE_ROWS: usize = 60;

/// A connection as a [`crate::Tx`] uses it.
pub(crate) struct LiteTx {
    pub(super) conn: Connection,
}

impl LiteTx {
    pub(crate) fn open_writer(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_CREATE).map_err(failed)?;
        prepare(&conn, WRITER_CACHE_KIB)?;
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").map_err(failed)?;
        Ok(Self { conn })
    }

    /// The connection that moves the log beside the writer.
    fn open_mover(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
        conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;").map_err(failed)?;
        Ok(Self { conn })
    }

    pub(crate) fn open_reader(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
        prepare(&conn, READER_CACHE_KIB)?;
        conn.execute_batch("PRAGMA query_only = ON;").map_err(failed)?;
        Ok(Self { conn })
    }

    pub(crate) fn exec(&self, text: &str, values: &[Value<'_>]) -> Result<u64> {
        let mut statement = self.conn.prepare_cached(text).map_err(failed)?;
        let changed = statement.execute(rusqlite::params_from_iter(values)).map_err(failed)?;
        Ok(changed as u64)
    }

    pub(crate) fn rows<T: FromRow>(&self, text: &str, values: &[Value<'_>]) -> Result<Vec<T>> {
        let mut statement = self.conn.prepare_cached(text).map_err(failed)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            if found.len() == FEW_ROWS {
                found.reserve(PAGE_ROWS);
            }
            found.push(T::from_row(&Row::Lite(row))?);
        }
        Ok(found)
    }

    /// Transaction control, prepared once.
    pub(crate) fn control(&self, text: &str) -> Result<()> {
        self.exec(text, &[]).map(drop)
    }

    /// Rows changed since the connection was opened, those of foreign keys' actions included.
    pub(crate) fn changes(&self) -> u64 {
        self.conn.total_changes()
    }

    /// Whether the engine has ended the transaction on its own, as it does when the disk is full or fails.
    pub(crate) fn has_lost_transaction(&self) -> bool {
        self.conn.is_autocommit()
    }
}

fn prepare(conn: &Connection, cache_kib: u32) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // One plan for each text. Otherwise SQLite looks at the value of every `LIMIT $n`, and prepares the statement again
    // each time one is bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    conn.execute_batch(&format!(
        "PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{cache_kib};"
    ))
    .map_err(failed)
}

/// What an error of SQLite means for the caller.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    let rusqlite::Error::SqliteFailure(code, message) = &error else {
        return Error::Engine(error.into());
    };
    let what = message.clone().unwrap_or_else(|| code.to_string());
    match code.code {
        ErrorCode::ConstraintViolation => match code.extended_code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Error::Duplicate { what },
            _ => Error::Constraint { what },
        },
        ErrorCode::DiskFull => Error::DiskFull,
        ErrorCode::SystemIoFailure => Error::OutcomeUnknown(what),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Overloaded,
        _ => Error::Engine(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    struct Number {
        n: i64,
    }
    crate::row!(Number { n });

    #[test]
    fn a_statement_is_prepared_once_whatever_its_limit_is() {
        const TEXT: &str = "SELECT n FROM numbers ORDER BY n LIMIT $1";
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("numbers.db");
        let writer = LiteTx::open_writer(&file).unwrap();
        writer
            .conn
            .execute_batch("CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (1), (2), (3)")
            .unwrap();
        for tx in [writer, LiteTx::open_reader(&file).unwrap()] {
            for limit in 1..=3 {
                let found = tx.rows::<Number>(TEXT, crate::args![limit]).unwrap();
                assert!(found.into_iter().map(|number| number.n).eq(1..=limit));
            }
            let kept = tx.conn.prepare_cached(TEXT).unwrap();
            assert_eq!(kept.get_status(StatementStatus::RePrepare), 0);
            assert_eq!(kept.get_status(StatementStatus::Run), 3, "it is the same one");
        }
    }
}
