//! A PostgreSQL that is not as it must be: the hub refuses to start, says why, and says what to do.

use std::time::{Duration, Instant};

use testkit::postgres::Postgres;

use crate::support::{Home, Kind, PATIENCE, Process};

const FAILED: i32 = 1;

#[test]
fn nobody_listens() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::with(Some(format!("postgres://hub:hunter2@{free}/hub")));
    let ran = home.refused();
    ran.assert_refused(FAILED, &["PostgreSQL", "cannot be reached", "refused", "correct DATABASE_URL"]);
    assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    home.run_on_data(&["migrate"]).assert_refused(FAILED, &["cannot be reached", "refused"]);
}

#[test]
fn no_such_database() {
    let home = Home::with(Some(Postgres::shared().url().replace("/postgres", "/nowhere")));
    home.refused()
        .assert_refused(FAILED, &["PostgreSQL", "\"nowhere\" does not exist", "correct DATABASE_URL"]);
}

#[tokio::test]
async fn a_schema_that_was_not_migrated() {
    let home = Home::on(Kind::Postgres);
    let data = home.data.display().to_string();
    let args = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
    let ran = Process::start(home.command(&args)).ended(PATIENCE);
    ran.assert_refused(FAILED, &["schema countersign", "countersign migrate", "countersign serve --migrate"]);
    assert_eq!(home.run_on_data(&["migrate"]).done(), "20 migrations applied\n");
    assert_eq!(home.run_on_data(&["migrate"]).done(), "the schema is current\n");
    let process = Process::start(home.command(&args));
    crate::support::Served::watch(process, || home.admin_key()).await.stop();
}

#[tokio::test]
async fn a_schema_of_a_later_release() {
    let home = Home::on(Kind::Postgres);
    home.serve().await.stop();
    home.sql("INSERT INTO schema_migrations VALUES (900, 3, 'x', 'x', now())").await;
    home.refused().assert_refused(FAILED, &["schema of release 3", "Start a newer countersign"]);
    // The next release's schema is one this release can run with.
    home.sql("UPDATE schema_migrations SET release = 2 WHERE number = 900").await;
    home.serve().await.stop();
}

#[test]
fn a_server_that_may_lose_what_it_acknowledged() {
    let postgres = Postgres::start_with(&["fsync=off"]);
    let home = Home::with(Some(postgres.url()));
    home.refused().assert_refused(FAILED, &["fsync = off", "may lose", "Set fsync = on"]);
    home.run_on_data(&["migrate"]).assert_refused(FAILED, &["fsync = off", "Set fsync = on"]);
}

#[test]
fn a_database_that_does_not_wait_for_its_disk() {
    let url = Postgres::shared().fresh_database();
    let name = url.rsplit('/').next().unwrap();
    Postgres::shared().query(&format!("ALTER DATABASE {name} SET synchronous_commit = off"));
    let home = Home::with(Some(url));
    home.refused()
        .assert_refused(FAILED, &["synchronous_commit = off", "Set fsync = on and synchronous_commit = on"]);
}

/// Both hold the right keys, so only the lease keeps them apart.
#[tokio::test]
async fn a_second_server_while_the_first_lives() {
    let first = Home::on(Kind::Postgres);
    let served = first.serve().await;
    let keys = first.data.join("keys").display().to_string();
    let second = Home::with(first.database_url.clone()).env("COUNTERSIGN_KEYS_DIR", &keys);
    let began = Instant::now();
    second
        .refused()
        .assert_refused(FAILED, &["another server uses this database", "Stop it", "DATABASE_URL"]);
    // The first renews its lease every 5 s, and that it does is the proof that it lives.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    served.admin().me().await.expect("the first one is none the worse");
    served.stop();
    // A lease that was given back is there for the next at once.
    let began = Instant::now();
    let process = second.start("127.0.0.1:0");
    crate::support::Served::watch(process, || first.admin_key()).await.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_with_keys_of_its_own() {
    let first = Home::on(Kind::Postgres);
    first.serve().await.stop();
    let second = Home::with(first.database_url.clone());
    second.refused().assert_refused(
        FAILED,
        &["secrets.key", "this database was written with", "share one keys directory"],
    );
    first.serve().await.stop();
}
