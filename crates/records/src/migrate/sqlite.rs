//! Migrating a SQLite file before it is opened for use.

use std::path::Path;
use std::time::Duration;

use domain::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::{Applied, LEDGER, Migration, pending, rendered};
use crate::sqlite::failed;
use crate::{Engine, Error, Result};

/// A file up to this size is checked whole at start; a larger one would make the start slow.
const CHECKED_AT_START_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// How long a look at the schema waits for a hub that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Brings the file to the schema of this program; how many migrations that took. Before an existing file is
/// changed, a copy is put beside it.
pub fn run(path: &Path, now: Timestamp) -> Result<usize> {
    let mut conn = Connection::open(path).map_err(failed)?;
    still_whole(&conn, path)?;
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").map_err(failed)?;
    let applied = applied(&conn)?;
    let pending = pending(&applied)?;
    if !applied.is_empty() && !pending.is_empty() {
        keep_copy(&conn, &path.with_extension(format!("before-{}.db", pending[0].number)))?;
    }
    for migration in &pending {
        apply(&mut conn, migration, now)?;
    }
    Ok(pending.len())
}

/// Whether the file has the schema of this program; also while a hub uses it.
pub fn is_current(path: &Path) -> Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
    conn.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    Ok(pending(&applied(&conn)?)?.is_empty())
}

/// Puts a copy beside the file. An attempt that ended early may have left one, whole or not: it is replaced.
fn keep_copy(conn: &Connection, copy: &Path) -> Result<()> {
    let unfinished = copy.with_extension("db.unfinished");
    let refused =
        |error: std::io::Error| Error::Refused(format!("no copy can be kept at {}: {error}", copy.display()));
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(refused(error)),
        _ => vacuum_into(conn, &unfinished)?,
    }
    std::fs::rename(&unfinished, copy).map_err(refused)
}

/// Copies a database file, also one that is in use, to a path that must not exist.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(from, flags).map_err(failed)?;
    vacuum_into(&conn, to)
}

fn vacuum_into(conn: &Connection, to: &Path) -> Result<()> {
    conn.execute("VACUUM INTO ?1", [to.to_string_lossy()]).map(drop).map_err(failed)
}

/// Refuses a file that is not an undamaged SQLite database.
fn still_whole(conn: &Connection, path: &Path) -> Result<()> {
    let damaged = |why: String| {
        Error::Refused(format!(
            "{} is damaged or not a database of countersign ({why}). Restore a backup with `countersign restore`.",
            path.display()
        ))
    };
    // Reading the schema touches the first page: what is not a database fails here.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map_err(|error| damaged(error.to_string()))?;
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    if size > CHECKED_AT_START_MAX_BYTES {
        return Ok(());
    }
    let verdict = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(verdict) => Err(damaged(verdict)),
        Err(error) => Err(damaged(error.to_string())),
    }
}

fn applied(conn: &Connection) -> Result<Vec<Applied>> {
    conn.execute_batch(&rendered(LEDGER, Engine::Sqlite)).map_err(failed)?;
    let mut statement = conn
        .prepare("SELECT number, release, checksum FROM schema_migrations ORDER BY number")
        .map_err(failed)?;
    let rows = statement
        .query_map([], |row| Ok(Applied { number: row.get(0)?, release: row.get(1)?, checksum: row.get(2)? }))
        .map_err(failed)?;
    rows.collect::<rusqlite::Result<_>>().map_err(failed)
}

fn apply(conn: &mut Connection, migration: &Migration, now: Timestamp) -> Result<()> {
    let tx = conn.transaction().map_err(failed)?;
    tx.execute_batch(&rendered(migration.text, Engine::Sqlite)).map_err(failed)?;
    tx.execute(
        "INSERT INTO schema_migrations (number, release, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        (migration.number, migration.release, migration.name, migration.checksum(), now.micros()),
    )
    .map_err(failed)?;
    tx.commit().map_err(failed)
}
