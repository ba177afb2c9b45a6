//! `kill -9` under load: whatever was acknowledged is there afterwards, whole and proven.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use testkit::scaled;

use crate::support::{AfterError, Home, Key, Kind, Served, Writers, assert_all_there, chance, mint, until};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_leaves_one_usable_key_on_sqlite() {
    rotates(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_leaves_one_usable_key_on_postgres() {
    rotates(&Home::on(Kind::Postgres)).await;
}

/// A key that renews itself while the hub is killed: the last one that was told works, or the one it was replaced by.
async fn rotates(home: &Home) {
    let mut chain: Option<(String, Vec<Key>)> = None;
    for round in 0..=scaled(ROUNDS).max(3) {
        home.forget_crash().await;
        let mut served = home.serve().await;
        if let Some((name, told)) = &chain {
            assert_one_usable(home, &served, name, told).await;
        }
        let name = format!("chain-{round}");
        let told = killed_while_rotating(&mut served, &name).await;
        chain = Some((name, told));
    }
}

/// Rotates one key after the other until the hub is killed; all that were told.
async fn killed_while_rotating(served: &mut Served, name: &str) -> Vec<Key> {
    let told = Arc::new(Mutex::new(vec![mint(&served.admin(), name).await]));
    let mut rotating = tokio::task::JoinSet::new();
    rotating.spawn({
        let (admin, told) = (served.admin(), Arc::clone(&told));
        async move {
            loop {
                let last = told.lock().unwrap().last().unwrap().id;
                match admin.rotate_api_key(last).await {
                    Ok(answer) => told.lock().unwrap().push(Key::shown_in(answer)),
                    Err(_) => return,
                }
            }
        }
    });
    let enough = 2 + chance(40);
    until("a few rotations", async || told.lock().unwrap().len() >= enough).await;
    // Anywhere in the next rotation, which takes about a millisecond.
    std::thread::sleep(std::time::Duration::from_micros(u64::try_from(chance(2000)).unwrap()));
    served.process.kill();
    rotating.join_all().await;
    Arc::try_unwrap(told).unwrap().into_inner().unwrap()
}

async fn assert_one_usable(home: &Home, served: &Served, name: &str, told: &[Key]) {
    let usable =
        format!("SELECT CAST(id AS TEXT) FROM api_keys WHERE name = '{name}' AND revoked_at IS NULL");
    let usable = home.sql(&usable).await;
    assert_eq!(usable.len(), 1, "{name}: {usable:?}");
    let (last, earlier) = told.split_last().unwrap();
    for key in earlier {
        assert!(served.client(&key.secret).me().await.is_err(), "{name}: a replaced key works");
    }
    let me = served.client(&last.secret).me().await;
    if usable[0][0] == last.id.to_string() {
        assert_eq!(me.expect("the key that was told last").key_id, Some(last.id));
    } else {
        // It was replaced, and only the answer was lost.
        assert!(me.is_err(), "{name}: both work");
        let next = format!("SELECT CAST(rotated_to_id AS TEXT) FROM api_keys WHERE id = '{}'", last.id);
        assert_eq!(home.sql(&next).await, usable, "{name}: somebody else's key");
    }
}
