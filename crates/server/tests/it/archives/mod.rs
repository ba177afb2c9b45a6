//! Finished tasks leave after their organization's retention, whole or not at all, and prove themselves afterwards.

mod lines;

use std::collections::BTreeSet;
use std::time::Duration;

use domain::archives::ARCHIVE_TASKS_MAX;
use domain::archives::verify::verify;
use domain::canonical::Sha256Hash;
use hub::archives::archive_old;
use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::reviews::{answer, asked, person, submitted};
use crate::support::{all_items, eventually, expect, get, id, on_each_engine_with, refused};

/// `task:retention` where nobody says.
const RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);

fn draft(description: &str) -> Value {
    json!({"config": {"type": "t", "description": description}})
}

async fn made(hub: &TestHub, key: &str, body: &Value) -> Value {
    expect(hub.request("POST", "/api/v1/tasks").bearer_auth(key).json(body), 201).await.json()
}

async fn cancel(hub: &TestHub, key: &str, task: &Value) {
    let path = format!("/api/v1/tasks/{}/cancel", id(task));
    let body = json!({"reason": "not needed"});
    expect(hub.request("POST", &path).bearer_auth(key).json(&body), 200).await;
}

async fn cancelled(hub: &TestHub, key: &str) -> Value {
    let task = made(hub, key, &draft("given up")).await;
    cancel(hub, key, &task).await;
    task
}

/// A task that somebody rejected: of an author, by a reviewer, with a comment.
async fn rejected(hub: &TestHub) -> Value {
    let (author, reviewer) = (person(hub, "ann", &["author"]).await, person(hub, "rob", &["reviewer"]).await);
    let task = submitted(hub, &author).await;
    let path = format!("/api/v1/tasks/{}/comments", id(&task));
    let comment = hub.request("POST", &path).bearer_auth(&reviewer).json(&json!({"body": "why\u{202e}?"}));
    expect(comment, 201).await;
    let request = asked(hub, &reviewer, &task).await;
    expect(answer(hub, &reviewer, &request, "reject"), 200).await;
    task
}

/// Seals what is on record, and lets the hub archive until nothing more is due. Its own job may be at it too.
async fn settle(hub: &TestHub) {
    // Losing to the hub's own sealer is fine.
    drop(seal_all(&hub.hub).await);
    while archive_old(&hub.hub).await.unwrap() {}
}

async fn after(hub: &TestHub, span: Duration) {
    hub.clock.advance(span);
    settle(hub).await;
}

/// The log would not go back as far as tasks are kept.
async fn keep_events(hub: &TestHub) {
    let long = json!({"events:retention": 2 * RETENTION.as_secs()});
    expect(hub.admin("PATCH", "/api/v1/settings").json(&long), 200).await;
}

async fn content(hub: &TestHub, key: &str, archive: &Value) -> String {
    let path = format!("/api/v1/archives/{}/content", id(archive));
    expect(hub.request("GET", &path).bearer_auth(key), 200).await.text()
}

