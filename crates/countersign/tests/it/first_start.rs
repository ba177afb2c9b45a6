//! The first start makes what an empty database needs, once, and the only key to it is in the operator's hands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use testkit::scaled;

use crate::support::{Home, Kind, PATIENCE, Served, chance, until};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

async fn begins(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let key_file = home.data.join("admin.key");
    assert_eq!([mode(&home.data), mode(&home.data.join("keys"))], [0o700, 0o700]);
    for file in [&key_file, &home.key_file("seal.key"), &home.key_file("secrets.key")] {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    if kind == Kind::Sqlite {
        assert_eq!(mode(&home.database_file()), 0o600);
    }
    let me = served.admin().me().await.unwrap();
    assert_eq!((me.organization.slug.as_str(), me.account.display_name.as_str()), ("default", "admin"));
    let ran = served.stop();
    assert!(ran.out.contains(&key_file.display().to_string()), "{}", ran.out);
    let on_record = "SELECT COUNT(*) FROM accounts WHERE CAST(id AS TEXT) IN (SELECT subject_id FROM audit_logs WHERE \
                     action = 'account:created')";
    assert_eq!(home.sql(on_record).await, [["2"]], "the admin and the hub's own");

    let (_, link) = ran.out.split_once("/login/once?token=").expect("a link to log in with");
    let token = link.lines().next().unwrap();
    assert!(token.starts_with("cso_") && token.len() == 47, "whole: {token}");
    assert!(!ran.err.contains(token), "the log does not repeat it");

    let written = fs::read_to_string(&key_file).unwrap();
    assert!(!ran.out.contains(written.trim()), "the key itself is not shown");
    fs::remove_file(&key_file).unwrap();
    let served = Served::watch(home.start("127.0.0.1:0"), || written.trim().to_owned()).await;
    served.admin().me().await.expect("the key of the first start still opens");
    let ran = served.stop();
    assert!(
        !key_file.exists() && !ran.out.contains("first start") && !ran.out.contains("/login/once"),
        "a second start makes no other key and no other link: {}",
        ran.out
    );
}

#[tokio::test]
async fn the_first_start_hands_over_one_key_on_sqlite() {
    begins(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_first_start_hands_over_one_key_on_postgres() {
    begins(Kind::Postgres).await;
}

async fn key_cannot_be_written(kind: Kind) {
    let home = Home::on(kind);
    let obstacle = home.data.join("admin.key");
    fs::create_dir_all(&obstacle).unwrap();
    home.refused().assert_refused(1, &["cannot write", "admin.key"]);
    for table in ["organizations", "accounts", "api_keys", "audit_logs"] {
        assert_eq!(home.sql(&format!("SELECT count(*) FROM {table}")).await, [["0"]], "{table}");
    }
    fs::remove_dir(&obstacle).unwrap();
    let served = home.serve().await;
    served.admin().me().await.unwrap();
    served.stop();
}

#[tokio::test]
async fn a_key_that_cannot_be_written_leaves_nothing_on_sqlite() {
    key_cannot_be_written(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_key_that_cannot_be_written_leaves_nothing_on_postgres() {
    key_cannot_be_written(Kind::Postgres).await;
}

/// Whatever the first start had begun when it was killed, the next one makes a hub that works.
async fn killed_at_any_moment(kind: Kind) {
    const SPAN_MS: usize = 300;
    for _ in 0..scaled(40) {
        let home = Home::on(kind);
        let mut process = home.start("127.0.0.1:0");
        // Not a wait for something: the moment is chosen by chance.
        tokio::time::sleep(Duration::from_millis(chance(SPAN_MS) as u64)).await;
        process.kill();
        home.forget_crash().await;
        let served = home.serve().await;
        served.admin().me().await.expect("the key in admin.key is one the hub knows");
        served.stop();
        let reports = home.verified(&[]);
        assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
    }
}

#[tokio::test]
async fn a_first_start_may_be_killed_at_any_moment_on_sqlite() {
    killed_at_any_moment(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_first_start_may_be_killed_at_any_moment_on_postgres() {
    killed_at_any_moment(Kind::Postgres).await;
}

/// Neither waits for the other: whoever comes second must find a database that is somebody's.
#[tokio::test]
async fn one_of_two_wins_an_empty_postgres() {
    for _ in 0..scaled(20) {
        let first = Home::on(Kind::Postgres);
        let second = Home::with(first.database_url.clone());
        let mut racers = [(&first, first.start("127.0.0.1:0")), (&second, second.start("127.0.0.1:0"))];
        let mut loser = None;
        until("one of them gives up", async || {
            loser = racers.iter_mut().position(|(_, process)| process.has_ended());
            loser.is_some()
        })
        .await;
        let [one, other] = racers;
        let ((_, mut lost), (winner, process)) = if loser == Some(0) { (one, other) } else { (other, one) };
        let ran = lost.ended(PATIENCE);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
        let says = ["this database was written with", "another server uses this database"];
        assert!(says.iter().any(|text| ran.err.contains(text)), "{}", ran.err);
        let served = Served::watch(process, || winner.admin_key()).await;
        served.admin().me().await.unwrap();
        served.stop();
        assert_eq!(winner.sql("SELECT count(*) FROM organizations").await, [["1"]]);
        // Its keys, and no others, are those of the database.
        winner.serve().await.stop();
    }
}
