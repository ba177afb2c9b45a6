//! Tasks as a client meets them: frozen configs, versions, revisions, rights, and what is said about them.

use domain::canonical::content_hash;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::agents::agent;
use crate::backdoor::Backdoor;
use crate::support::{
    all_items, author, eventually, expect, get, id, items_by, make, mint, person, pointers, refused, send,
};

pub(crate) const PATH: &str = "/api/v1/tasks";

pub(crate) fn one(task: &Value) -> String {
    format!("{PATH}/{}", id(task))
}

/// The least that can be proposed, called so.
pub(crate) fn plain(description: &str) -> Value {
    json!({"config": {"type": "infrastructure", "description": description}})
}

pub(crate) fn patch(hub: &TestHub, key: &str, task: &Value, body: &Value) -> RequestBuilder {
    hub.request("PATCH", &one(task)).bearer_auth(key).json(body)
}

fn post(hub: &TestHub, key: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", PATH).bearer_auth(key).json(body)
}

fn whole() -> Value {
    json!({
        "config": {
            "type": "infrastructure", "version": "2", "description": "Add an index\non orders",
            "action": {"kind": "external"}, "parameters": {"table": "orders", "ratio": 0.1, "big": 1e30},
            "rollback_strategy": "automatic", "timeout_seconds": 300, "priority": 70,
            "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"},
                          {"type": "cache", "id": "c", "mode": "shared"}],
            "declared_risk": "high", "max_retries": 2, "idempotent": true, "requires_labels": {"region": "eu"},
        },
        "metadata": {"team": "payments", "ticket_ref": "OPS-7", "tags": ["db"], "own": {"deep": [1, null]}},
        "project_id": null, "slug": "add-index", "path": "implementation/database", "assignee": null,
        "due_at": "2027-01-31T12:00:00+01:00", "depends_on": [], "submit": false,
    })
}

#[tokio::test]
async fn a_task_is_written_read_changed_and_deleted() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let made = expect(post(&hub, &ann.key, &whole()), 201).await;
        let task = made.json();
        assert_eq!(made.header("location"), Some(one(&task).as_str()));
        assert_eq!(task["config"], whole()["config"], "nothing was left out, so nothing was filled in");
        let canonical = domain::canonical::canonical(&task["config"]);
        assert_eq!(task["content_hash"], json!(content_hash(&canonical)));
        for (name, value) in [
            ("state", json!("DRAFT")),
            ("status", json!("pending")),
            ("revision", json!(1)),
            ("version", json!(1)),
            ("due_at", json!("2027-01-31T11:00:00.000000Z")),
            ("review", json!(null)),
            ("execution", json!(null)),
            ("preview", json!(null)),
            ("effect_hash", json!(null)),
            ("depends_on", json!([])),
            ("blocked_by", json!([])),
            ("needs_attention", json!(false)),
            ("resubmitted_from", json!(null)),
        ] {
            assert_eq!(task[name], value, "{name}");
        }
        let said = &task["metadata"];
        assert_eq!((&said["author_id"], &said["team"]), (&json!(ann.id), &json!("payments")));
        assert_eq!((&said["own"], &said["tags"]), (&json!({"deep": [1, null]}), &json!(["db"])));
        assert!(said["submitted_at"].is_null() && said["created_at"].is_string());
        assert_eq!(task["risk"]["factors"].as_array().unwrap().len(), 4);
        let read = expect(hub.request("GET", &one(&task)).bearer_auth(&ann.key), 200).await;
        assert_eq!((read.json(), read.header("etag")), (task.clone(), Some("\"1\"")));
        // What is only said makes a version and no revision.
        let body = json!({"metadata": {"team": null, "own": 1}, "path": null, "due_at": null});
        let changed = expect(patch(&hub, &ann.key, &task, &body), 200).await;
        let after = changed.json();
        assert_eq!((&after["version"], &after["revision"]), (&json!(2), &json!(1)));
        assert_eq!((&after["metadata"]["own"], &after["path"]), (&json!(1), &json!(null)));
        assert_eq!(
            (&after["metadata"]["ticket_ref"], &after["slug"]),
            (&json!("OPS-7"), &json!("add-index"))
        );
        let again = expect(patch(&hub, &ann.key, &task, &body), 200).await;
        assert_eq!(again.json(), after, "nothing is different, so nothing happened");
        expect(hub.request("DELETE", &one(&task)).bearer_auth(&ann.key), 204).await;
        refused(hub.admin("GET", &one(&task)), 404, "NOT_FOUND").await;
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/audit?task_id={}", id(&task))).await;
        let actions: Vec<&Value> = rows.iter().rev().map(|row| &row["action"]).collect();
        assert_eq!(actions, ["task:created", "task:updated", "task:deleted"]);
        assert_eq!((&rows[2]["from_state"], &rows[2]["to_state"]), (&json!(null), &json!("DRAFT")));
        let events = eventually("both events", async || {
            let events = get(&hub, &hub.admin_key, "/api/v1/events?types=task:*").await;
            events["items"].as_array().filter(|events| events.len() >= 2).cloned()
        })
        .await;
        assert!(events.iter().map(|event| &event["type"]).eq(["task:created", "task:updated"]), "{events:?}");
        let told = json!(events).to_string();
        assert!(!["orders", "payments"].iter().any(|word| told.contains(word)), "{told}");
    })
    .await;
}