/// Every line of every archive of the organization.
async fn lines(hub: &TestHub, key: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    for archive in all_items(hub, key, "/api/v1/archives").await {
        let text = content(hub, key, &archive).await;
        assert_eq!(Sha256Hash::of(text.as_bytes()).to_string(), archive["sha256"].as_str().unwrap());
        assert_eq!(json!(text.len()), archive["bytes"]);
        assert_eq!(json!(text.lines().count()), archive["tasks"]);
        lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    lines
}

fn task_ids(lines: &[Value]) -> BTreeSet<String> {
    lines.iter().map(|line| id(&line["task"])).collect()
}

#[tokio::test]
async fn a_finished_task_leaves_by_a_job_and_proves_itself() {
    on_each_engine(async |hub| {
        let task = rejected(&hub).await;
        let open = made(&hub, &hub.admin_key, &draft("still being written")).await;
        drop(seal_all(&hub.hub).await);
        hub.clock.advance(RETENTION);
        let late = cancelled(&hub, &hub.admin_key).await;
        let archive = eventually("the archive", async || {
            all_items(&hub, &hub.admin_key, "/api/v1/archives").await.into_iter().next()
        })
        .await;
        let text = content(&hub, &hub.admin_key, &archive).await;
        let line = text.strip_suffix('\n').unwrap();
        let proven = verify(line.as_bytes(), Some(&hub.hub.config.keys.verifying_keys())).unwrap();
        assert_eq!(proven.task_id, id(&task));
        assert!(proven.keys_trusted && proven.rows >= 5, "{proven:?}");
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["approvals"].as_array().unwrap().len(), 2, "the reviewer and the admin were asked");
        assert_eq!(line["comments"][0]["body"], "why\u{202e}?");
        assert_eq!(line["revisions"][0]["content_hash"], task["content_hash"]);
        for stays in [&open, &late] {
            expect(hub.admin("GET", &format!("/api/v1/tasks/{}", id(stays))), 200).await;
        }
        let of_task = hub.admin("GET", &format!("/api/v1/tasks/{}/archive", id(&task)));
        assert_eq!(expect(of_task, 200).await.text(), text);
        let by_id = get(&hub, &hub.admin_key, &format!("/api/v1/archives/{}", id(&archive))).await;
        assert_eq!(by_id, archive);
    })
    .await;
}

#[tokio::test]
async fn whoever_asks_for_an_archived_task_is_told_where_it_is() {
    on_each_engine(async |hub| {
        let task = rejected(&hub).await;
        let other = hub.tenant("other").await;
        after(&hub, RETENTION).await;
        let archive = all_items(&hub, &hub.admin_key, "/api/v1/archives").await.remove(0);
        let path = format!("/api/v1/tasks/{}", id(&task));
        for (method, rest, body) in [
            ("GET", "", None),
            ("GET", "?wait_seconds=1", None),
            ("GET", "/revisions", None),
            ("GET", "/diff", None),
            ("GET", "/comments", None),
            ("GET", "/approvals", None),
            ("GET", "/audit", None),
            ("GET", "/executions", None),
            ("PATCH", "", Some(json!({"slug": "x"}))),
            ("DELETE", "", None),
            ("POST", "/submit", Some(json!({}))),
            ("POST", "/cancel", Some(json!({"reason": "x"}))),
            ("POST", "/comments", Some(json!({"body": "x"}))),
            ("POST", "/resubmit", Some(json!({}))),
            ("POST", "/join-review", None),
            ("POST", "/withdraw-approval", Some(json!({"reason": "x"}))),
        ] {
            let mut request = hub.admin(method, &format!("{path}{rest}"));
            if let Some(body) = &body {
                request = request.json(body);
            }
            let problem = refused(request, 410, "TASK_ARCHIVED").await;
            assert_eq!(problem["archive_id"], archive["id"], "{method} {rest}");
            let stranger = hub.request(method, &format!("{path}{rest}")).bearer_auth(&other);
            let stranger = body.iter().fold(stranger, |request, body| request.json(body));
            refused(stranger, 404, "NOT_FOUND").await;
        }
        // Nothing begins to wait for it any more.
        let mut waiting = draft("behind it");
        waiting["depends_on"] = json!([task["id"]]);
        refused(hub.admin("POST", "/api/v1/tasks").json(&waiting), 422, "VALIDATION_FAILED").await;
    })
    .await;
}

