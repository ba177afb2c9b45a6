//! Archives with the real program: `kill -9` in the middle of one, and the proof of one without a hub.

use std::collections::BTreeSet;
use std::time::Duration;

use client::ClientError;
use serde_json::{Value, json};
use testkit::scaled;
use uuid::Uuid;
use wire::{CreateTask, GiveReason, PageQuery, Settings};

use crate::support::{Home, Kind, Ran, Served, chance, until};

const ROUNDS: usize = 20;
/// More than one archive holds, so that one can be whole and the next not begun.
const TASKS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_here_or_there_whenever_the_hub_is_killed_on_sqlite() {
    survives(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_here_or_there_whenever_the_hub_is_killed_on_postgres() {
    survives(&Home::on(Kind::Postgres)).await;
}

async fn survives(home: &Home) {
    let mut all = BTreeSet::new();
    for _ in 0..scaled(ROUNDS).max(2) {
        let served = home.serve().await;
        keep_for(&served, 1_000_000).await;
        for _ in 0..TASKS {
            all.insert(cancelled(&served).await);
        }
        keep_for(&served, 1).await;
        served.stop();
        let mut served = at_its_hour(home).await;
        tokio::time::sleep(Duration::from_millis(chance(1_500) as u64)).await;
        served.process.kill();
        home.forget_crash().await;
        let served = home.serve().await;
        assert_each_is_once(&served, &all).await;
        served.stop();
        home.verified(&[]);
    }
    let served = at_its_hour(home).await;
    until("the archives of all", async || archived(&served).await.len() == all.len()).await;
    assert_eq!(archived(&served).await, all);
    served.stop();
    home.verified(&[]);
}

/// A hub that looks for finished tasks now, not at the next hour.
async fn at_its_hour(home: &Home) -> Served {
    let now =
        "UPDATE jobs SET run_at = created_at, lease_until = NULL, owner = NULL WHERE kind = 'tasks:archive'";
    home.sql(now).await;
    home.serve().await
}

async fn keep_for(served: &Served, seconds: u64) {
    let setting = json!({"task:retention": seconds}).as_object().cloned().unwrap();
    served.admin().patch_settings(&Settings(setting)).await.unwrap();
}

async fn cancelled(served: &Served) -> Uuid {
    let config = json!({"type": "t", "description": "d"});
    let task = CreateTask { config, ..CreateTask::default() };
    let id = served.admin().create_task(&task).await.unwrap().id;
    let reason = GiveReason { reason: "not needed".into() };
    served.admin().cancel_task(id, &reason).await.unwrap();
    id
}

/// Every archived task; one that is in two archives fails.
async fn archived(served: &Served) -> BTreeSet<Uuid> {
    let mut found = BTreeSet::new();
    let archives = served.admin().archives(&PageQuery { limit: Some(200), cursor: None }).await.unwrap();
    assert_eq!(archives.next_cursor, None);
    for archive in archives.items {
        let mut content = served.admin().archive_content(archive.id).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(chunk) = content.chunk().await.unwrap() {
            bytes.extend_from_slice(&chunk);
        }
        for line in String::from_utf8(bytes).unwrap().lines() {
            domain::archives::verify::verify(line.as_bytes(), None).unwrap();
            let line: Value = serde_json::from_str(line).unwrap();
            let id: Uuid = line["task"]["id"].as_str().unwrap().parse().unwrap();
            assert!(found.insert(id), "{id} is archived twice");
        }
    }
    found
}

/// Nothing is in both places, and nothing in none.
async fn assert_each_is_once(served: &Served, all: &BTreeSet<Uuid>) {
    for id in all {
        match served.admin().task(*id).await {
            Ok(_) => {}
            Err(ClientError::Problem(problem)) => {
                assert_eq!((problem.status, problem.code.as_str()), (410, "TASK_ARCHIVED"), "{id}");
                served.admin().archived_task(*id).await.unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_is_shown_and_proves_itself_without_a_hub() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let task = cancelled(&served).await;
    keep_for(&served, 1).await;
    served.stop();
    // As long as it is kept.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let served = at_its_hour(&home).await;
    until("the archive", async || archived(&served).await.contains(&task)).await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let list: Value = serde_json::from_str(&run(&["archive", "list", "--json"]).done()).unwrap();
    let archive = list["items"][0]["id"].as_str().unwrap();
    assert!(run(&["archive", "list"]).done().contains(archive));
    let table = run(&["archive", "show", archive]).done();
    assert!(table.contains(&task.to_string()) && table.contains("CANCELLED"), "{table}");
    assert!(run(&["archive", "show", archive, "--verify"]).done().starts_with("ok: task"));
    let lines = run(&["archive", "show", "--task", &task.to_string(), "--json"]).done();
    let gone = run(&["task", "show", &task.to_string()]);
    gone.assert_refused(1, &["TASK_ARCHIVED", "archive show --task"]);
    let file = home.beside("tasks.ndjson");
    std::fs::write(&file, &lines).unwrap();
    let path = file.to_str().unwrap().to_owned();
    served.stop();
    // Nobody is there to ask.
    let prove = |more: &[&str]| {
        let args = ["archive", "show", "--file", &path, "--verify"];
        home.run(&args.iter().chain(more).copied().collect::<Vec<_>>())
    };
    let found = |ran: Ran, flaw: &str| {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.out.starts_with("BAD: line 1") && ran.out.contains(flaw), "{ran:?}");
    };
    assert!(prove(&[]).done().contains("ok: task"));
    let line: Value = serde_json::from_str(&lines).unwrap();
    let key = line["keys"][0]["public_key"].as_str().unwrap();
    assert!(!prove(&["--key", key]).done().contains("note:"));
    let other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    found(prove(&["--key", other]), "not signed");
    prove(&["--key", "xyz"]).assert_refused(2, &["--key"]);
    std::fs::write(&file, lines.replace("\"description\":\"d\"", "\"description\":\"e\"")).unwrap();
    found(prove(&[]), "config of revision 1");
}