#[tokio::test]
async fn another_config_is_another_revision_and_the_same_is_none() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let task = make(&hub, &ann.key, PATH, plain("one")).await;
        let mut config = task["config"].clone();
        config["parameters"] = json!({"a": {"b": [1, 2]}});
        config["resources"] = json!([{"type": "database", "id": "x"}]);
        let preview = json!({"changes": [{"kind": "delete"}], "warnings": ["slow"], "errors": []});
        let path = format!("{}/preview", one(&task));
        let shown = expect(hub.request("PUT", &path).bearer_auth(&ann.key).json(&preview), 200).await.json();
        assert_eq!(shown["preview"]["made_by"], "author");
        assert_eq!((&shown["version"], &shown["effect_hash"]), (&json!(2), &json!(null)));
        let second = expect(patch(&hub, &ann.key, &task, &json!({"config": config})), 200).await.json();
        assert_eq!((&second["revision"], &second["preview"]), (&json!(2), &json!(null)));
        assert_ne!(second["content_hash"], task["content_hash"]);
        assert_ne!(second["risk"]["score"], task["risk"]["score"], "it is assessed anew");
        let same =
            expect(patch(&hub, &ann.key, &task, &json!({"config": second["config"]})), 200).await.json();
        assert_eq!(same, second);
        let listed = all_items(&hub, &ann.key, &format!("{}/revisions", one(&task))).await;
        let numbers: Vec<&Value> = listed.iter().map(|revision| &revision["number"]).collect();
        assert_eq!(numbers, [&json!(2), &json!(1)]);
        assert_eq!(items_by(&hub, &ann.key, &format!("{}/revisions", one(&task)), 1).await, listed);
        let first = get(&hub, &ann.key, &format!("{}/revisions/1", one(&task))).await;
        assert_eq!((&first["config"], &first["content_hash"]), (&task["config"], &task["content_hash"]));
        // Her key was minted by the admin who enrolled her.
        let root = get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
        assert_eq!(first["provenance"], json!([root, ann.id]));
        for nothing in ["0", "3", "x", "99999999999999999999"] {
            let path = format!("{}/revisions/{nothing}", one(&task));
            refused(hub.admin("GET", &path), 404, "NOT_FOUND").await;
        }
        let diff = get(&hub, &ann.key, &format!("{}/diff", one(&task))).await;
        let expected = json!([
            {"pointer": "/parameters/a", "to": {"b": [1, 2]}},
            {"pointer": "/resources/0", "to": {"type": "database", "id": "x", "mode": "exclusive"}},
        ]);
        assert_eq!((&diff["from"], &diff["to"], &diff["changes"]), (&json!(1), &json!(2), &expected));
        let path = format!("{}/diff?from=2&to=9", one(&task));
        assert_eq!(pointers(&refused(hub.admin("GET", &path), 422, "VALIDATION_FAILED").await), ["/to"]);
        // The list finds it by what it touches now.
        let found = all_items(&hub, &ann.key, &format!("{PATH}?resource=database:x")).await;
        assert_eq!(found.iter().map(id).collect::<Vec<_>>(), [id(&task)]);
    })
    .await;
}

