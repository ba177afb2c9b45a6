//! Makes many tasks out of one, in the file of a hub that does not run.

use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;

use crate::homes::Home;
use crate::progress;

/// What a task consists of, and what must not be the same in two of them.
const TABLES: [&str; 6] = ["tasks", "task_revisions", "task_resources", "reviews", "approvals", "grants"];
const IDS: [&str; 3] = ["id", "task_id", "review_id"];
/// Copied in one statement, so that whoever waits sees it move.
const AT_ONCE: u64 = 100_000;
/// How long the writer of a hub that has nothing to do may need.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// What the copies are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Approved and applied, long ago.
    Finished,
    /// Waiting for both reviewers.
    Open,
    /// Approved, waiting for an agent.
    Queued,
}

/// Copies the one task that is there so many times.
pub(crate) fn fill(home: &Home, count: u64, kind: Kind) -> Result<()> {
    let (file, began) = (opened(home)?, Instant::now());
    for first in (0..count).step_by(usize::try_from(AT_ONCE)?) {
        let last = count.min(first + AT_ONCE);
        file.execute_batch("BEGIN")?;
        for table in TABLES {
            file.execute(&copied(&file, table, kind, (first, last))?, [])?;
        }
        file.execute_batch("COMMIT")?;
        progress(&format!("  {last} of {count} tasks, {:.0} s", began.elapsed().as_secs_f64()));
    }
    // Long ago they were applied; the one they are copies of stays what it is.
    file.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
    drop(file);
    std::fs::File::open(home.database_file())?.sync_all()?;
    Ok(())
}

fn opened(home: &Home) -> Result<Connection> {
    let file = Connection::open(home.database_file())?;
    file.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;")?;
    Ok(file)
}

/// Has so many approved tasks wait for agents, beside a hub that runs: copies of the one that was made last. How many
/// copies there are then, from the first on.
pub(crate) fn stock(home: &Home, waiting: u64, copies: u64) -> Result<u64> {
    let file = opened(home)?;
    file.busy_timeout(BUSY_TIMEOUT)?;
    let count = "SELECT count(*) FROM tasks WHERE state = 'APPROVED'";
    let there: i64 = file.query_row(count, [], |row| row.get(0))?;
    let last = copies + waiting.saturating_sub(there.unsigned_abs());
    if last > copies {
        file.execute_batch("BEGIN IMMEDIATE")?;
        for table in TABLES {
            file.execute(&copied(&file, table, Kind::Queued, (copies, last))?, [])?;
        }
        file.execute_batch("COMMIT")?;
    }
    Ok(last)
}

/// One INSERT that copies the rows of the first task, with ids of their own and times of long ago.
fn copied(file: &Connection, table: &str, kind: Kind, (first, last): (u64, u64)) -> Result<String> {
    let mut columns = file.prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?;
    let columns: Vec<String> = columns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let value = |column: &String| match (table, column.as_str(), kind) {
        (_, id, _) if IDS.contains(&id) => format!("printf('%08x', n.i + 1) || substr(s.{id}, 9)"),
        (_, "created_at", _) => "s.created_at - (n.i + 1) * 1000".to_owned(),
        // Nobody has more than a thousand tasks on their way, except by the back door.
        ("tasks", "author_id", _) => {
            "(SELECT id FROM accounts WHERE access_level = 'admin' LIMIT 1)".to_owned()
        }
        ("tasks", "state", Kind::Finished) => "'COMPLETED'".to_owned(),
        ("tasks", "status", Kind::Finished) => "'completed'".to_owned(),
        ("tasks", "ended_at" | "completed_at" | "applying_at", Kind::Finished) => "s.updated_at".to_owned(),
        ("tasks", "state", Kind::Queued) => "'APPROVED'".to_owned(),
        ("tasks", "status", Kind::Queued) => "'in-progress'".to_owned(),
        ("tasks", "ended_at" | "completed_at" | "applying_at", Kind::Queued) => "NULL".to_owned(),
        ("grants", "attempts_started", Kind::Queued) => "0".to_owned(),
        ("grants", "attempts_started", _) => "s.attempts".to_owned(),
        (_, other, _) => format!("s.{other}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let key = if table == "tasks" { "id" } else { "task_id" };
    Ok(format!(
        "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {last}) \
         INSERT INTO {table} ({}) SELECT {} FROM n, {table} s \
         WHERE s.{key} = (SELECT id FROM tasks ORDER BY created_at DESC LIMIT 1)",
        columns.join(", "),
        values.join(", "),
    ))
}
