//! Tasks that wait for each other, and changes that meet.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{all_items, author, expect, get, id, make, pointers, refused, send};
use crate::tasks::{PATH, one, patch, plain};

async fn waiting_for(hub: &TestHub, key: &str, name: &str, depends_on: &[&Value]) -> Value {
    let mut body = plain(name);
    body["depends_on"] = depends_on.iter().map(|task| task["id"].clone()).collect();
    make(hub, key, PATH, body).await
}

#[tokio::test]
async fn tasks_wait_for_tasks_of_their_project_without_circles() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let first = waiting_for(&hub, &ann.key, "first", &[]).await;
        let second = waiting_for(&hub, &ann.key, "second", &[&first]).await;
        let third = waiting_for(&hub, &ann.key, "third", &[&second, &first]).await;
        assert_eq!(third["depends_on"], json!([second["id"], first["id"]]), "as they were named");
        assert_eq!((&third["status"], &second["status"]), (&json!("blocked"), &json!("blocked")));
        let by = json!({"task_id": first["id"], "state": "DRAFT", "dead": false});
        assert_eq!(second["blocked_by"], json!([by]));
        let wrong = async |task: &Value, depends_on: Value, pointer: &str, words: &str| {
            let request = patch(&hub, &ann.key, task, &json!({"depends_on": depends_on}));
            let problem = refused(request, 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{problem}");
            assert!(problem["errors"][0]["detail"].as_str().unwrap().contains(words), "{problem}");
        };
        wrong(&first, json!([third["id"]]), "/depends_on/0", "circle").await;
        wrong(&first, json!([first["id"]]), "/depends_on/0", "itself").await;
        wrong(&third, json!([first["id"], first["id"]]), "/depends_on/1", "twice").await;
        let theirs = hub.tenant("other").await;
        let foreign = make(&hub, &theirs, PATH, plain("theirs")).await;
        wrong(&third, json!([first["id"], foreign["id"]]), "/depends_on/1", "no such task").await;
        let elsewhere =
            make(&hub, &hub.admin_key, "/api/v1/projects", json!({"name": "P", "slug": "p"})).await;
        let mut body = plain("elsewhere");
        body["project_id"] = elsewhere["id"].clone();
        let other = make(&hub, &ann.key, PATH, body).await;
        wrong(&third, json!([other["id"]]), "/depends_on/0", "another project").await;
        // Moving away would take it from those who wait for it, or from what it waits for.
        for stays in [&first, &third] {
            let body = json!({"project_id": elsewhere["id"]});
            refused(patch(&hub, &ann.key, stays, &body), 422, "VALIDATION_FAILED").await;
        }
        // What others wait for is not deleted.
        let problem =
            refused(hub.request("DELETE", &one(&first)).bearer_auth(&ann.key), 409, "INVALID_STATE").await;
        assert!(problem["detail"].as_str().unwrap().contains("2 tasks wait"), "{problem}");
        // Naming them in another order changes nothing; fewer of them do.
        let same = json!({"depends_on": [first["id"], second["id"]]});
        assert_eq!(expect(patch(&hub, &ann.key, &third, &same), 200).await.json(), third);
        let free = expect(patch(&hub, &ann.key, &third, &json!({"depends_on": []})), 200).await.json();
        assert_eq!((&free["status"], &free["revision"]), (&json!("pending"), &json!(2)));
        let moved = json!({"project_id": elsewhere["id"], "depends_on": [other["id"]]});
        let moved = expect(patch(&hub, &ann.key, &third, &moved), 200).await.json();
        assert_eq!((&moved["project_id"], &moved["depends_on"]), (&elsewhere["id"], &json!([other["id"]])));
    })
    .await;
}

