//! Databases with the schema in them, made once for each process and copied for each hub.
//!
//! Hundreds of hubs are started in a run of the suite, and a schema made anew takes longer than most of what is then
//! tested. That migrations work is for the tests of `records`; a copy is migrated again by its hub, which finds nothing to do.

use std::path::Path;
use std::sync::OnceLock;

use domain::Timestamp;
use records::{Db, migrate};
use tokio::sync::OnceCell;

use super::SCHEMA;
use crate::postgres::Postgres;

/// When the copies' schema says that it was made.
const MADE_AT: Timestamp = Timestamp::from_micros(0);

/// Puts a database with the schema at the path, unless there is a database already.
pub(super) fn provide_sqlite_file(path: &Path) {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    if path.exists() {
        return;
    }
    let template = TEMPLATE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("template.db");
        migrate::run_sqlite(&file, MADE_AT).expect("migrations");
        std::fs::read(&file).expect("the template")
    });
    std::fs::write(path, template).expect("a copy of the template");
}

/// A database of the shared server with the schema in it; its URL.
pub(super) async fn postgres_database() -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let template = TEMPLATE.get_or_init(async || {
        let url = Postgres::shared().fresh_database();
        let db = Db::open_postgres(&url, SCHEMA).expect("a pool");
        migrate::run_postgres(&db, SCHEMA, MADE_AT).await.expect("migrations");
        drop(db);
        Postgres::shared().seal(&url)
    });
    Postgres::shared().copy_of(template.await)
}
