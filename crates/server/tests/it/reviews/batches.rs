//! Many answers at once: all are taken, or none.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use super::{answer, asked, config, person, policy, submitted, task};
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, id, refused, send};
use crate::ways_to_yes::assert_every_yes_was_said;

fn batch_of(requests: &[&Value]) -> Value {
    let hashes = requests.iter().map(|request| (id(request), request["content_hash"].clone()));
    json!({"approval_ids": requests.iter().map(|request| request["id"].clone()).collect::<Vec<_>>(),
           "action": "approve", "content_hashes": Value::Object(hashes.collect())})
}

fn batch(hub: &TestHub, key: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", "/api/v1/approvals/batch").bearer_auth(key).json(body)
}

/// How many answers there are on record.
async fn answers(backdoor: &Backdoor) -> u64 {
    backdoor.count("audit_logs WHERE action IN ('approval:approved', 'approval:rejected')").await
}

#[tokio::test]
async fn all_are_answered_or_none() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let [bob, eve] = ["bob", "eve"].map(|name| person(&hub, name, &["reviewer"]));
        let (bob, eve) = (bob.await, eve.await);
        let tasks = [submitted(&hub, &author).await, submitted(&hub, &author).await];
        let requests = join_all(tasks.iter().map(|task| asked(&hub, &bob, task))).await;
        let hers = asked(&hub, &eve, &tasks[0]).await;
        let backdoor = Backdoor::open(&hub).await;

        // One of them is somebody else's, one is not there, one was not read: each is named, and nothing changes.
        let missing =
            json!({"id": hub.hub.ids.fresh().to_string(), "content_hash": tasks[0]["content_hash"]});
        let mut body = batch_of(&[&requests[0], &hers, &missing, &requests[1]]);
        body["content_hashes"][id(&requests[1])] = format!("sha256:{}", "0".repeat(64)).into();
        let problem = refused(batch(&hub, &bob, &body), 409, "BATCH_REFUSED").await;
        let errors = problem["errors"].as_array().unwrap();
        let named: Vec<(&str, &str)> = errors
            .iter()
            .map(|error| (error["pointer"].as_str().unwrap(), error["detail"].as_str().unwrap()))
            .collect();
        let right = [
            ("/approval_ids/1", id(&hers), "NOT_YOUR_REVIEW"),
            ("/approval_ids/2", id(&missing), "NOT_FOUND"),
            ("/approval_ids/3", id(&requests[1]), "STALE_CONTENT"),
        ];
        assert_eq!(named.len(), right.len(), "{problem}");
        for ((pointer, detail), (at, id, code)) in named.iter().zip(&right) {
            assert_eq!(pointer, at);
            assert!(detail.starts_with(&format!("{id}: {code}: ")), "{detail}");
        }
        assert_eq!(answers(&backdoor).await, 0);

        // What they have in common is the code.
        refused(batch(&hub, &bob, &batch_of(&[&hers])), 403, "NOT_YOUR_REVIEW").await;
        refused(batch(&hub, &bob, &batch_of(&[&missing])), 404, "NOT_FOUND").await;

        let done = expect(batch(&hub, &bob, &batch_of(&[&requests[0], &requests[1]])), 200).await.json();
        let ids: Vec<&Value> = done["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, [&requests[0]["id"], &requests[1]["id"]], "in their order");
        for made in &tasks {
            let now = task(&hub, &author, made).await;
            assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("APPROVED"), &json!("quorum")));
        }
        assert_eq!(answers(&backdoor).await, 2, "each answer is on record");
        refused(batch(&hub, &bob, &batch_of(&[&requests[0]])), 409, "ALREADY_RESOLVED").await;
        assert_every_yes_was_said(&backdoor, "a batch").await;
    })
    .await;
}

#[tokio::test]
async fn what_is_not_a_batch_is_refused() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let request = asked(&hub, &bob, &made).await;
        let right = batch_of(&[&request]);
        let with = |change: fn(&mut Value)| {
            let mut body = right.clone();
            change(&mut body);
            body
        };
        let wrong = [
            (with(|body| body["approval_ids"] = json!([])), "/approval_ids"),
            (
                with(|body| body["approval_ids"] = json!(vec![body["approval_ids"][0].clone(); 2])),
                "/approval_ids/1",
            ),
            (
                with(|body| body["approval_ids"] = json!(vec![body["approval_ids"][0].clone(); 501])),
                "/approval_ids",
            ),
            (with(|body| body["content_hashes"] = json!({})), "/content_hashes"),
            (
                with(|body| {
                    body["options"] = json!({"apply_immediately": true});
                    body["action"] = "reject".into();
                }),
                "/options/apply_immediately",
            ),
        ];
        for (body, pointer) in wrong {
            let problem = refused(batch(&hub, &bob, &body), 422, "VALIDATION_FAILED").await;
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        }
        let mut strange = right.clone();
        strange["review_hashes"] = json!({(id(&made)): made["content_hash"]});
        let problem = refused(batch(&hub, &bob, &strange), 422, "VALIDATION_FAILED").await;
        assert_eq!(problem["errors"][0]["pointer"], format!("/review_hashes/{}", id(&made)));
        for option in ["skip_validation", "apply_immediately"] {
            let mut body = right.clone();
            body["options"] = json!({(option): true});
            refused(batch(&hub, &bob, &body), 403, "FORBIDDEN").await;
        }
        let off = json!({"feature:batch_approvals": "disabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&off), 200).await;
        refused(batch(&hub, &bob, &right), 403, "FORBIDDEN").await;
        assert_eq!(task(&hub, &author, &made).await["state"], "REVIEWING");
        expect(answer(&hub, &bob, &request, "approve"), 200).await;
    })
    .await;
}