#[tokio::test]
async fn what_is_done_blocks_nobody_and_what_is_dead_says_so() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let first = waiting_for(&hub, &ann.key, "first", &[]).await;
        let backdoor = Backdoor::open(&hub).await;
        for (state, status, dead) in [
            ("FAILED", "blocked", Some(true)),
            ("APPROVED", "blocked", Some(false)),
            ("COMPLETED", "pending", None),
        ] {
            backdoor.change(&format!("UPDATE tasks SET state = '{state}' WHERE id = '{}'", id(&first))).await;
            let task = waiting_for(&hub, &ann.key, "second", &[&first]).await;
            assert_eq!(task["status"], json!(status), "{state}");
            assert_eq!(task["blocked_by"][0]["dead"].as_bool(), dead, "{state}");
            assert_eq!(task["depends_on"], json!([first["id"]]));
        }
    })
    .await;
}

/// Two edges that are fine alone close a circle together: one of them is refused. They have no task in common, so only
/// the project is in the way of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_edges_that_close_a_circle_one_is_made() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        for _ in 0..20 {
            let a = waiting_for(&hub, &ann.key, "a", &[]).await;
            let b = waiting_for(&hub, &ann.key, "b", &[]).await;
            let behind_a = waiting_for(&hub, &ann.key, "behind a", &[&a]).await;
            let behind_b = waiting_for(&hub, &ann.key, "behind b", &[&b]).await;
            let to = |task: &Value, on: &Value| {
                send(patch(&hub, &ann.key, task, &json!({"depends_on": [on["id"]]})))
            };
            let (first, second) = tokio::join!(to(&a, &behind_b), to(&b, &behind_a));
            let mut statuses = [first.status.as_u16(), second.status.as_u16()];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 422], "{} {}", first.text(), second.text());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_and_deletes_that_meet_leave_one_history() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let task = make(&hub, &ann.key, PATH, plain("x")).await;
        // Unguarded edits all happen, one after the other, each as a revision of its own.
        let edits = (0..12).map(|number| {
            let mut config = task["config"].clone();
            config["parameters"] = json!({"number": number});
            send(patch(&hub, &ann.key, &task, &json!({"config": config})))
        });
        for answer in join_all(edits).await {
            assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
        }
        let after = get(&hub, &ann.key, &one(&task)).await;
        assert_eq!((&after["revision"], &after["version"]), (&json!(13), &json!(13)));
        let listed = all_items(&hub, &ann.key, &format!("{}/revisions", one(&task))).await;
        let hashes: std::collections::BTreeSet<String> =
            listed.iter().map(|revision| revision["content_hash"].to_string()).collect();
        assert_eq!((listed.len(), hashes.len()), (13, 13));
        // Of guarded ones one.
        let tag = "\"13\"";
        let guarded = (0..6).map(|number| {
            let body = json!({"metadata": {"number": number}});
            send(patch(&hub, &ann.key, &task, &body).header("if-match", tag))
        });
        let statuses: Vec<u16> =
            join_all(guarded).await.iter().map(|answer| answer.status.as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 5, "{statuses:?}");
        for round in 0..8 {
            let task = make(&hub, &ann.key, PATH, plain(&format!("race {round}"))).await;
            let body = json!({"metadata": {"team": "x"}});
            let delete = hub.request("DELETE", &one(&task)).bearer_auth(&ann.key);
            let waiter = async {
                let mut body = plain("waiter");
                body["depends_on"] = json!([task["id"]]);
                send(hub.request("POST", PATH).bearer_auth(&ann.key).json(&body)).await
            };
            let (edited, deleted, waits) =
                tokio::join!(send(patch(&hub, &ann.key, &task, &body)), send(delete), waiter);
            let (edited, deleted, waits) =
                (edited.status.as_u16(), deleted.status.as_u16(), waits.status.as_u16());
            assert!([200, 404].contains(&edited), "{edited}");
            // Either it is gone and nobody waits for it, or somebody does and it stays.
            assert!([(204, 422), (409, 201)].contains(&(deleted, waits)), "{deleted} {waits}");
        }
    })
    .await;
}
