//! `lock`: taken, shown, ended, and held around a command.

use std::time::Duration;

use serde_json::Value;
use wire::ForceReleaseLock;

use crate::support::{Home, Kind, PATIENCE, Process, until};

const KEY: &str = "resource:database:prod";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_by_hand() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let taken = run(&["lock", "acquire", KEY, "--ttl", "60", "--json"]).done();
    let lock: Value = serde_json::from_str(&taken).unwrap();
    let id = lock["lock_id"].as_str().unwrap();
    run(&["lock", "acquire", KEY, "--owner", "other"]).assert_refused(1, &["LOCK_HELD"]);
    run(&["lock", "acquire", KEY, "--owner", "other", "--wait", "1"])
        .assert_refused(4, &["LOCK_WAIT_TIMEOUT"]);
    run(&["lock", "acquire", KEY, "--owner", "other", "--queue"]).done();
    assert!(run(&["lock", "list"]).done().contains(KEY));
    assert!(run(&["lock", "queue", KEY]).done().contains("other"));
    assert!(run(&["lock", "graph"]).done().contains("other"));
    assert_eq!(run(&["lock", "release", id]).done(), format!("released {id}\n"));
    run(&["lock", "release", id]).assert_refused(1, &["LOCK_EXPIRED"]);
    assert!(run(&["lock", "force-release", KEY, "--reason", "stuck"]).done().contains("other"));
    assert_eq!(run(&["lock", "list", "--json"]).done().replace(char::is_whitespace, ""), "{\"items\":[]}");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_runs_while_its_locks_are_held() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let script = "echo $COUNTERSIGN_FENCING_TOKEN $COUNTERSIGN_FENCING_TOKENS; exit 7";
    let ran = run(&["lock", "run", KEY, "resource:a:b", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(7));
    let (largest, all) = ran.out.trim().split_once(' ').unwrap();
    let all: Value = serde_json::from_str(all).unwrap();
    assert_eq!(all[KEY].as_u64().max(all["resource:a:b"].as_u64()), largest.parse().ok());
    assert!(served.admin().locks(&wire::LocksQuery::default()).await.unwrap().items.is_empty(), "given back");
    run(&["lock", "acquire", KEY]).done();
    run(&["lock", "run", KEY, "--wait", "1", "--", "true"]).assert_refused(4, &["did not become free"]);
    run(&["lock", "run", "task:1", "--", "true"]).assert_refused(3, &["FORBIDDEN"]);
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_lost_its_lock_is_ended_with_its_group() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let url = served.admin().base_url().to_string();
    // The shell's child would outlive the shell.
    let args = ["lock", "run", KEY, "--ttl", "2", "--", "sh", "-c", "echo started; sleep 300 & wait"];
    let mut process = Process::start(home.command_as(&url, served.admin_key(), &args));
    process.out_until("the command", |out| out.contains("started"));
    let ending = ForceReleaseLock { key: KEY.into(), reason: "a test".into() };
    until("somebody ends the lock", async || {
        !served.admin().force_release_lock(&ending).await.unwrap().locks.is_empty()
    })
    .await;
    let ended = process.ended(PATIENCE.min(Duration::from_secs(30)));
    assert_eq!(ended.code, Some(128 + 15), "{}", ended.err);
    assert!(ended.err.contains("a lock was lost"), "{}", ended.err);
    served.stop();
}
