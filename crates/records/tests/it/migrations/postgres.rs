//! A server that may lose what it acknowledges is refused; of several hubs one migrates.

use futures_util::future::join_all;
use records::migrate::{is_current, run_postgres};
use records::{Db, Error};
use testkit::postgres::Postgres;

use super::all;
use crate::support::{NOW, SCHEMA, assert_error, connect};

fn open(url: &str) -> Db {
    Db::open_postgres(url, SCHEMA).unwrap()
}

#[tokio::test]
async fn the_second_run_changes_nothing() {
    let url = Postgres::shared().fresh_database();
    let db = open(&url);
    assert!(!is_current(&db).await.unwrap());
    assert_eq!(run_postgres(&db, SCHEMA, NOW).await.unwrap(), all());
    assert!(is_current(&db).await.unwrap());
    let client = connect(&url, SCHEMA).await;
    let objects = "SELECT count(*), max(oid) FROM pg_class";
    let before = client.query_one(objects, &[]).await.unwrap();
    assert_eq!(run_postgres(&db, SCHEMA, NOW).await.unwrap(), 0);
    let after = client.query_one(objects, &[]).await.unwrap();
    assert_eq!(before.get::<_, i64>(0), after.get::<_, i64>(0));
    assert_eq!(before.get::<_, u32>(1), after.get::<_, u32>(1));
}

#[tokio::test]
async fn of_many_hubs_one_migrates() {
    let url = Postgres::shared().fresh_database();
    let hubs: Vec<Db> = (0..6).map(|_| open(&url)).collect();
    let applied = join_all(hubs.iter().map(|db| run_postgres(db, SCHEMA, NOW))).await;
    let applied: Vec<usize> = applied.into_iter().map(Result::unwrap).collect();
    assert_eq!(applied.iter().sum::<usize>(), all(), "{applied:?}");
    // Nobody keeps the lock: it belongs to a session, and sessions go back to the pool.
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM \
                 pg_database WHERE datname = current_database())";
    assert_eq!(connect(&url, SCHEMA).await.query_one(locks, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_schema_from_the_future_is_refused() {
    let url = Postgres::shared().fresh_database();
    let db = open(&url);
    run_postgres(&db, SCHEMA, NOW).await.unwrap();
    let client = connect(&url, SCHEMA).await;
    let add = async |number: i64, release: i64| {
        let row = format!("INSERT INTO schema_migrations VALUES ({number}, {release}, 'later', 'x', now())");
        client.batch_execute(&row).await.unwrap();
    };
    add(1000, 2).await;
    assert!(is_current(&db).await.unwrap(), "the next release's is fine");
    add(1001, 3).await;
    assert_error!(is_current(&db).await, Error::Refused(said) if said.contains("release 3"));
    assert_error!(run_postgres(&db, SCHEMA, NOW).await, Error::Refused(said) if said.contains("release 3"));
    client.batch_execute("DELETE FROM schema_migrations WHERE number >= 1000").await.unwrap();
    assert!(is_current(&db).await.unwrap());
    client.batch_execute("UPDATE schema_migrations SET checksum = 'edited'").await.unwrap();
    assert_error!(is_current(&db).await, Error::Refused(said) if said.contains("migration 1"));
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing() {
    let url = Postgres::shared().fresh_database();
    let db = open(&url);
    let client = connect(&url, SCHEMA).await;
    client.batch_execute("CREATE SCHEMA countersign; CREATE TABLE jobs (n INT)").await.unwrap();
    for _ in 0..2 {
        assert_error!(run_postgres(&db, SCHEMA, NOW).await, Error::Refused(said) if said.contains("jobs"));
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'countersign' AND tablename <> 'schema_migrations'";
    assert_eq!(client.query_one(tables, &[]).await.unwrap().get::<_, i64>(0), 1, "only the one in the way");
    client.batch_execute("DROP TABLE jobs").await.unwrap();
    assert_eq!(run_postgres(&db, SCHEMA, NOW).await.unwrap(), all());
}

#[tokio::test]
async fn asynchronous_commits_are_refused() {
    let server = Postgres::shared();
    let url = server.fresh_database();
    let name = url.rsplit('/').next().unwrap();
    for (setting, is_fine) in [("off", false), ("local", true), ("on", true)] {
        server.query(&format!("ALTER DATABASE {name} SET synchronous_commit = {setting}"));
        // The setting counts for connections made from here on.
        let answer = is_current(&open(&url)).await;
        match is_fine {
            true => assert!(!answer.unwrap()),
            false => assert_error!(answer, Error::Refused(said) if said.contains("synchronous_commit = off")),
        }
    }
}

#[tokio::test]
async fn a_server_without_fsync_is_refused() {
    let server = Postgres::start_with(&["fsync=off"]);
    let answer = is_current(&open(&server.url())).await;
    assert_error!(answer, Error::Refused(said) if said.contains("fsync = off"));
}

#[tokio::test]
async fn two_schemas_in_one_database_do_not_meet() {
    let url = Postgres::shared().fresh_database();
    let other = Db::open_postgres(&url, "other").unwrap();
    assert_eq!(run_postgres(&open(&url), SCHEMA, NOW).await.unwrap(), all());
    assert!(!is_current(&other).await.unwrap());
    assert_eq!(run_postgres(&other, "other", NOW).await.unwrap(), all());
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_and_nobody_there_is_unavailable() {
    assert_error!(Db::open_postgres("nonsense", SCHEMA).map(drop), Error::Refused(_));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answer = is_current(&open(&format!("postgres://x@{free}/x"))).await;
    assert_error!(answer, Error::Unavailable(why) if why.contains("refused"));
}