#[tokio::test]
async fn everybody_behind_an_agent_is_in_the_provenance() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let bot = agent(&hub, &ann.key, "bot").await;
        let adm = person(&hub, &hub.admin_key, "adm", &["admin"]).await;
        let minted = mint(&hub, &adm.key, json!({"name": "k", "account_id": bot["id"]})).await;
        let task = make(&hub, &minted.key, PATH, plain("by the bot")).await;
        let path = |number| format!("{}/revisions/{number}", one(&task));
        let sorted = |mut ids: Vec<String>| {
            ids.sort();
            json!(ids)
        };
        let mut first = vec![id(&bot), ann.id.clone(), adm.id.clone()];
        let revision = get(&hub, &hub.admin_key, &path(1)).await;
        assert_eq!(revision["provenance"], sorted(first.clone()));
        // Whoever edits it joins them.
        let root =
            get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
        let mut config = task["config"].clone();
        config["priority"] = json!(51);
        expect(patch(&hub, &hub.admin_key, &task, &json!({"config": config})), 200).await;
        first.push(root);
        let revision = get(&hub, &hub.admin_key, &path(2)).await;
        assert_eq!(revision["provenance"], sorted(first));
        // Agents learn how dangerous it is, and not why.
        let risk = get(&hub, &minted.key, &one(&task)).await["risk"].clone();
        assert_eq!(risk, json!({"level": risk["level"], "auto_approvable": false}));
        let listed = all_items(&hub, &minted.key, PATH).await;
        assert_eq!(listed[0]["risk"], risk);
    })
    .await;
}

#[tokio::test]
async fn what_the_hub_does_not_carry_out_is_refused() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        for kind in ["command", "http", "operation"] {
            let mut body = plain("x");
            body["config"]["action"] = json!({"kind": kind, "argv": ["/bin/sh"]});
            let problem = refused(post(&hub, &ann.key, &body), 422, "EXECUTOR_DISABLED").await;
            assert_eq!(pointers(&problem), ["/config/action/kind"]);
        }
        let task = make(&hub, &ann.key, PATH, plain("x")).await;
        let body = json!({"config": {"type": "t", "description": "d", "action": {"kind": "command"}}});
        refused(patch(&hub, &ann.key, &task, &body), 422, "EXECUTOR_DISABLED").await;
        assert_eq!(get(&hub, &ann.key, &one(&task)).await, task);
    })
    .await;
}