#[tokio::test]
async fn members_see_archives_and_admins_what_is_in_them() {
    on_each_engine(async |hub| {
        cancelled(&hub, &hub.admin_key).await;
        let other = hub.tenant("other").await;
        let member = hub.member(&hub.admin_key, "mia").await;
        after(&hub, RETENTION).await;
        let archive = all_items(&hub, &member, "/api/v1/archives").await.remove(0);
        let path = format!("/api/v1/archives/{}", id(&archive));
        expect(hub.request("GET", &path).bearer_auth(&member), 200).await;
        refused(hub.request("GET", &format!("{path}/content")).bearer_auth(&member), 403, "FORBIDDEN").await;
        assert_eq!(all_items(&hub, &other, "/api/v1/archives").await, Vec::<Value>::new());
        for path in [path.clone(), format!("{path}/content")] {
            refused(hub.request("GET", &path).bearer_auth(&other), 404, "NOT_FOUND").await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_was_moved_is_on_record_and_the_record_holds() {
    on_each_engine(async |hub| {
        keep_events(&hub).await;
        let task = rejected(&hub).await;
        after(&hub, RETENTION).await;
        let archive = all_items(&hub, &hub.admin_key, "/api/v1/archives").await.remove(0);
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/audit?task_id={}", id(&task))).await;
        assert_eq!(rows[0]["action"], "task:archived");
        assert_eq!(rows[0]["details"]["archive_id"], archive["id"]);
        assert!(rows.len() > 3, "the rows before it are where they were: {rows:?}");
        let path = format!("/api/v1/audit/{}", archive["audit_id"].as_str().unwrap());
        let row = get(&hub, &hub.admin_key, &path).await;
        assert_eq!(row["action"], "archive:written");
        assert_eq!(row["details"]["sha256"], archive["sha256"]);
        let events =
            get(&hub, &hub.admin_key, "/api/v1/events?types=archive:written&after=0&wait_seconds=20").await;
        assert_eq!(events["items"][0]["subject"]["id"], archive["id"]);
        drop(seal_all(&hub.hub).await);
        let check =
            expect(hub.admin("POST", "/api/v1/audit/verification").json(&json!({})), 200).await.json();
        assert_eq!(check["ok"], true, "{check}");
    })
    .await;
}

#[tokio::test]
async fn what_others_point_at_waits_for_them() {
    on_each_engine(async |hub| {
        let key = &hub.admin_key;
        let first = made(&hub, key, &draft("first")).await;
        let mut behind = draft("behind it");
        behind["depends_on"] = json!([first["id"]]);
        let behind = made(&hub, key, &behind).await;
        cancel(&hub, key, &first).await;
        let old = cancelled(&hub, key).await;
        let path = format!("/api/v1/tasks/{}/resubmit", id(&old));
        let new = expect(hub.admin("POST", &path).json(&json!({})), 201).await.json();
        after(&hub, RETENTION).await;
        assert_eq!(lines(&hub, key).await, Vec::<Value>::new(), "both are pointed at");
        let kept = get(&hub, key, &format!("/api/v1/tasks/{}", id(&new))).await;
        assert_eq!(kept["resubmitted_from"], old["id"]);
        let kept = get(&hub, key, &format!("/api/v1/tasks/{}", id(&behind))).await;
        assert_eq!(kept["depends_on"], json!([first["id"]]));
        cancel(&hub, key, &behind).await;
        cancel(&hub, key, &new).await;
        after(&hub, RETENTION).await;
        let lines = lines(&hub, key).await;
        assert_eq!(task_ids(&lines), [&first, &behind, &old, &new].map(id).into());
        let line = |task: &Value| lines.iter().find(|line| line["task"]["id"] == task["id"]).unwrap();
        assert_eq!(line(&behind)["depends_on"], json!([first["id"]]));
        assert_eq!(line(&new)["task"]["resubmitted_from"], old["id"]);
    })
    .await;
}

#[tokio::test]
async fn each_task_leaves_once_however_many_move_it() {
    on_each_engine(async |hub| {
        let mut ids = BTreeSet::new();
        for _ in 0..ARCHIVE_TASKS_MAX + 20 {
            ids.insert(id(&cancelled(&hub, &hub.admin_key).await));
        }
        drop(seal_all(&hub.hub).await);
        hub.clock.advance(RETENTION);
        let at_once = [(); 4].map(|()| archive_old(&hub.hub));
        for done in futures_util::future::join_all(at_once).await {
            done.unwrap();
        }
        settle(&hub).await;
        let lines = lines(&hub, &hub.admin_key).await;
        assert_eq!(lines.len(), ids.len(), "each once");
        assert_eq!(task_ids(&lines), ids);
        for archive in all_items(&hub, &hub.admin_key, "/api/v1/archives").await {
            assert!(archive["tasks"].as_u64().unwrap() <= ARCHIVE_TASKS_MAX as u64, "{archive}");
        }
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!(backdoor.count("tasks").await, 0);
        assert_eq!(backdoor.count("archived_tasks").await, ids.len() as u64);
        settle(&hub).await;
        assert_eq!(
            backdoor.count("blobs").await,
            backdoor.count("archives").await,
            "nothing to do, nothing done"
        );
    })
    .await;
}

#[tokio::test]
async fn a_unit_that_fails_moves_nothing() {
    on_each_engine(async |hub| {
        let tasks = [cancelled(&hub, &hub.admin_key).await, cancelled(&hub, &hub.admin_key).await];
        let backdoor = Backdoor::open(&hub).await;
        let org = id(&get(&hub, &hub.admin_key, "/api/v1/me").await["organization"]);
        // The place of the second is taken, so that its unit fails when most of it is written.
        let (archive, taken) = crate::world::rows::archive(&backdoor, &org).await;
        let last = tasks.iter().map(id).max().unwrap();
        let take = format!("UPDATE archived_tasks SET task_id = '{last}' WHERE task_id = '{taken}'");
        backdoor.change(&take).await;
        drop(seal_all(&hub.hub).await);
        hub.clock.advance(RETENTION);
        assert!(archive_old(&hub.hub).await.is_err());
        for task in &tasks {
            expect(hub.admin("GET", &format!("/api/v1/tasks/{}", id(task))), 200).await;
        }
        assert_eq!((backdoor.count("archives").await, backdoor.count("blobs").await), (1, 1));
        assert_eq!(backdoor.count("audit_logs WHERE action LIKE '%archive%'").await, 0);
        backdoor.change(&format!("DELETE FROM archives WHERE id = '{archive}'")).await;
        settle(&hub).await;
        assert_eq!(task_ids(&lines(&hub, &hub.admin_key).await), tasks.iter().map(id).collect());
    })
    .await;
}

#[tokio::test]
async fn a_full_quota_keeps_tasks_where_they_are() {
    let little = |setup: &mut testkit::Setup| setup.blob_quota_bytes = 1_000;
    on_each_engine_with(little, async |hub| {
        keep_events(&hub).await;
        let task = cancelled(&hub, &hub.admin_key).await;
        after(&hub, RETENTION).await;
        assert_eq!(all_items(&hub, &hub.admin_key, "/api/v1/archives").await, Vec::<Value>::new());
        expect(hub.admin("GET", &format!("/api/v1/tasks/{}", id(&task))), 200).await;
        let events =
            get(&hub, &hub.admin_key, "/api/v1/events?types=archive:stalled&after=0&wait_seconds=20").await;
        let payload = &events["items"][0]["payload"];
        assert_eq!((&payload["quota_bytes"], &payload["used_bytes"]), (&json!(1_000), &json!(0)), "{events}");
        assert!(payload["needed_bytes"].as_u64().unwrap() > 1_000, "{events}");
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!((backdoor.count("blobs").await, backdoor.count("archived_tasks").await), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn an_organization_says_how_long_it_keeps() {
    on_each_engine(async |hub| {
        let (other, short) = (hub.tenant("other").await, json!({"task:retention": 3600}));
        let kept = cancelled(&hub, &other).await;
        let task = cancelled(&hub, &hub.admin_key).await;
        expect(hub.admin("PATCH", "/api/v1/settings").json(&short), 200).await;
        for wrong in [json!(0), json!(-1), json!("1d"), json!(315_360_001)] {
            let request = hub.admin("PATCH", "/api/v1/settings").json(&json!({"task:retention": wrong}));
            refused(request, 422, "VALIDATION_FAILED").await;
        }
        after(&hub, Duration::from_secs(3_590)).await;
        expect(hub.admin("GET", &format!("/api/v1/tasks/{}", id(&task))), 200).await;
        after(&hub, Duration::from_secs(10)).await;
        refused(hub.admin("GET", &format!("/api/v1/tasks/{}", id(&task))), 410, "TASK_ARCHIVED").await;
        let path = format!("/api/v1/tasks/{}", id(&kept));
        expect(hub.request("GET", &path).bearer_auth(&other), 200).await;
    })
    .await;
}
