//! Migrating a PostgreSQL schema, by one server at a time.

use deadpool_postgres::Object;
use domain::Timestamp;

use super::{Applied, LEDGER, Migration, pending, rendered};
use crate::postgres::{failed, reason};
use crate::value::Value;
use crate::{Db, Engine, Error, Result};

/// Any number no other program on the database uses: "countersign" cut to 63 bits.
const MIGRATION_LOCK: i64 = 0x636f_756e_7465_7273;

/// Brings the schema to that of this program; how many migrations that took.
pub async fn run(db: &Db, schema: &str, now: Timestamp) -> Result<usize> {
    let mut client = connection(db).await?;
    client
        .batch_execute(&format!(
            "SELECT pg_advisory_lock({MIGRATION_LOCK}); CREATE SCHEMA IF NOT EXISTS {schema};"
        ))
        .await
        .map_err(refused)?;
    let done = apply_pending(&mut client, now).await;
    // The lock belongs to the session; a pooled connection must not keep it.
    let unlock = format!("SELECT pg_advisory_unlock({MIGRATION_LOCK})");
    let unlocked = client.batch_execute(&unlock).await.map_err(refused);
    // A connection that is lost on the way fails both; the first says why.
    done.and_then(|applied| unlocked.map(|()| applied))
}

/// Whether nothing is left to apply. Refuses a server that may lose what it acknowledged.
pub async fn is_current(db: &Db) -> Result<bool> {
    let client = connection(db).await?;
    keeps_what_it_acknowledges(&client).await?;
    let ledger =
        client.query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[]).await.map_err(failed)?;
    if !ledger.get::<_, bool>(0) {
        return Ok(false);
    }
    Ok(pending(&applied(&client).await?)?.is_empty())
}

async fn keeps_what_it_acknowledges(client: &Object) -> Result<()> {
    let row = client
        .query_one("SELECT current_setting('fsync'), current_setting('synchronous_commit')", &[])
        .await
        .map_err(failed)?;
    let (fsync, commit): (&str, &str) = (row.get(0), row.get(1));
    if fsync == "on" && commit != "off" {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "PostgreSQL runs with fsync = {fsync} and synchronous_commit = {commit}: it may lose what it acknowledged. \
         Set fsync = on and synchronous_commit = on (or local, remote_write, remote_apply)."
    )))
}

async fn connection(db: &Db) -> Result<Object> {
    match db.postgres() {
        Some(postgres) => postgres.connection().await,
        None => Err(Error::Misbehaved("PostgreSQL's migrations were asked of SQLite")),
    }
}

async fn apply_pending(client: &mut Object, now: Timestamp) -> Result<usize> {
    client.batch_execute(&rendered(LEDGER, Engine::Postgres)).await.map_err(refused)?;
    let pending = pending(&applied(client).await?)?;
    for migration in &pending {
        apply(client, migration, now).await?;
    }
    Ok(pending.len())
}

async fn applied(client: &Object) -> Result<Vec<Applied>> {
    let rows = client
        .query("SELECT number, release, checksum FROM schema_migrations ORDER BY number", &[])
        .await
        .map_err(failed)?;
    Ok(rows
        .iter()
        .map(|row| Applied { number: row.get(0), release: row.get(1), checksum: row.get(2) })
        .collect())
}

async fn apply(client: &mut Object, migration: &Migration, now: Timestamp) -> Result<()> {
    let tx = client.transaction().await.map_err(failed)?;
    tx.batch_execute(&rendered(migration.text, Engine::Postgres)).await.map_err(refused)?;
    let checksum = migration.checksum();
    tx.execute(
        "INSERT INTO schema_migrations (number, release, name, checksum, applied_at) VALUES ($1, $2, $3, $4, $5)",
        &[&migration.number, &migration.release, &migration.name, &checksum, &Value::Time(now)],
    )
    .await
    .map_err(failed)?;
    tx.commit().await.map_err(failed)
}

fn refused(error: tokio_postgres::Error) -> Error {
    let why = reason(&error);
    match failed(error) {
        Error::Engine(_) => Error::Refused(format!("PostgreSQL refuses the migration: {why}")),
        other => other,
    }
}
