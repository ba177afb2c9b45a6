//! `countersign demo`: a newcomer looks around, decides, sees it applied, and leaves nothing behind.

use client::Client;
use rustix::process::Signal;
use wire::{ApprovalStatus, ApprovalsQuery, Approve, Task, TaskState, TasksQuery};

use crate::support::{Home, Kind, PATIENCE, Process, until};

/// The admin, with the key whose place the demo has said.
fn admin(said: &str) -> Client {
    let line = said.lines().find(|line| line.contains("COUNTERSIGN_API_KEY=")).unwrap();
    let url = line.split_once("COUNTERSIGN_URL=").unwrap().1.split_whitespace().next().unwrap();
    let path = line.split_once("$(cat ").unwrap().1.trim_end_matches(')');
    let key = std::fs::read_to_string(path).unwrap();
    testkit::watch::secret(key.trim());
    Client::new(url, Some(key.trim())).unwrap()
}

async fn tasks(admin: &Client) -> Vec<Task> {
    let query = TasksQuery { limit: Some(200), ..TasksQuery::default() };
    admin.tasks(&query).await.unwrap().items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_looks_around_finds_work_decides_and_leaves_nothing_behind() {
    let home = Home::on(Kind::Sqlite);
    let tmp = home.beside("tmp");
    std::fs::create_dir(&tmp).unwrap();
    // What is set up on the machine is none of the demo's business.
    let home =
        home.env("TMPDIR", tmp.to_str().unwrap()).env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let mut demo = Process::start(home.command(&["demo", "--listen", "127.0.0.1:0"]));
    let said = demo.out_until("that tasks wait", |said| said.contains("tasks wait"));
    assert!(said.contains("/login/once?token="), "{said}");
    let admin = admin(&said);

    let there = tasks(&admin).await;
    for state in [TaskState::Completed, TaskState::Failed, TaskState::Rejected, TaskState::Reviewing] {
        assert!(there.iter().any(|task| task.state == state), "no task is {state:?}: {said}");
    }
    assert!(admin.locks(&wire::LocksQuery::default()).await.unwrap().items.len() == 1, "one lock is held");

    // Somebody else has signed already: the admin's is the last signature, and an agent does the rest.
    let migration = there.iter().find(|task| task.slug.as_deref() == Some("add-shipped-at")).unwrap();
    let query = ApprovalsQuery {
        reviewer: Some("me".into()),
        status: Some(ApprovalStatus::Pending),
        task_id: Some(migration.id),
        ..ApprovalsQuery::default()
    };
    for asked in admin.approvals(&query).await.unwrap().items {
        let yes = Approve { content_hash: asked.content_hash.clone(), review_hash: None, reason: None };
        admin.approve(asked.id, &yes).await.unwrap();
    }
    until("an agent has applied it", async || {
        admin.task(migration.id).await.unwrap().state == TaskState::Completed
    })
    .await;

    demo.signal(Signal::INT);
    let ran = demo.ended(PATIENCE);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.err, "", "a demo has nothing to complain about");
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0, "something is left");
}

#[test]
fn an_address_in_use_is_said_and_nothing_is_left() {
    let home = Home::on(Kind::Sqlite);
    let tmp = home.beside("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let home = home.env("TMPDIR", tmp.to_str().unwrap());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.run(&["demo", "--listen", &address]).assert_refused(1, &["cannot listen on", "--listen"]);
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0, "something is left");
}