#[tokio::test]
async fn an_admin_puts_what_a_batch_approves_first() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let admin = person(&hub, "ada", &["admin"]).await;
        let (older, newer) = (submitted(&hub, &author).await, submitted(&hub, &author).await);
        expect(answer(&hub, &admin, &asked(&hub, &admin, &older).await, "approve"), 200).await;
        let mut body = batch_of(&[&asked(&hub, &admin, &newer).await]);
        body["options"] = json!({"apply_immediately": true, "skip_validation": true});
        expect(batch(&hub, &admin, &body), 200).await;
        let rows = all_items(&hub, &admin, &format!("/api/v1/tasks/{}/audit", id(&newer))).await;
        assert!(rows.iter().any(|row| row["action"] == "task:put_first"), "{rows:?}");
        let (agent, key) = super::agent(&hub, &author).await;
        let next = hub.request("POST", &format!("/api/v1/agents/{}/next", agent.as_str().unwrap()));
        let claimed = expect(next.bearer_auth(&key).json(&json!({"wait_seconds": 0})), 200).await.json();
        assert_eq!(claimed["task_id"], newer["id"], "{claimed}");
    })
    .await;
}

#[tokio::test]
async fn what_others_have_yet_to_approve_is_not_put_first() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let admin = person(&hub, "ada", &["admin", "reviewer"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &author).await;
        let mut body = batch_of(&[&asked(&hub, &admin, &made).await]);
        body["options"] = json!({"apply_immediately": true});
        expect(batch(&hub, &admin, &body), 200).await;
        assert_eq!(task(&hub, &author, &made).await["state"], "REVIEWING");
        let rows = all_items(&hub, &admin, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        assert!(rows.iter().all(|row| row["action"] != "task:put_first"), "{rows:?}");
    })
    .await;
}

/// A batch against single answers to the same requests and edits of the same tasks: it is taken whole or not at all.
#[tokio::test]
async fn a_batch_among_answers_and_edits_is_one_act() {
    on_each_engine(async |hub| {
        policy(&hub, 1, "any").await;
        let author = person(&hub, "ann", &["author"]).await;
        let (bob, eve) = (person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await);
        let backdoor = Backdoor::open(&hub).await;
        let (mut taken, mut lost) = (0, 0);
        for round in 0..testkit::scaled(200) {
            let tasks = join_all((0..3).map(|_| submitted(&hub, &author))).await;
            let requests = join_all(tasks.iter().map(|task| asked(&hub, &bob, task))).await;
            let hers = asked(&hub, &eve, &tasks[round % 3]).await;
            let many = send(batch(&hub, &bob, &batch_of(&requests.iter().collect::<Vec<_>>())));
            let edited = &tasks[(round + 1) % 3];
            let body = json!({"config": config(&format!("Something else, round {round}"))});
            let path = format!("/api/v1/tasks/{}", id(edited));
            let edit = send(hub.request("PATCH", &path).bearer_auth(&author).json(&body));
            let single = send(answer(&hub, &eve, &hers, if round % 2 == 0 { "approve" } else { "reject" }));
            // Whoever is polled first is sent first; what happens then is up to the hub.
            let (many, single, edit) = match round % 3 {
                0 => tokio::join!(many, single, edit),
                1 => {
                    let (single, edit, many) = tokio::join!(single, edit, many);
                    (many, single, edit)
                }
                _ => {
                    let (edit, many, single) = tokio::join!(edit, many, single);
                    (many, single, edit)
                }
            };
            let yes = "status = 'APPROVED' AND reviewed_by IS NOT NULL AND id IN";
            let ids: Vec<String> = requests.iter().map(|request| format!("'{}'", id(request))).collect();
            let mine = backdoor.count(&format!("approvals WHERE {yes} ({})", ids.join(", "))).await;
            match many.status.as_u16() {
                200 => {
                    assert_eq!(mine, 3, "{}", many.text());
                    assert_eq!((single.status.as_u16(), edit.status.as_u16()), (409, 409));
                    taken += 1;
                }
                409 => {
                    assert_eq!(mine, 0, "half a batch: {}", many.text());
                    assert!(single.status == 200 || edit.status == 200, "nothing stood in its way");
                    lost += 1;
                }
                other => panic!("{other}: {}", many.text()),
            }
        }
        assert!(taken + lost == testkit::scaled(200) && lost > 0, "{taken} taken, {lost} lost");
        assert_every_yes_was_said(&backdoor, "batches among answers and edits").await;
    })
    .await;
}
