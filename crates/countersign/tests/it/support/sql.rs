//! Asking a database behind the hub's back.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Rows of columns as text; NULL is empty, bytes are hexadecimal.
pub(crate) type Rows = Vec<Vec<String>>;

/// Runs one statement on a SQLite file.
pub(crate) fn on_sqlite(file: &Path, text: &str) -> Rows {
    let conn = Connection::open(file).expect("the database");
    conn.busy_timeout(super::PATIENCE).unwrap();
    let mut statement = conn.prepare(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| (0..columns).map(|column| Ok(shown(row.get_ref(column)?))).collect())
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Runs statements in the hub's schema of a PostgreSQL database; the rows of all of them.
pub(crate) async fn on_postgres(url: &str, text: &str) -> Rows {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL");
    let mut carrier = tokio::task::JoinSet::new();
    carrier.spawn(connection);
    client.batch_execute("SET search_path = countersign").await.unwrap();
    let answers = client.simple_query(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    let rows = answers.iter().filter_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.map(|row| (0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
        .collect()
}