#[tokio::test]
async fn only_the_author_and_admins_change_a_task_and_only_the_author_previews_it() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let reviewer = person(&hub, &hub.admin_key, "rev", &["reviewer"]).await;
        let task = make(&hub, &ann.key, PATH, plain("x")).await;
        let body = json!({"metadata": {"team": "sre"}});
        refused(patch(&hub, &bob.key, &task, &body), 403, "FORBIDDEN").await;
        refused(patch(&hub, &reviewer.key, &task, &body), 403, "FORBIDDEN").await;
        refused(hub.request("DELETE", &one(&task)).bearer_auth(&bob.key), 403, "FORBIDDEN").await;
        let preview = |key: &str| {
            hub.request("PUT", &format!("{}/preview", one(&task)))
                .bearer_auth(key)
                .json(&json!({"changes": []}))
        };
        refused(preview(&bob.key), 403, "FORBIDDEN").await;
        refused(preview(&hub.admin_key), 403, "FORBIDDEN").await;
        assert_eq!(get(&hub, &ann.key, &one(&task)).await, task);
        expect(patch(&hub, &hub.admin_key, &task, &body), 200).await;
        expect(preview(&ann.key), 200).await;
        // Those who may be asked may speak.
        let path = format!("{}/comments", one(&task));
        let comment = json!({"body": "why?\n\u{202e}"});
        let said = expect(hub.request("POST", &path).bearer_auth(&reviewer.key).json(&comment), 201).await;
        assert_eq!(
            (&said.json()["body"], &said.json()["author_id"]),
            (&comment["body"], &json!(reviewer.id))
        );
        assert_eq!(get(&hub, &ann.key, said.header("location").unwrap()).await, said.json());
        assert_eq!(all_items(&hub, &ann.key, &path).await, [said.json()]);
        let narrow = mint(&hub, &ann.key, json!({"name": "r", "scopes": ["tasks:read"]})).await;
        let request = hub.request("POST", &path).bearer_auth(&narrow.key).json(&comment);
        refused(request, 403, "FORBIDDEN").await;
        // A key that may only read does only that.
        refused(post(&hub, &narrow.key, &plain("x")), 403, "FORBIDDEN").await;
    })
    .await;
}

#[tokio::test]
async fn a_task_beyond_its_draft_keeps_its_config_and_its_project() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let body = json!({"name": "P", "slug": "p"});
        let project = make(&hub, &hub.admin_key, "/api/v1/projects", body).await;
        let mut wanted = plain("x");
        wanted["project_id"] = project["id"].clone();
        let task = make(&hub, &ann.key, PATH, wanted).await;
        let backdoor = Backdoor::open(&hub).await;
        for state in ["SUBMITTED", "APPROVED", "APPLYING", "COMPLETED", "REJECTED", "CANCELLED", "FAILED"] {
            backdoor.change(&format!("UPDATE tasks SET state = '{state}' WHERE id = '{}'", id(&task))).await;
            for body in [json!({"metadata": {"team": "x"}}), json!({"config": plain("y")["config"]})] {
                let problem = refused(patch(&hub, &ann.key, &task, &body), 409, "INVALID_STATE").await;
                assert_eq!(problem["state"], json!(state));
            }
            refused(hub.request("DELETE", &one(&task)).bearer_auth(&ann.key), 409, "INVALID_STATE").await;
            let request = hub.request("PUT", &format!("{}/preview", one(&task))).bearer_auth(&ann.key);
            refused(request.json(&json!({})), 409, "INVALID_STATE").await;
            let path = format!("{}/comments", one(&task));
            make(&hub, &ann.key, &path, json!({"body": state})).await;
            let path = format!("/api/v1/projects/{}", id(&project));
            refused(hub.admin("DELETE", &path), 409, "INVALID_STATE").await;
        }
        backdoor.change(&format!("UPDATE tasks SET state = 'DRAFT' WHERE id = '{}'", id(&task))).await;
        expect(hub.admin("DELETE", &format!("/api/v1/projects/{}", id(&project))), 204).await;
        refused(hub.admin("GET", &one(&task)), 404, "NOT_FOUND").await;
    })
    .await;
}

/// Rows like that of a task, without revisions.
async fn copy(hub: &TestHub, task: &Value, times: usize) {
    let backdoor = Backdoor::open(hub).await;
    let columns = backdoor.columns("tasks").await;
    let others: Vec<&str> = columns.iter().map(String::as_str).filter(|column| *column != "id").collect();
    let others = others.join(", ");
    let copies = (0..times).map(|_| {
        let (fresh, id) = (hub.hub.ids.fresh(), id(task));
        format!("INSERT INTO tasks (id, {others}) SELECT '{fresh}', {others} FROM tasks WHERE id = '{id}'")
    });
    backdoor.run(&copies.collect::<Vec<_>>().join("; ")).await;
}

