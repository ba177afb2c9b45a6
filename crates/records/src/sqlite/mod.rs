//! SQLite: one writer thread with group commit, a few readers.

mod readers;
mod writer;

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

pub(crate) use readers::Readers;
pub(crate) use writer::Writer;

use crate::row::{FromRow, Row};
use crate::value::Value;
use crate::{Error, Result};

/// Prepared statements kept per connection; more than the program has.
const STATEMENTS_MAX: usize = 512;
const BUSY_TIMEOUT_MS: u32 = 5_000;
const WRITER_CACHE_KIB: u32 = 16 * 1024;
const READER_CACHE_KIB: u32 = 4 * 1024;

/// A connection as a [`crate::Tx`] uses it.
pub(crate) struct LiteTx {
    pub(super) conn: Connection,
}

impl LiteTx {
    pub(crate) fn open_writer(path: &Path) -> Result<Self> {
        let conn = Connection::open(path).map_err(failed)?;
        prepare(&conn, WRITER_CACHE_KIB)?;
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").map_err(failed)?;
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
            found.push(T::from_row(&Row::Lite(row))?);
        }
        Ok(found)
    }

    /// Transaction control, prepared once.
    pub(crate) fn control(&self, text: &str) -> Result<()> {
        self.exec(text, &[]).map(drop)
    }

    /// Whether the engine has ended the transaction on its own, as it does when the disk is full or fails.
    pub(crate) fn has_lost_transaction(&self) -> bool {
        self.conn.is_autocommit()
    }
}

fn prepare(conn: &Connection, cache_kib: u32) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
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
