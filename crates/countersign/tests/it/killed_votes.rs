//! `kill -9` in the middle of votes: each is there with all that follows from it, or not at all.

use std::sync::{Arc, Mutex};

use client::Client;
use serde_json::json;
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{ApprovalsQuery, Approve, CreateTask};

use crate::support::{Home, Kind, Served, chance, until};

const ROUNDS: usize = 20;
const PROPOSERS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vote_is_whole_or_was_not_cast_on_sqlite() {
    survives(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vote_is_whole_or_was_not_cast_on_postgres() {
    survives(&Home::on(Kind::Postgres)).await;
}

struct Keys {
    author: String,
    reviewers: Vec<String>,
}

/// A member with a key that nobody else made: what an admin mints counts as that admin.
fn join(home: &Home, served: &Served, name: &str, role: &str) -> String {
    let email = format!("{name}@example.org");
    home.as_admin(served, &["account", "create", &email, "--name", name, "--role", role]).done();
    let first = home.as_admin(served, &["key", "mint", "first", "--account", &email]).done();
    let own = home.command_as(&served.url, first.trim(), &["key", "mint", "own"]);
    let own = crate::support::Process::start(own).ended(crate::support::PATIENCE).done();
    own.trim().to_owned()
}

async fn survives(home: &Home) {
    let mut acknowledged: Vec<Uuid> = Vec::new();
    let mut keys = None;
    for round in 0..scaled(ROUNDS).max(2) {
        if round > 0 {
            home.forget_crash().await;
        }
        let mut served = home.serve().await;
        let keys = keys.get_or_insert_with(|| Keys {
            author: join(home, &served, "ann", "author"),
            reviewers: ["bob", "eve", "joe"].map(|name| join(home, &served, name, "reviewer")).to_vec(),
        });
        if round == 0 {
            let two = json!({"name": "two", "required_roles": ["reviewer"], "min_approvers": 2});
            served.admin().create_policy(&serde_json::from_value(two).unwrap()).await.unwrap();
        }
        acknowledged.extend(killed_under_votes(&mut served, keys).await);
        assert_whole(home, &acknowledged).await;
        home.verified(&[]);
    }
}

/// Many propose and three vote at once, until the hub is killed; the votes that were acknowledged.
async fn killed_under_votes(served: &mut Served, keys: &Keys) -> Vec<Uuid> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut at_work = JoinSet::new();
    for _ in 0..PROPOSERS {
        let author = served.client(&keys.author);
        let reviewers: Vec<Client> = keys.reviewers.iter().map(|key| served.client(key)).collect();
        let told = Arc::clone(&told);
        at_work.spawn(async move { while voted(&author, &reviewers, &told).await.is_some() {} });
    }
    let enough = 20 + chance(60);
    until("votes", async || told.lock().unwrap().len() >= enough).await;
    served.process.kill();
    at_work.join_all().await;
    Arc::try_unwrap(told).unwrap().into_inner().unwrap()
}

/// One task, and three votes on it at once; none once the hub is gone.
async fn voted(author: &Client, reviewers: &[Client], told: &Arc<Mutex<Vec<Uuid>>>) -> Option<()> {
    let config = json!({"type": "t", "description": "d"});
    let task = CreateTask { config, submit: Some(true), ..CreateTask::default() };
    let task = author.create_task(&task).await.ok()?;
    let mut votes = JoinSet::new();
    for reviewer in reviewers {
        let (reviewer, told, task) = (reviewer.clone(), Arc::clone(told), task.clone());
        votes.spawn(async move {
            let mine = ApprovalsQuery {
                reviewer: Some("me".into()),
                task_id: Some(task.id),
                ..ApprovalsQuery::default()
            };
            let request = reviewer.approvals(&mine).await.ok()?.items.first()?.id;
            let yes = Approve { content_hash: task.content_hash, review_hash: None, reason: None };
            match reviewer.approve(request, &yes).await {
                Ok(_) => told.lock().unwrap().push(request),
                // Two others were enough.
                Err(client::ClientError::Problem(_)) => {}
                Err(_) => return None,
            }
            Some(())
        });
    }
    votes.join_all().await.into_iter().collect::<Option<Vec<()>>>().map(drop)
}

/// What would be half a vote.
const HALVES: &[(&str, &str)] = &[
    (
        "SELECT CAST(id AS TEXT) FROM approvals WHERE status = 'APPROVED' EXCEPT \
         SELECT subject_id FROM audit_logs WHERE action = 'approval:approved'",
        "a vote that is not on record",
    ),
    (
        "SELECT subject_id FROM audit_logs WHERE action = 'approval:approved' EXCEPT \
         SELECT CAST(id AS TEXT) FROM approvals WHERE status = 'APPROVED'",
        "a record of a vote that was not cast",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPROVED' EXCEPT \
         SELECT CAST(task_id AS TEXT) FROM grants WHERE voided_at IS NULL",
        "approved without a Grant",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM approvals WHERE status = 'APPROVED' GROUP BY task_id \
         HAVING count(*) >= 2 EXCEPT SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPROVED'",
        "a quorum that approved nothing",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPROVED' EXCEPT SELECT CAST(task_id AS TEXT) FROM \
         approvals WHERE status = 'APPROVED' GROUP BY task_id HAVING count(*) = 2",
        "approved by another number of people than two",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM approvals JOIN tasks ON tasks.id = approvals.task_id WHERE \
         approvals.status = 'PENDING' AND tasks.state <> 'REVIEWING'",
        "somebody is asked about what is settled",
    ),
];

async fn assert_whole(home: &Home, acknowledged: &[Uuid]) {
    for (rows, meaning) in HALVES {
        let found = home.sql(rows).await;
        assert!(found.is_empty(), "{meaning}: {found:?}");
    }
    let cast = home.sql("SELECT CAST(id AS TEXT) FROM approvals WHERE status = 'APPROVED'").await;
    for vote in acknowledged {
        assert!(cast.iter().any(|row| row[0] == vote.to_string()), "{vote} was acknowledged and is lost");
    }
}
