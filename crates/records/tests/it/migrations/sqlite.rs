//! A file is refused with its name, and stays as it was.

use std::fs;
use std::path::{Path, PathBuf};

use records::migrate::run_sqlite;
use records::{Db, Error};
use rusqlite::Connection;
use tempfile::TempDir;

use super::all;
use crate::support::{NOW, add};

/// A data directory with a migrated file and no connection to it, so that the file is all there is.
struct Home {
    directory: TempDir,
}

impl Home {
    fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn migrated() -> Self {
        let home = Self::empty();
        assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), all());
        home
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("countersign.db")
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.file()).unwrap().execute_batch(sql).unwrap();
    }

    fn schema(&self) -> Vec<String> {
        schema(&self.file())
    }
}

/// Every object the file has, and the ledger.
fn schema(file: &Path) -> Vec<String> {
    let conn = Connection::open(file).unwrap();
    let all = "SELECT COALESCE(sql, name) FROM sqlite_schema UNION ALL SELECT number || release || checksum || \
               applied_at FROM schema_migrations ORDER BY 1";
    let mut statement = conn.prepare(all).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The message of a refusal, which must name the file.
fn refusal(file: &Path) -> String {
    let before = fs::read(file).unwrap();
    let said = match run_sqlite(file, NOW) {
        Err(Error::Refused(said)) => said,
        other => panic!("{}: not refused but {other:?}", file.display()),
    };
    assert!(said.contains(&file.display().to_string()), "which file? {said}");
    assert!(fs::read(file).unwrap() == before, "a file that is refused must stay as it was");
    said
}

#[test]
fn the_second_run_changes_nothing() {
    let home = Home::migrated();
    let schema = home.schema();
    let later = NOW.plus(std::time::Duration::from_secs(1));
    assert_eq!(run_sqlite(&home.file(), later).unwrap(), 0);
    assert_eq!(home.schema(), schema);
    let copies = fs::read_dir(home.directory.path()).unwrap().count();
    assert_eq!(copies, 1, "nothing was copied, because nothing was changed");
}

#[test]
fn an_empty_file_is_a_first_start() {
    let home = Home::empty();
    fs::write(home.file(), "").unwrap();
    assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), all());
    assert_eq!(home.schema(), Home::migrated().schema());
}

#[test]
fn what_is_no_database_is_refused() {
    let home = Home::empty();
    let noise: Vec<u8> = (0..20_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    for content in
        [b"the quick brown fox\n".repeat(1000), noise, vec![0; 8192], b"SQLite format 3\0".to_vec()]
    {
        fs::write(home.file(), content).unwrap();
        assert!(refusal(&home.file()).contains("countersign restore"), "and what to do");
    }
}

#[test]
fn a_damaged_file_is_refused() {
    let home = Home::migrated();
    // Migrations leave pages that hold nothing any more; damage to those is none.
    home.sql("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(home.file()).unwrap();
    let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    assert_eq!(whole.len() % page, 0);
    let pages = whole.len() / page;
    assert!(20 < pages, "{pages} pages");
    // Whichever page it is: its first bytes flipped, or all of it lost.
    for number in 0..pages {
        let mut flipped = whole.clone();
        for byte in &mut flipped[number * page..number * page + 16] {
            *byte ^= 0xff;
        }
        fs::write(home.file(), flipped).unwrap();
        refusal(&home.file());
        let mut lost = whole.clone();
        lost[number * page..(number + 1) * page].fill(0x55);
        fs::write(home.file(), lost).unwrap();
        refusal(&home.file());
    }
    for length in [whole.len() / 2, whole.len() - page, page, page - 1, 100, 2] {
        fs::write(home.file(), &whole[..length]).unwrap();
        refusal(&home.file());
    }
    fs::write(home.file(), whole).unwrap();
    assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), 0);
}

