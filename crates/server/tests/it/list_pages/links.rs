//! Whatever a page links to is there, and opens as it is asked for.

use std::collections::{BTreeSet, VecDeque};

use serde_json::json;
use testkit::{Engine, Setup, TestHub};

use super::{Reader, post};
use crate::locks::{KEY, acquired};
use crate::reviews::person;
use crate::support::{id, send};

/// More than the pages here link to.
const FOLLOWED_MAX: usize = 600;

/// The addresses of a page that a click leads to, of this hub.
fn links(page: &str) -> impl Iterator<Item = String> {
    let marked = page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let own = marked.filter(|to| to.starts_with('/') && !to.starts_with("/assets/"));
    own.map(|to| to.split('#').next().unwrap_or_default().replace("&#38;", "&").replace("&amp;", "&"))
}

#[tokio::test]
async fn every_link_of_every_page_opens() {
    let hub = TestHub::start(Setup::on(Engine::Sqlite)).await;
    let ann = person(&hub, "ann", &["author"]).await;
    let config = json!({"type": "migration", "description": "Add an index",
                        "resources": [{"type": "database", "id": "prod", "mode": "exclusive"}]});
    let first = post(&hub, &ann, "/api/v1/tasks", &json!({"config": config})).await;
    let second =
        json!({"config": config, "depends_on": [id(&first)], "metadata": {"tags": ["a&b"]}, "submit": true});
    post(&hub, &hub.admin_key, "/api/v1/tasks", &second).await;
    post(&hub, &hub.admin_key, "/api/v1/agents", &json!({"name": "steward", "labels": {"a": "b&c"}})).await;
    acquired(&hub, &ann, json!({"key": KEY, "purpose": "index"})).await;
    let reader = Reader::of(&hub, &hub.admin_key).await;
    let (mut seen, mut next) = (BTreeSet::new(), VecDeque::from(["/".to_owned()]));
    while let Some(path) = next.pop_front() {
        if !seen.insert(path.clone()) {
            continue;
        }
        assert!(seen.len() < FOLLOWED_MAX, "links lead on for ever: {path}");
        let answer = send(hub.request("GET", &path).header("cookie", reader.cookie())).await;
        assert!(matches!(answer.status.as_u16(), 200 | 303), "{path}: {} {}", answer.status, answer.text());
        if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            next.extend(links(&answer.text()));
        }
    }
    for wanted in ["/audit?task=", "/tasks?author=", "/locks/release?key=", "/agents/new", "/policies?"] {
        assert!(seen.iter().any(|path| path.starts_with(wanted)), "nothing leads to {wanted}: {seen:?}");
    }
}
