//! `lock`: taken, shown, ended, and held around a command.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use wire::{ForceReleaseLock, LockQueueQuery};

use crate::support::{Home, Kind, PATIENCE, Process, Served, until};

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

/// `lock run` as the admin.
fn running(home: &Home, served: &Served, args: &[&str]) -> Process {
    let args: Vec<&str> = ["lock", "run"].iter().chain(args).copied().collect();
    Process::start(home.command_as(&served.url, served.admin_key(), &args))
}

async fn line(served: &Served) -> wire::LockQueue {
    served.admin().lock_queue(&LockQueueQuery { key: KEY.into() }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_ends_the_wait_leaves_nothing_behind() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    home.as_admin(&served, &["lock", "acquire", KEY, "--ttl", "300"]).done();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        // Of two keys it has the first.
        let mut waits = running(&home, &served, &["resource:a:first", KEY, "--", "echo", "started"]);
        until("it stands in line", async || line(&served).await.waiters.len() == 1).await;
        waits.signal(signal);
        let ended = waits.ended(PATIENCE);
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{}", ended.err);
        assert!(line(&served).await.waiters.is_empty());
        let held = served.admin().locks(&wire::LocksQuery::default()).await.unwrap().items;
        assert_eq!(held.len(), 1, "the first key is given back: {held:?}");
    }
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_are_the_commands_to_answer() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    // The shell's child must hear of it too, so it is the group that is told.
    let script = "trap 'echo shell; wait; exit 9' TERM
        (trap 'echo child; exit' TERM; echo ready; while :; do sleep 0.05; done) & wait";
    let mut process = running(&home, &served, &[KEY, "--", "sh", "-c", script]);
    process.out_until("the command", |out| out.contains("ready"));
    process.signal(Signal::TERM);
    let ended = process.ended(PATIENCE);
    assert_eq!(ended.code, Some(9), "{ended:?}");
    assert!(ended.out.contains("shell") && ended.out.contains("child"), "{ended:?}");
    assert!(line(&served).await.holders.is_empty());
    served.stop();
}

/// A hub that is away has ended nothing yet, so the command goes on while its lock can be counted on, and not longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_hangs_ends_the_command_before_the_lease() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let args = [KEY, "--ttl", "3", "--", "sh", "-c", "echo started; sleep 300"];
    let mut process = running(&home, &served, &args);
    process.out_until("the command", |out| out.contains("started"));
    served.process.signal(Signal::STOP);
    let since = Instant::now();
    process.err_until("that the lock is lost", |err| err.contains("a lock was lost"));
    // Heartbeats begin after a third of its time, and the last third is kept for its end.
    let lost = since.elapsed();
    assert!(lost >= Duration::from_millis(900) && lost < Duration::from_secs(8), "{lost:?}");
    // Giving back what nobody hears of takes its time too, and an end.
    let ended = process.ended(Duration::from_secs(20));
    assert_eq!(ended.code, Some(128 + 15), "{}", ended.err);
    served.process.signal(Signal::CONT);
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_comes_back_finds_the_run_waiting() {
    let home = Home::on(Kind::Sqlite);
    let mut served = home.serve().await;
    let held = home.as_admin(&served, &["lock", "acquire", KEY, "--ttl", "300", "--json"]).done();
    let held: Value = serde_json::from_str(&held).unwrap();
    // It has heard of the hub, which a run that hears nothing at all has not.
    let mut waits = running(&home, &served, &["resource:a:first", KEY, "--", "echo", "served"]);
    until("it stands in line", async || line(&served).await.waiters.len() == 1).await;
    let listen = served.listen().to_owned();
    served.process.kill();
    // Away for longer than from one look at the ticket to the next.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let served = home.serve_at(&listen).await;
    home.as_admin(&served, &["lock", "release", held["lock_id"].as_str().unwrap()]).done();
    assert_eq!(waits.ended(PATIENCE).done(), "served\n");
    served.stop();
}
