//! What strangers write is shown as what it is, on every page.

use serde_json::json;
use testkit::{TestHub, on_each_engine};

use super::{Reader, holds, post};
use crate::delegations::somebody;
use crate::locks::acquired;
use crate::reviews::person;
use crate::support::{Answer, PASSWORD, expect, id, log_in, mint, send};

const TEXT: &str = "<img src=x onerror=alert(1)>\u{202e}evil\u{200b}";

const MARKUP: &str = "<img src=x onerror=alert(1)>";

/// What only admins, and those whom it is about, are shown: it is of strangers too.
async fn written(hub: &TestHub, ann: &str) -> String {
    let when = format!("config.parameters[\"{MARKUP}\"] == 1");
    let policy = json!({"name": MARKUP, "required_roles": ["reviewer"], "when": when});
    post(hub, &hub.admin_key, "/api/v1/policies", &policy).await;
    mint(hub, &hub.admin_key, json!({"name": MARKUP})).await;
    let hook = json!({"url": format!("https://hooks.example/{MARKUP}"), "types": ["task:*"]});
    let hook = send(hub.admin("POST", "/api/v1/webhooks").json(&hook)).await;
    assert!(hook.status.as_u16() < 500, "{}", hook.text());
    let config = json!({"type": "infrastructure", "description": TEXT, "resources": []});
    let task = post(hub, ann, "/api/v1/tasks", &json!({"config": config, "submit": true})).await;
    let body = json!({"email": "eve@default.example", "display_name": MARKUP, "password": PASSWORD});
    expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await;
    let eve = log_in(hub, "eve@default.example").await;
    let said = hub.request("POST", &format!("/api/v1/tasks/{}/comments", id(&task)));
    expect(eve.on(said).json(&json!({"body": TEXT})), 201).await;
    id(&task)
}

/// A page that shows something, and nothing that runs or hides.
fn is_harmless(answer: &Answer, path: &str) {
    let page = answer.text();
    assert!(answer.status.as_u16() < 500, "{path} {page}");
    assert!(!page.contains("<img"), "{path} {page}");
    assert!(!page.contains(['\u{202e}', '\u{200b}']), "{path} {page}");
}

#[tokio::test]
async fn nothing_that_strangers_write_is_markup_or_hides() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let task = |depends_on: Vec<String>| {
            json!({"config": {"type": "infrastructure", "description": TEXT, "resources": []},
                   "metadata": {"tags": ["t"]}, "depends_on": depends_on})
        };
        let first = id(&post(&hub, &ann, "/api/v1/tasks", &task(Vec::new())).await);
        post(&hub, &ann, "/api/v1/tasks", &task(vec![first])).await;
        let agent = json!({"name": MARKUP, "description": MARKUP, "labels": {"env": MARKUP}});
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &agent).await);
        acquired(&hub, &ann, json!({"key": "resource:database:prod", "purpose": MARKUP, "owner": MARKUP}))
            .await;
        let rob = somebody(&hub, "rob", &["reviewer"]).await;
        let said = json!({"delegate_to": rob.id, "conditions": {"task_types": [TEXT]}});
        post(&hub, &hub.admin_key, "/api/v1/delegations", &said).await;
        let reader = Reader::of(&hub, &hub.admin_key).await;
        for path in [
            "/tasks".to_owned(),
            "/plan".to_owned(),
            "/plan?view=list".to_owned(),
            "/locks".to_owned(),
            "/locks/release?key=resource:database:prod".to_owned(),
            format!("/agents?agent={agent}"),
            "/agents?view=list".to_owned(),
            "/audit".to_owned(),
            "/overview".to_owned(),
            "/delegations?new=1".to_owned(),
            "/tasks?tag=%3Cimg%20src%3Dx%20onerror%3D1%3E".to_owned(),
        ] {
            is_harmless(&reader.look(&path).await, &path);
        }
        let page = reader.page("/tasks").await;
        assert!(page.contains("class=\"esc\"") && page.contains("\\u202e"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn nothing_that_is_shown_to_some_only_is_markup_or_hides() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &json!({"name": "steward"})).await);
        let task = written(&hub, &ann).await;
        let [admin, author, reviewer] = [
            Reader::of(&hub, &hub.admin_key).await,
            Reader::of(&hub, &ann).await,
            Reader::of(&hub, &rob).await,
        ];
        for (reader, path) in [
            (&admin, "/policies".to_owned()),
            (&admin, format!("/policies?task={task}")),
            (&admin, "/settings".to_owned()),
            (&author, format!("/agents/{agent}/setup?step=4")),
            (&author, "/?view=told".to_owned()),
            (&reviewer, format!("/tasks/{task}")),
        ] {
            let answer = reader.look(&path).await;
            assert_eq!(answer.status.as_u16(), 200, "{path} {}", answer.text());
            is_harmless(&answer, &path);
            holds(&answer.text(), &["&#60;img src=x"]);
        }
    })
    .await;
}
