//! `kill -9` under load: whatever was acknowledged is there afterwards, whole and proven.

use serde_json::Value;
use testkit::scaled;

use crate::support::{AfterError, Home, Key, Kind, Served, Writers, assert_all_there, chance};

const ROUNDS: usize = 20;
const WRITERS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_on_sqlite() {
    survives(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_on_postgres() {
    survives(&Home::on(Kind::Postgres)).await;
}

/// Two ends at least: one server must find what another, killed one has found before.
async fn survives(home: &Home) {
    let mut acknowledged = Vec::new();
    let mut heads: Vec<String> = Vec::new();
    for round in 0..scaled(ROUNDS).max(2) {
        if round > 1 {
            // On PostgreSQL a crashed server's lease lasts 20 s. The second start waits for that, the others need not.
            home.forget_crash().await;
        }
        let mut served = home.serve().await;
        assert_all_there(&served, &served.admin(), &acknowledged).await;
        acknowledged.extend(killed_under_load(&mut served).await);
        // What the log said was sealed was kept elsewhere by then.
        heads.extend(last_seal_logged(&served.process.err()));
        home.assert_no_partial_unit().await;
        for head in heads.iter().rev().take(3) {
            home.verified(&["--head", head]);
        }
        heads.extend(home.verified(&[]).iter().filter_map(head_of));
    }
    home.forget_crash().await;
    let served = home.serve().await;
    assert_all_there(&served, &served.admin(), &acknowledged).await;
    served.stop();
    for head in &heads {
        let reports = home.verified(&["--head", head]);
        assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
    }
}

/// Lets many write, kills the hub in the middle of it, and returns what was acknowledged until then.
async fn killed_under_load(served: &mut Served) -> Vec<Key> {
    let mut writers = Writers::start(&served.admin(), WRITERS, AfterError::Leave);
    writers.acknowledged(100 + chance(300)).await;
    served.process.kill();
    let written = writers.finish().await;
    assert_eq!(written.errors.len(), WRITERS, "every writer was at work when the hub was killed");
    written.keys
}

/// "… audit seal 7 of 0198…: 9f2c… …": the hash.
fn last_seal_logged(log: &str) -> Option<String> {
    let line = log.lines().rfind(|line| line.contains("audit seal "))?;
    let hash =
        line.split(' ').find(|word| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    Some(hash.expect("a seal is logged with its hash").to_owned())
}

fn head_of(report: &Value) -> Option<String> {
    report["head"].as_str().map(str::to_owned)
}
