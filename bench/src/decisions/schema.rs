//! The tables of the unit, filled, on either engine.

use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;
use tokio_postgres::Client;

use super::{CHAINS, TASKS, task_id};

/// The schema of PostgreSQL that holds the tables; made anew for each run.
pub(crate) const SCHEMA: &str = "bench";

/// One text for both; `@blob` and `@strict` are what only one of them knows.
const TABLES: &str = "
    CREATE TABLE audit_head (
        chain_id BIGINT PRIMARY KEY,
        seq BIGINT NOT NULL CHECK (seq >= 0),
        hash @blob NOT NULL
    ) @strict;
    CREATE TABLE task (
        id TEXT PRIMARY KEY,
        chain_id BIGINT NOT NULL REFERENCES audit_head (chain_id),
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected')),
        version BIGINT NOT NULL CHECK (version >= 0),
        title TEXT NOT NULL,
        payload TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL
    ) @strict;
    CREATE INDEX task_pending ON task (chain_id, created_at) WHERE state = 'pending';
    CREATE TABLE approval (
        id TEXT PRIMARY KEY,
        task_id TEXT NOT NULL REFERENCES task (id),
        actor TEXT NOT NULL,
        decision TEXT NOT NULL CHECK (decision IN ('approve', 'reject')),
        comment TEXT,
        created_at BIGINT NOT NULL
    ) @strict;
    CREATE INDEX approval_task ON approval (task_id);
    CREATE TABLE audit (
        chain_id BIGINT NOT NULL REFERENCES audit_head (chain_id),
        seq BIGINT NOT NULL,
        prev_hash @blob NOT NULL,
        hash @blob NOT NULL,
        action TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        data TEXT NOT NULL,
        at BIGINT NOT NULL,
        PRIMARY KEY (chain_id, seq)
    ) @strict;
    CREATE TABLE event (
        id TEXT PRIMARY KEY,
        topic TEXT NOT NULL CHECK (topic <> ''),
        payload TEXT NOT NULL,
        created_at BIGINT NOT NULL
    ) @strict;";

/// What a task carries; a few hundred bytes, as tasks do.
fn payload() -> String {
    format!("{{\"command\":\"deploy\",\"arguments\":\"{}\"}}", "x".repeat(240))
}

/// Makes a SQLite file; runs work on copies of it.
pub(crate) fn make_sqlite(path: &Path) -> Result<()> {
    let mut connection = Connection::open(path)?;
    // The file remembers; what opens it later finds it in this mode.
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;")?;
    let transaction = connection.transaction()?;
    // STRICT knows no BIGINT, and its INTEGER has the same 64 bits.
    let tables = TABLES.replace("BIGINT", "INTEGER").replace("@blob", "BLOB").replace("@strict", "STRICT");
    transaction.execute_batch(&tables)?;
    for chain in 0..CHAINS {
        transaction
            .prepare_cached("INSERT INTO audit_head (chain_id, seq, hash) VALUES ($1, 0, $2)")?
            .execute((i64::try_from(chain)?, [0_u8; 32]))?;
    }
    let payload = payload();
    for task in 0..TASKS {
        transaction
            .prepare_cached("INSERT INTO task VALUES ($1, $2, 'pending', 0, 'deploy', $3, $4, $4)")?
            .execute((task_id(task), i64::try_from(task % CHAINS)?, &payload, i64::try_from(task)?))?;
    }
    transaction.commit()?;
    // Closing the only connection empties the log into the file, so that the file is all there is to copy.
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Makes the schema of PostgreSQL anew, as settled as one that was never written to.
pub(crate) async fn make_postgres(client: &Client) -> Result<()> {
    let tables = TABLES.replace("@blob", "BYTEA").replace("@strict", "");
    let payload = payload();
    client
        .batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}; SET search_path = {SCHEMA}; {tables}
             INSERT INTO audit_head SELECT i, 0, decode(repeat('00', 32), 'hex')
                 FROM generate_series(0, {CHAINS} - 1) AS i;
             INSERT INTO task SELECT 't' || lpad(i::text, 25, '0'), i % {CHAINS}, 'pending', 0, 'deploy',
                 '{payload}', i, i FROM generate_series(0, {TASKS} - 1) AS i;"
        ))
        .await?;
    // Neither of them may run in a transaction, and a text of several statements is one.
    client.batch_execute("VACUUM ANALYZE").await?;
    client.batch_execute("CHECKPOINT").await?;
    Ok(())
}
