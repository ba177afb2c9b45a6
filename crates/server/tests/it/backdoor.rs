//! What somebody with access to the database can do behind the hub's back.

use std::path::PathBuf;

use domain::canonical::sha256;
use rusqlite::Connection;
use testkit::TestHub;
use testkit::postgres::Postgres;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// A connection to a hub's database that the hub knows nothing of.
pub(crate) enum Backdoor {
    Lite(PathBuf),
    Pg { client: Client, _driver: JoinSet<()> },
}

impl Backdoor {
    pub(crate) async fn open(hub: &TestHub) -> Self {
        if hub.hub.records.engine().to_string() == "SQLite" {
            return Self::Lite(hub.data.path().join("countersign.db"));
        }
        // The hub does not tell where its database is; the one that knows its admin's key is it.
        let names = Postgres::shared().query("SELECT datname FROM pg_database WHERE datname LIKE 'test%'");
        let known = format!(
            "SELECT 1 FROM countersign.api_keys WHERE key_hash = '\\x{}'::bytea",
            hex::encode(sha256(hub.admin_key.as_bytes()))
        );
        for name in names.lines() {
            let url = format!("postgres://postgres@127.0.0.1:{}/{name}", Postgres::shared().port());
            let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await else { continue };
            let mut driver = JoinSet::new();
            driver.spawn(async move { drop(connection.await) });
            let found = client.simple_query(&known).await.is_ok_and(|rows| !rows_of(&rows).is_empty());
            if found {
                client.batch_execute("SET search_path = countersign").await.unwrap();
                return Self::Pg { client, _driver: driver };
            }
        }
        panic!("no database knows the key of this hub's admin");
    }

    /// Runs statements.
    pub(crate) async fn run(&self, sql: &str) {
        match self {
            Self::Lite(path) => lite(path).execute_batch(sql).unwrap(),
            Self::Pg { client, .. } => client.batch_execute(sql).await.unwrap(),
        }
    }

    /// Runs a statement that must change one row.
    pub(crate) async fn change(&self, sql: &str) {
        let changed = match self {
            Self::Lite(path) => lite(path).execute(sql, []).unwrap(),
            Self::Pg { client, .. } => usize::try_from(client.execute(sql, &[]).await.unwrap()).unwrap(),
        };
        assert_eq!(changed, 1, "{sql}");
    }

    /// The first column of every row, as text.
    pub(crate) async fn column(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Lite(path) => {
                let connection = lite(path);
                let mut statement = connection.prepare(sql).unwrap();
                let cells = statement.query_map([], |row| {
                    Ok(match row.get_ref(0)? {
                        rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                        rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                        other => other.as_str()?.to_owned(),
                    })
                });
                cells.unwrap().map(Result::unwrap).collect()
            }
            Self::Pg { client, .. } => rows_of(&client.simple_query(sql).await.unwrap()),
        }
    }

    pub(crate) async fn cell(&self, sql: &str) -> String {
        self.column(sql).await.into_iter().next().unwrap_or_else(|| panic!("no row: {sql}"))
    }

    pub(crate) async fn count(&self, from: &str) -> u64 {
        self.cell(&format!("SELECT COUNT(*) FROM {from}")).await.parse().unwrap()
    }

    /// Bytes as a literal.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        match self {
            Self::Lite(_) => format!("x'{}'", hex::encode(bytes)),
            Self::Pg { .. } => format!("'\\x{}'::bytea", hex::encode(bytes)),
        }
    }

    /// A time a day after that of a column.
    pub(crate) fn a_day_after(&self, column: &str) -> String {
        match self {
            Self::Lite(_) => format!("{column} + 86400000000"),
            Self::Pg { .. } => format!("{column} + interval '1 day'"),
        }
    }

    /// The names of all tables.
    pub(crate) async fn tables(&self) -> Vec<String> {
        let catalogue = match self {
            Self::Lite(_) => "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
            Self::Pg { .. } => {
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'countersign' ORDER BY 1"
            }
        };
        self.column(catalogue).await
    }

    /// The names of a table's columns.
    pub(crate) async fn columns(&self, table: &str) -> Vec<String> {
        self.column(&match self {
            Self::Lite(_) => format!("SELECT name FROM pragma_table_info('{table}')"),
            Self::Pg { .. } => format!(
                "SELECT column_name FROM information_schema.columns
                 WHERE table_schema = 'countersign' AND table_name = '{table}'"
            ),
        })
        .await
    }

    /// A statement that says of every table how many rows it has and when one last changed. What the hub does by
    /// itself, in its own time, is left out: noting uses, sealing, jobs, leases.
    pub(crate) async fn tally(&self) -> String {
        let own = [
            "jobs",
            "instances",
            "audit_seals",
            "audit_checks",
            "event_horizons",
            "schema_migrations",
            "webhook_deliveries",
            "webhook_progress",
        ];
        let touched = ["api_keys", "login_sessions", "audit_logs", "events"];
        let mut parts = Vec::new();
        for table in self.tables().await.iter().filter(|table| !own.contains(&table.as_str())) {
            let changed = match self.columns(table).await.iter().any(|column| column == "updated_at") {
                true if !touched.contains(&table.as_str()) => {
                    "|| ' ' || COALESCE(MAX(updated_at), MAX(created_at))"
                }
                _ => "",
            };
            let only = if table == "events" { "WHERE type <> 'audit:sealed'" } else { "" };
            // Without a row there is no time, and nothing joined to it is nothing.
            parts.push(format!(
                "SELECT COALESCE('{table} ' || COUNT(*) {changed}, '{table} 0') FROM {table} {only}"
            ));
        }
        parts.join(" UNION ALL ")
    }

    /// The bytes of a column.
    pub(crate) async fn read_bytes(&self, column: &str, rest: &str) -> Vec<u8> {
        let shown = match self {
            Self::Lite(_) => format!("hex({column})"),
            Self::Pg { .. } => format!("encode({column}, 'hex')"),
        };
        hex::decode(self.cell(&format!("SELECT {shown} {rest}")).await).unwrap()
    }
}

fn lite(path: &PathBuf) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = ON;").unwrap();
    connection
}

fn rows_of(messages: &[SimpleQueryMessage]) -> Vec<String> {
    let cells = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    cells.collect()
}
