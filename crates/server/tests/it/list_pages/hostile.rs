//! What strangers write is shown as what it is, on every page.

use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, post};
use crate::delegations::somebody;
use crate::locks::acquired;
use crate::reviews::person;
use crate::support::id;

const TEXT: &str = "<img src=x onerror=alert(1)>\u{202e}evil\u{200b}";

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
        let markup = "<img src=x onerror=alert(1)>";
        let agent = json!({"name": markup, "description": markup, "labels": {"env": markup}});
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &agent).await);
        acquired(&hub, &ann, json!({"key": "resource:database:prod", "purpose": markup, "owner": markup}))
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
            let answer = reader.look(&path).await;
            let page = answer.text();
            assert!(answer.status.as_u16() < 500, "{path} {page}");
            assert!(!page.contains("<img"), "{path} {page}");
            assert!(!page.contains(['\u{202e}', '\u{200b}']), "{path} {page}");
        }
        let page = reader.page("/tasks").await;
        assert!(page.contains("class=\"esc\"") && page.contains("\\u202e"), "{page}");
    })
    .await;
}
