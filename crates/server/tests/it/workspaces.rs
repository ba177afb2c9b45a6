//! Workspaces: parts of a project, and of no other.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, expect, get, id, make, pointers, refused, send, without_place};

const PROJECTS: &str = "/api/v1/projects";

async fn project(hub: &TestHub, key: &str, slug: &str) -> String {
    let project = make(hub, key, PROJECTS, json!({"name": slug, "slug": slug})).await;
    format!("{PROJECTS}/{}/workspaces", id(&project))
}

fn one(workspaces: &str, workspace: &Value) -> String {
    format!("{workspaces}/{}", id(workspace))
}

#[tokio::test]
async fn a_workspace_is_added_read_changed_and_removed() {
    on_each_engine(async |hub| {
        let path = project(&hub, &hub.admin_key, "payments").await;
        let body = json!({"name": "laptop", "path": "/home/ada/payments"});
        let made = expect(hub.admin("POST", &path).json(&body), 201).await;
        let workspace = made.json();
        let place = one(&path, &workspace);
        assert_eq!(made.header("location"), Some(place.as_str()));
        let read = expect(hub.admin("GET", &place), 200).await;
        assert_eq!(read.json(), workspace);
        assert!(path.contains(workspace["project_id"].as_str().unwrap()));
        let stale = read.header("etag").unwrap();
        let change = || hub.admin("PATCH", &place).json(&json!({"path": "/srv"})).header("if-match", stale);
        assert_eq!(expect(change(), 200).await.json()["path"], "/srv");
        refused(change(), 412, "PRECONDITION_FAILED").await;
        expect(hub.admin("DELETE", &place), 204).await;
        refused(hub.admin("DELETE", &place), 404, "NOT_FOUND").await;
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit").await;
        let ours = rows.iter().filter(|row| row["subject"]["id"] == workspace["id"]);
        let actions: Vec<&str> = ours.map(|row| row["action"].as_str().unwrap()).collect();
        assert_eq!(actions, ["workspace:deleted", "workspace:updated", "workspace:created"]);
    })
    .await;
}

#[tokio::test]
async fn names_are_taken_once_in_a_project_and_fields_have_bounds() {
    on_each_engine(async |hub| {
        let path = project(&hub, &hub.admin_key, "payments").await;
        let elsewhere = project(&hub, &hub.admin_key, "other").await;
        let body = json!({"name": "laptop", "path": "/"});
        make(&hub, &hub.admin_key, &elsewhere, body.clone()).await;
        let answers = join_all((0..6).map(|_| send(hub.admin("POST", &path).json(&body)))).await;
        let made = answers.iter().filter(|answer| answer.status.as_u16() == 201).count();
        assert_eq!(made, 1);
        for answer in answers.iter().filter(|answer| answer.status.as_u16() != 201) {
            let detail = answer.problem(409, "CONFLICT")["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("name") && detail.contains("`laptop`"), "{detail}");
        }
        let other = make(&hub, &hub.admin_key, &path, json!({"name": "desk", "path": "/"})).await;
        let request = hub.admin("PATCH", &one(&path, &other)).json(&json!({"name": "laptop"}));
        refused(request, 409, "CONFLICT").await;
        let cases = [
            (json!({"name": "", "path": "/"}), "/name"),
            (json!({"name": "a", "path": ""}), "/path"),
            (json!({"name": "a", "path": "x".repeat(1025)}), "/path"),
            (json!({"name": "a", "path": "/a\tb"}), "/path"),
            (json!({"name": "a", "path": "/", "host": "b"}), "/host"),
        ];
        for (body, pointer) in cases {
            for (method, at) in [("POST", path.clone()), ("PATCH", one(&path, &other))] {
                let problem = refused(hub.admin(method, &at).json(&body), 422, "VALIDATION_FAILED").await;
                assert_eq!(pointers(&problem), [pointer], "{method} {body}");
            }
        }
        make(&hub, &hub.admin_key, &path, json!({"name": "long", "path": "é".repeat(1024)})).await;
    })
    .await;
}

#[tokio::test]
async fn the_same_request_adds_one_workspace_and_pages_show_each_once() {
    on_each_engine(async |hub| {
        let path = project(&hub, &hub.admin_key, "payments").await;
        let body = json!({"name": "once", "path": "/"});
        let ask = || hub.admin("POST", &path).header("idempotency-key", "k").json(&body);
        let first = expect(ask(), 201).await.json();
        assert_eq!(expect(ask(), 201).await.json(), first);
        let mut expected = vec![first];
        for number in 0..4 {
            let body = json!({"name": format!("w{number}"), "path": "/"});
            expected.insert(0, make(&hub, &hub.admin_key, &path, body).await);
        }
        let page = get(&hub, &hub.admin_key, &format!("{path}?limit=3")).await;
        let cursor = page["next_cursor"].as_str().unwrap();
        let rest = get(&hub, &hub.admin_key, &format!("{path}?limit=3&cursor={cursor}")).await;
        let both = [&page, &rest].map(|page| page["items"].as_array().unwrap().clone()).concat();
        assert_eq!(both, expected);
        let other = project(&hub, &hub.admin_key, "other").await;
        let request = hub.admin("GET", &format!("{other}?cursor={cursor}"));
        assert_eq!(pointers(&refused(request, 422, "VALIDATION_FAILED").await), ["/cursor"]);
    })
    .await;
}

/// Neither another tenant nor another project reaches it.
#[tokio::test]
async fn a_workspace_is_found_only_in_its_own_project() {
    on_each_engine(async |hub| {
        let path = project(&hub, &hub.admin_key, "payments").await;
        let workspace = make(&hub, &hub.admin_key, &path, json!({"name": "laptop", "path": "/"})).await;
        let sibling = project(&hub, &hub.admin_key, "other").await;
        let theirs = hub.tenant("other").await;
        let foreign = project(&hub, &theirs, "payments").await;
        let nothing = json!({"id": "0197a000-0000-7000-8000-000000000000"});
        for method in ["GET", "PATCH", "DELETE"] {
            let ask = async |key: &str, at: &str, thing: &Value| {
                let request = hub.request(method, &one(at, thing)).bearer_auth(key).json(&json!({}));
                without_place(&refused(request, 404, "NOT_FOUND").await)
            };
            let missing = ask(&hub.admin_key, &path, &nothing).await;
            assert_eq!(ask(&hub.admin_key, &sibling, &workspace).await, missing, "{method}");
            assert_eq!(ask(&theirs, &path, &workspace).await, missing, "{method}");
            assert_eq!(ask(&theirs, &foreign, &workspace).await, missing, "{method}");
            assert_eq!(ask(&theirs, &path, &nothing).await, missing, "{method}");
        }
        for method in ["GET", "POST"] {
            let body = json!({"name": "spy", "path": "/"});
            let ask = async |at: &str| {
                let request = hub.request(method, at).bearer_auth(&theirs).json(&body);
                without_place(&refused(request, 404, "NOT_FOUND").await)
            };
            let missing = format!("{PROJECTS}/{}/workspaces", id(&nothing));
            assert_eq!(ask(&path).await, ask(&missing).await, "{method}");
        }
        let bob = hub.member(&hub.admin_key, "bob").await;
        assert_eq!(get(&hub, &bob, &one(&path, &workspace)).await, workspace);
        let request = hub.request("DELETE", &one(&path, &workspace)).bearer_auth(&bob);
        refused(request, 403, "FORBIDDEN").await;
    })
    .await;
}
