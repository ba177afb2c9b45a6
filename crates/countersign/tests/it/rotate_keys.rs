//! New keys of the hub's own: only while it is stopped, and nothing of before is lost.

use crate::support::{Home, Kind, mint};

async fn keys_are_rotated(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    mint(&served.admin(), "before").await;
    // Its own place is taken: the data directory, or the lease on PostgreSQL.
    home.run_on_data(&["admin", "rotate-keys"]).assert_refused(1, &["another"]);
    served.stop();
    let before = std::fs::read_to_string(home.key_file("seal.key")).unwrap();
    let said = home.run_on_data(&["admin", "rotate-keys"]).done();
    assert!(said.starts_with("new keys: "), "{said}");
    let after = std::fs::read_to_string(home.key_file("seal.key")).unwrap();
    assert!(after.starts_with(&before) && after.lines().count() == 2, "the old key stays, first");
    let served = home.serve().await;
    mint(&served.admin(), "after").await;
    served.stop();
    // Seals of both keys, in one chain.
    let reports = home.verified(&[]);
    assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
}

#[tokio::test]
async fn on_sqlite() {
    keys_are_rotated(Kind::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    keys_are_rotated(Kind::Postgres).await;
}
