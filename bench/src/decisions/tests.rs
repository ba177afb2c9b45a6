//! What is compared must do the same: each store is given the same decisions and must leave the same rows.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use records::{Db, statement};
use testkit::postgres::Postgres;
use tokio_postgres::NoTls;

use super::postgres_by_hand::PostgresByHand;
use super::sqlite_by_hand::{Commits, SqliteByHand};
use super::through_records::ThroughRecords;
use super::*;

#[test]
fn deciders_never_meet() {
    #[derive(Clone)]
    struct Nowhere;
    impl Store for Nowhere {
        async fn decide(&self, _: Decision) -> Result<bool> {
            Ok(true)
        }
    }
    let mut seen = HashMap::new();
    for number in 0..DECIDERS {
        let mut decider = Decider::new(Nowhere, number);
        for _ in 0..1_000 {
            let task = decider.chance.below(decider.versions.len() as u64) * DECIDERS + number;
            assert!(task < TASKS);
            assert_eq!(*seen.entry(task).or_insert(number), number);
        }
    }
    assert!(seen.len() > 10_000, "only {} tasks are ever decided", seen.len());
}

#[test]
fn ids_are_distinct_and_in_order() {
    let ids: Vec<String> = (0..100).map(|_| fresh_id(micros())).collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 100);
}

/// Two decisions on one task, one that comes too late, one that the schema refuses after its first statement.
fn decisions() -> [Decision; 4] {
    let [first, second, late, refused] = [(5, 0), (5, 1), (5, 0), (69, 0)];
    let decision = |(task, version)| Decision { now: 7, ..decision(task, version) };
    let refused = Decision { verdict: "perhaps", ..decision(refused) };
    [decision(first), decision(second), decision(late), refused]
}

/// The head of the only chain that was written to, after the decisions above.
fn expected_head(decisions: &[Decision; 4]) -> Vec<u8> {
    link(&link(&[0; 32], 1, &decisions[0]), 2, &decisions[1])
}

async fn decide_all<S: Store>(store: &S, decisions: &[Decision; 4]) {
    let [first, second, late, refused] = decisions.clone();
    assert!(store.decide(first).await.unwrap());
    assert!(store.decide(second).await.unwrap());
    assert!(!store.decide(late).await.unwrap());
    assert!(store.decide(refused).await.is_err());
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM approval), (SELECT count(*) FROM audit),
    (SELECT count(*) FROM event), (SELECT sum(version) FROM task)";
const HEAD: &str = "SELECT hash FROM audit_head WHERE chain_id = 5";

fn check_sqlite(file: &Path, decisions: &[Decision; 4]) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let counts = |row: &rusqlite::Row<'_>| <(i64, i64, i64, i64)>::try_from(row);
    assert_eq!(connection.query_row(COUNTS, [], counts).unwrap(), (2, 2, 2, 2));
    let head: Vec<u8> = connection.query_row(HEAD, [], |row| row.get(0)).unwrap();
    assert_eq!(head, expected_head(decisions));
}

#[tokio::test]
async fn every_store_on_sqlite_leaves_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let file = directory.path().join(name);
        std::fs::copy(directory.path().join("template"), &file).unwrap();
        file
    };
    schema::make_sqlite(&directory.path().join("template")).unwrap();
    let decisions = decisions();

    let file = copy("records");
    let db = Db::open_sqlite(&file).unwrap();
    decide_all(&ThroughRecords(db.clone()), &decisions).await;
    check_sqlite(&file, &decisions);
    db.close().await;

    for (name, commits) in [("groups", Commits::OfGroups), ("units", Commits::OfUnits)] {
        let file = copy(name);
        decide_all(&SqliteByHand::open(&file, commits).unwrap(), &decisions).await;
        check_sqlite(&file, &decisions);
    }
}

#[tokio::test]
async fn every_store_on_postgresql_leaves_the_same() {
    let url = Postgres::shared().fresh_database();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let mut background = tokio::task::JoinSet::new();
    background.spawn(connection);
    let decisions = decisions();
    for by_hand in [false, true] {
        schema::make_postgres(&client).await.unwrap();
        if by_hand {
            decide_all(&PostgresByHand::open(&url).unwrap(), &decisions).await;
        } else {
            decide_all(&ThroughRecords(Db::open_postgres(&url, schema::SCHEMA).unwrap()), &decisions).await;
        }
        let row =
            client.query_one(&COUNTS.replace("sum(version)", "sum(version)::bigint"), &[]).await.unwrap();
        assert_eq!([0, 1, 2, 3].map(|column| row.get::<_, i64>(column)), [2; 4]);
        let head: Vec<u8> = client.query_one(HEAD, &[]).await.unwrap().get(0);
        assert_eq!(head, expected_head(&decisions));
    }
}

#[test]
fn by_hand_reads_the_head_with_the_same_text() {
    let registered = statement::registered().find(|one| one.name.ends_with("through_records::HEAD")).unwrap();
    assert_eq!((registered.texts)(), (sqlite_by_hand::HEAD.to_owned(), postgres_by_hand::HEAD.to_owned()));
}