#[test]
fn a_schema_from_the_future_is_refused() {
    let home = Home::migrated();
    let add = |number: i64, release: i64| {
        home.sql(&format!("INSERT INTO schema_migrations VALUES ({number}, {release}, 'later', 'x', 0)"));
    };
    add(1000, 2);
    assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), 0, "the next release's is fine");
    add(1001, 3);
    let before = home.schema();
    match run_sqlite(&home.file(), NOW) {
        Err(Error::Refused(said)) => assert!(said.contains("release 3"), "{said}"),
        other => panic!("not refused but {other:?}"),
    }
    assert_eq!(home.schema(), before);
}

#[test]
fn an_edited_migration_is_refused() {
    let home = Home::migrated();
    home.sql("UPDATE schema_migrations SET checksum = 'edited' WHERE number = 1");
    match run_sqlite(&home.file(), NOW) {
        Err(Error::Refused(said)) => assert!(said.contains("migration 1"), "{said}"),
        other => panic!("not refused but {other:?}"),
    }
}

/// A file with a ledger that lacks what this program wants to apply: as it would be before an update.
fn older() -> Home {
    let home = Home::migrated();
    home.sql("UPDATE schema_migrations SET number = number + 1000, release = 2, checksum = 'x'");
    let conn = Connection::open(home.file()).unwrap();
    let mut tables = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'")
        .unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    home.sql("CREATE TABLE precious (n INTEGER) STRICT; INSERT INTO precious VALUES (7)");
    for table in tables {
        home.sql(&format!("PRAGMA foreign_keys = OFF; DROP TABLE {table}"));
    }
    home
}

#[test]
fn an_existing_file_is_copied_before_it_is_changed() {
    let home = older();
    let before = home.schema();
    assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), all());
    let copy = home.directory.path().join("countersign.before-1.db");
    assert_eq!(schema(&copy), before);
    let precious: i64 =
        Connection::open(copy).unwrap().query_row("SELECT n FROM precious", [], |row| row.get(0)).unwrap();
    assert_eq!(precious, 7);
}

/// A start that ended between the copy and the migration, or after a migration that failed, must not stand in
/// the way of the next.
#[test]
fn a_copy_of_an_earlier_attempt_is_no_obstacle() {
    let home = older();
    home.sql("CREATE TABLE jobs (n INTEGER) STRICT");
    let attempts: [Error; 2] = [0, 1].map(|_| run_sqlite(&home.file(), NOW).unwrap_err());
    for error in &attempts {
        assert!(error.to_string().contains("jobs"), "the cause, each time: {error}");
    }
    home.sql("DROP TABLE jobs");
    assert_eq!(run_sqlite(&home.file(), NOW).unwrap(), all());
    let copy = home.directory.path().join("countersign.before-1.db");
    let jobs = "SELECT count(*) FROM sqlite_schema WHERE name = 'jobs'";
    let jobs: i64 = Connection::open(copy).unwrap().query_row(jobs, [], |row| row.get(0)).unwrap();
    assert_eq!(jobs, 0, "the copy is of the last attempt");
}

#[test]
fn a_migration_that_fails_leaves_nothing() {
    let home = older();
    home.sql("CREATE TABLE jobs (n INTEGER) STRICT");
    let before = home.schema();
    run_sqlite(&home.file(), NOW).unwrap_err();
    assert_eq!(home.schema(), before);
}

#[tokio::test]
async fn what_was_kept_is_there_after_the_next_start() {
    let home = Home::migrated();
    home.sql("CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL) STRICT");
    let db = Db::open_sqlite(&home.file()).unwrap();
    add(&db, "a", 1).await.unwrap();
    // Not closed: as after a kill, the change is in the write-ahead log only.
    let crashed = Home::empty();
    for end in ["", "-wal"] {
        let name = format!("countersign.db{end}");
        fs::copy(home.directory.path().join(&name), crashed.directory.path().join(&name)).unwrap();
    }
    assert_eq!(run_sqlite(&crashed.file(), NOW).unwrap(), 0);
    let n: i64 = Connection::open(crashed.file())
        .unwrap()
        .query_row("SELECT n FROM things WHERE id = 'a'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(n, 1);
}
