//! The dashboard in a real browser.
//!
//! Each test opens browsers of its own (`testkit::browser`), and every complaint of their consoles fails it. They run on
//! SQLite: what differs between the engines is below the pages, and tested there.

mod acts;
mod deciding;
mod everybody;
mod lengths;
mod lists;
mod merging;
mod pages;
mod pushes;

use serde_json::{Value, json};
use testkit::browser::{Browser, Look};
use testkit::{Engine, Setup, TestHub};

use crate::reviews::{asked, person};
use crate::support::{Login, PASSWORD, expect, get, id, log_in};

/// A hub with somebody who writes tasks and somebody who is asked about them.
pub(super) struct Office {
    pub(super) hub: TestHub,
    /// The key of who writes tasks.
    pub(super) author: String,
    /// The login of who is asked.
    pub(super) rita: Login,
}

pub(super) async fn hub() -> TestHub {
    TestHub::start(Setup::on(Engine::Sqlite)).await
}

impl Office {
    pub(super) async fn open() -> Self {
        let hub = hub().await;
        let author = person(&hub, "ann", &["author"]).await;
        let email = "rita@default.example";
        let body = json!({"email": email, "display_name": "Rita", "password": PASSWORD, "roles": ["author", "reviewer"]});
        expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await;
        let rita = log_in(&hub, email).await;
        Self { hub, author, rita }
    }

    /// A task that waits for Rita.
    pub(super) async fn task(&self, description: &str) -> Value {
        let config = json!({"type": "infrastructure", "description": description,
                            "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]});
        let body = json!({"config": config, "submit": true});
        let request = self.hub.request("POST", "/api/v1/tasks").bearer_auth(&self.author).json(&body);
        let made = expect(request, 201).await.json();
        assert_eq!(made["state"], "REVIEWING", "{made}");
        made
    }

    /// What Rita was asked about it.
    pub(super) async fn request(&self, task: &Value) -> Value {
        asked(&self.hub, &self.rita.token, task).await
    }

    pub(super) async fn state(&self, task: &Value) -> String {
        let task = get(&self.hub, &self.author, &format!("/api/v1/tasks/{}", id(task))).await;
        task["state"].as_str().unwrap().to_owned()
    }

    /// Rita's browser.
    pub(super) async fn browser(&self, look: Look) -> Browser {
        let browser = Browser::open(&self.hub.url(), look).await;
        let cookie = json!({"name": "cs", "value": self.rita.token, "url": self.hub.url(), "httpOnly": true});
        browser.devtools("Network.setCookie", cookie).await;
        browser
    }

    /// The same with a page open that is kept fresh.
    pub(super) async fn live(&self, path: &str) -> Browser {
        let browser = self.browser(Look::default()).await;
        browser.go(path).await;
        browser.wait(LIVE).await;
        browser
    }
}

/// Whether the page says that it is kept fresh.
pub(super) const LIVE: &str = "document.querySelector('.live')?.dataset.state === 'live'";