#[tokio::test]
async fn an_author_has_a_thousand_tasks_on_their_way() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let task = make(&hub, &ann.key, PATH, plain("x")).await;
        // The rest of them, behind the hub's back.
        copy(&hub, &task, 999).await;
        let problem = refused(post(&hub, &ann.key, &plain("one too many")), 429, "TOO_MANY_OPEN").await;
        assert!(problem["detail"].as_str().unwrap().contains("1000"), "{problem}");
        make(&hub, &hub.admin_key, PATH, plain("somebody else's")).await;
        expect(hub.request("DELETE", &one(&task)).bearer_auth(&ann.key), 204).await;
        make(&hub, &ann.key, PATH, plain("again")).await;
    })
    .await;
}

/// Every text a client can send with a task.
const TEXTS: [&str; 20] = [
    "/config/type",
    "/config/version",
    "/config/description",
    "/config/action/kind",
    "/config/rollback_strategy",
    "/config/declared_risk",
    "/config/resources/0/type",
    "/config/resources/0/id",
    "/config/resources/0/mode",
    "/config/requires_labels/region",
    "/config/parameters/table",
    "/metadata/team",
    "/metadata/ticket_ref",
    "/metadata/tags/0",
    "/metadata/own/deep/0",
    "/slug",
    "/path",
    "/due_at",
    "/assignee",
    "/project_id",
];

fn hostile() -> [String; 4] {
    ["x".repeat(64 * 1024), "\u{202e}\u{200b}".to_owned(), "a\u{0}b".to_owned(), "\u{1b}[2J".to_owned()]
}

/// What breaks naive code is kept exactly, or refused where it stands; nothing in between.
#[tokio::test]
async fn hostile_text_gets_a_clear_answer() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let task = make(&hub, &ann.key, PATH, plain("target")).await;
        for (text, field) in hostile().iter().flat_map(|text| TEXTS.map(|field| (text, field))) {
            let mut body = whole();
            *body.pointer_mut(field).unwrap() = json!(text);
            let answer = send(post(&hub, &ann.key, &body)).await;
            match answer.status.as_u16() {
                201 => {
                    assert!(!text.contains('\0'), "{field}");
                    let made = answer.json();
                    assert_eq!(made.pointer(field), Some(&json!(text)), "{field}: as it was sent");
                    expect(hub.request("DELETE", &one(&made)).bearer_auth(&ann.key), 204).await;
                }
                422 => {
                    let problem = answer.any_problem();
                    let named = pointers(&problem).iter().any(|pointer| field.starts_with(pointer.as_str()));
                    assert!(named, "{field}: {problem:.300}");
                }
                status => panic!("{field}: {status} {:.300}", answer.text()),
            }
        }
        for text in hostile() {
            let path = format!("{}/comments", one(&task));
            let request = hub.request("POST", &path).bearer_auth(&ann.key).json(&json!({"body": text}));
            let wanted = if text.contains('\u{202e}') { 201 } else { 422 };
            expect(request, wanted).await;
        }
        assert_eq!(all_items(&hub, &ann.key, PATH).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_filter_is_named() {
    on_each_engine(async |hub| {
        for query in [
            "resource=x",
            "resource=a:%00",
            "tag=%00",
            "path_prefix=%00",
            "path_prefix=%C3%A9",
            "author=x",
            "state=draft",
            "status=IN-PROGRESS",
            "assignee=%00",
            "cursor=%00",
            "project_id=x",
        ] {
            let name = query.split('=').next().unwrap();
            let problem =
                refused(hub.admin("GET", &format!("{PATH}?{query}")), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [format!("/{name}")], "{query}: {problem}");
        }
        refused(hub.admin("GET", &format!("{PATH}?unknown=1")), 422, "VALIDATION_FAILED").await;
    })
    .await;
}
