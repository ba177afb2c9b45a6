//! Projects: one slug once, versions, and what cannot be deleted.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{all_items, author, expect, get, id, make, pointers, refused, send, without_place};

const PATH: &str = "/api/v1/projects";

fn one(project: &Value) -> String {
    format!("{PATH}/{}", id(project))
}

fn patch(hub: &TestHub, project: &Value, body: &Value) -> RequestBuilder {
    hub.admin("PATCH", &one(project)).json(body)
}

async fn payments(hub: &TestHub) -> Value {
    make(hub, &hub.admin_key, PATH, json!({"name": "Payments", "slug": "payments"})).await
}

async fn actions(hub: &TestHub, subject: &str) -> Vec<(String, Value)> {
    let rows = all_items(hub, &hub.admin_key, "/api/v1/audit").await;
    let ours = rows.into_iter().filter(|row| row["subject"]["id"] == json!(subject)).rev();
    ours.map(|row| (row["action"].as_str().unwrap().to_owned(), row["details"].clone())).collect()
}

#[tokio::test]
async fn a_project_is_made_read_changed_and_deleted() {
    on_each_engine(async |hub| {
        let body = json!({"name": "Payments ✓", "slug": "payments"});
        let made = expect(hub.admin("POST", PATH).json(&body), 201).await;
        let project = made.json();
        assert_eq!(made.header("location"), Some(one(&project).as_str()));
        assert_eq!(project["name"], "Payments ✓");
        let mut fields: Vec<&String> = project.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["created_at", "id", "name", "slug", "updated_at"]);
        let read = expect(hub.admin("GET", &one(&project)), 200).await;
        assert_eq!(read.json(), project);
        let changed = expect(patch(&hub, &project, &json!({"slug": "pay"})), 200).await;
        assert_eq!((&changed.json()["slug"], &changed.json()["name"]), (&json!("pay"), &project["name"]));
        assert_ne!(changed.header("etag"), read.header("etag"));
        let again = expect(patch(&hub, &project, &json!({"slug": "pay"})), 200).await;
        assert_eq!(again.header("etag"), changed.header("etag"), "nothing changed, so no new version");
        expect(hub.admin("DELETE", &one(&project)), 204).await;
        refused(hub.admin("GET", &one(&project)), 404, "NOT_FOUND").await;
        refused(hub.admin("DELETE", &one(&project)), 404, "NOT_FOUND").await;
        let made =
            json!({"name": {"from": null, "to": "Payments ✓"}, "slug": {"from": null, "to": "payments"}});
        let gone = json!({"name": {"from": null, "to": "Payments ✓"}, "slug": {"from": null, "to": "pay"}});
        let expected = [
            ("project:created".to_owned(), made),
            ("project:updated".to_owned(), json!({"slug": {"from": "payments", "to": "pay"}})),
            ("project:deleted".to_owned(), gone),
        ];
        assert_eq!(actions(&hub, &id(&project)).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_slug_is_taken_once_in_an_organization() {
    on_each_engine(async |hub| {
        let first = payments(&hub).await;
        let body = json!({"name": "Other", "slug": "payments"});
        let problem = refused(hub.admin("POST", PATH).json(&body), 409, "CONFLICT").await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("slug") && detail.contains("`payments`"), "{detail}");
        let other = make(&hub, &hub.admin_key, PATH, json!({"name": "Other", "slug": "other"})).await;
        let problem = refused(patch(&hub, &other, &json!({"slug": "payments"})), 409, "CONFLICT").await;
        assert!(problem["detail"].as_str().unwrap().contains("`payments`"), "{problem}");
        assert_eq!(get(&hub, &hub.admin_key, &one(&other)).await, other);
        // Another organization has its own.
        let theirs = hub.tenant("other").await;
        make(&hub, &theirs, PATH, json!({"name": "Payments", "slug": "payments"})).await;
        // And what is gone is free.
        expect(hub.admin("DELETE", &one(&first)), 204).await;
        payments(&hub).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_with_one_slug_one_is_made() {
    on_each_engine(async |hub| {
        for round in 0..5 {
            let body = json!({"name": "Race", "slug": format!("race-{round}")});
            let requests = (0..8).map(|_| send(hub.admin("POST", PATH).json(&body)));
            let answers = join_all(requests).await;
            let made = answers.iter().filter(|answer| answer.status.as_u16() == 201).count();
            assert_eq!(made, 1);
            for answer in answers.iter().filter(|answer| answer.status.as_u16() != 201) {
                let problem = answer.problem(409, "CONFLICT");
                assert!(problem["detail"].as_str().unwrap().contains("slug"), "{problem}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_guarded_changes_one_wins() {
    on_each_engine(async |hub| {
        let project = payments(&hub).await;
        for round in 0..5 {
            let read = expect(hub.admin("GET", &one(&project)), 200).await;
            let tag = read.header("etag").unwrap();
            let changes = (0..8).map(|number| {
                let body = json!({"name": format!("{round}-{number}")});
                send(patch(&hub, &project, &body).header("if-match", tag))
            });
            let statuses: Vec<u16> =
                join_all(changes).await.iter().map(|answer| answer.status.as_u16()).collect();
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 7, "{statuses:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_same_request_makes_one_project() {
    on_each_engine(async |hub| {
        let body = json!({"name": "Once", "slug": "once"});
        let ask = || hub.admin("POST", PATH).header("idempotency-key", "k").json(&body);
        let first = expect(ask(), 201).await;
        let again = expect(ask(), 201).await;
        assert_eq!((again.json(), again.header("location")), (first.json(), first.header("location")));
        let other =
            hub.admin("POST", PATH).header("idempotency-key", "k").json(&json!({"name": "O", "slug": "o"}));
        refused(other, 422, "IDEMPOTENCY_MISMATCH").await;
        assert_eq!(Backdoor::open(&hub).await.count("projects WHERE slug = 'once'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn wrong_fields_are_pointed_at() {
    on_each_engine(async |hub| {
        let project = payments(&hub).await;
        let before = Backdoor::open(&hub).await.count("audit_logs").await;
        let long = "x".repeat(201);
        let cases: [(Value, &[&str]); 9] = [
            (json!({"name": "", "slug": "a"}), &["/name"]),
            (json!({"name": long, "slug": "a"}), &["/name"]),
            (json!({"name": "a\u{1b}", "slug": "a"}), &["/name"]),
            (json!({"name": "a", "slug": ""}), &["/slug"]),
            (json!({"name": "a", "slug": "A b"}), &["/slug"]),
            (json!({"name": "a", "slug": "-a"}), &["/slug"]),
            (json!({"name": "a", "slug": "x".repeat(65)}), &["/slug"]),
            (json!({"name": " ", "slug": "Ä"}), &["/name", "/slug"]),
            (json!({"name": "a", "slug": "a", "owner": 1}), &["/owner"]),
        ];
        for (body, expected) in &cases {
            for request in [hub.admin("POST", PATH).json(body), patch(&hub, &project, body)] {
                let problem = refused(request, 422, "VALIDATION_FAILED").await;
                assert_eq!(pointers(&problem), *expected, "{body}");
            }
        }
        let problem = refused(hub.admin("POST", PATH).json(&json!({"name": "a"})), 422, "VALIDATION_FAILED");
        assert!(problem.await["errors"][0]["detail"].as_str().unwrap().contains("slug"));
        for body in [json!({"name": null}), json!({"slug": null})] {
            refused(patch(&hub, &project, &body), 422, "VALIDATION_FAILED").await;
        }
        for (query, pointer) in
            [("slug=A", "/slug"), ("slug=%00", "/slug"), ("name=a", "/name"), ("limit=0", "/limit")]
        {
            let request = hub.admin("GET", &format!("{PATH}?{query}"));
            assert_eq!(pointers(&refused(request, 422, "VALIDATION_FAILED").await), [pointer], "{query}");
        }
        assert_eq!(Backdoor::open(&hub).await.count("audit_logs").await, before);
    })
    .await;
}

#[tokio::test]
async fn an_organization_keeps_its_first_project() {
    on_each_engine(async |hub| {
        let default = all_items(&hub, &hub.admin_key, &format!("{PATH}?slug=default")).await.remove(0);
        for other in [false, true] {
            if other {
                payments(&hub).await;
            }
            let problem = refused(hub.admin("DELETE", &one(&default)), 409, "INVALID_STATE").await;
            assert_eq!(problem["state"], "default");
            let problem =
                refused(patch(&hub, &default, &json!({"slug": "main"})), 409, "INVALID_STATE").await;
            assert_eq!(problem["state"], "default");
        }
        expect(patch(&hub, &default, &json!({"name": "Main"})), 200).await;
        // The last one stays, whatever it is called.
        let backdoor = Backdoor::open(&hub).await;
        backdoor.change("DELETE FROM projects WHERE slug = 'default'").await;
        let last = all_items(&hub, &hub.admin_key, PATH).await.remove(0);
        let problem = refused(hub.admin("DELETE", &one(&last)), 409, "INVALID_STATE").await;
        assert_eq!(problem["state"], "last");
    })
    .await;
}

/// Each deletes another one, and at the end one is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_last_two_one_is_left() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        backdoor.change("DELETE FROM projects WHERE slug = 'default'").await;
        for _ in 0..5 {
            let mut projects = all_items(&hub, &hub.admin_key, PATH).await;
            while projects.len() < 2 {
                let slug = format!("p-{}", hub.hub.ids.fresh());
                projects.push(make(&hub, &hub.admin_key, PATH, json!({"name": "P", "slug": slug})).await);
            }
            let answers =
                join_all(projects.iter().map(|project| send(hub.admin("DELETE", &one(project))))).await;
            let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
            statuses.sort_unstable();
            assert_eq!(statuses, [204, 409]);
        }
    })
    .await;
}

#[tokio::test]
async fn pages_show_each_once_newest_first() {
    on_each_engine(async |hub| {
        let mut expected = vec![all_items(&hub, &hub.admin_key, PATH).await.remove(0)];
        for number in 0..7 {
            let body = json!({"name": "P", "slug": format!("p-{number}")});
            expected.insert(0, make(&hub, &hub.admin_key, PATH, body).await);
        }
        let mut seen = Vec::new();
        let mut path = format!("{PATH}?limit=3");
        loop {
            let page = get(&hub, &hub.admin_key, &path).await;
            seen.extend(page["items"].as_array().unwrap().clone());
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            let elsewhere = hub.admin("GET", &format!("{PATH}?slug=p-1&cursor={cursor}"));
            assert_eq!(pointers(&refused(elsewhere, 422, "VALIDATION_FAILED").await), ["/cursor"]);
            path = format!("{PATH}?limit=3&cursor={cursor}");
        }
        assert_eq!(seen, expected);
        let found = get(&hub, &hub.admin_key, &format!("{PATH}?slug=p-3")).await;
        assert_eq!(found, json!({"items": [expected[3]], "next_cursor": null}));
        assert_eq!(get(&hub, &hub.admin_key, &format!("{PATH}?slug=nobody")).await["items"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn authors_make_projects_and_plain_members_read_them() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, hub.member(&hub.admin_key, "bob").await);
        let project = make(&hub, &ann.key, PATH, json!({"name": "Ann's", "slug": "anns"})).await;
        assert_eq!(get(&hub, &bob, &one(&project)).await, project);
        let body = json!({"name": "Bob's", "slug": "bobs"});
        refused(hub.request("POST", PATH).bearer_auth(&bob).json(&body), 403, "FORBIDDEN").await;
        for method in ["PATCH", "DELETE"] {
            let request = hub.request(method, &one(&project)).bearer_auth(&bob).json(&json!({}));
            refused(request, 403, "FORBIDDEN").await;
        }
        let theirs = hub.tenant("other").await;
        let missing = format!("{PATH}/0197a000-0000-7000-8000-000000000000");
        for method in ["GET", "PATCH", "DELETE"] {
            let ask = async |path: &str| {
                let request = hub.request(method, path).bearer_auth(&theirs).json(&json!({}));
                without_place(&refused(request, 404, "NOT_FOUND").await)
            };
            assert_eq!(ask(&one(&project)).await, ask(&missing).await, "{method}");
        }
    })
    .await;
}
