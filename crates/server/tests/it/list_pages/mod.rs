//! The pages with lists, as somebody with a browser meets them.

use serde_json::Value;
use testkit::TestHub;

use crate::backdoor::Backdoor;
use crate::support::{Answer, expect, get, send, without_module};
use crate::world::pages::PAGES;
use crate::world::{id_in, rows};

mod agents;
mod audit;
mod delegations;
mod hostile;
mod links;
mod locks;
mod new_task;
mod plan;
mod policies;
mod settings;
mod tasks;

/// Somebody who is logged in in a browser.
pub(crate) struct Reader<'h> {
    hub: &'h TestHub,
    token: String,
}

impl<'h> Reader<'h> {
    /// Whoever has this key, with a login.
    pub(crate) async fn of(hub: &'h TestHub, key: &str) -> Self {
        let me = get(hub, key, "/api/v1/me").await;
        let (org, account) = (id_in(&me["organization"], "id"), id_in(&me["account"], "id"));
        let token = rows::login(&Backdoor::open(hub).await, &org, &account).await;
        Self { hub, token }
    }

    fn cookie(&self) -> String {
        format!("cs={}", self.token)
    }

    /// The page at this path, whatever it says.
    pub(crate) async fn look(&self, path: &str) -> Answer {
        let answer = send(self.hub.request("GET", path).header("cookie", self.cookie())).await;
        is_page(&answer);
        answer
    }

    /// A page that opens.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.look(path).await;
        assert_eq!(answer.status.as_u16(), 200, "{path} {}", answer.text());
        answer.text()
    }

    /// Where a form leads.
    pub(crate) async fn fill(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        send(self.hub.request("POST", path).header("cookie", self.cookie()).form(form)).await
    }

    /// A form that is taken; where it leads.
    pub(crate) async fn taken(&self, path: &str, form: &[(&str, &str)]) -> String {
        let answer = self.fill(path, form).await;
        assert_eq!(answer.status.as_u16(), 303, "{path} {}", answer.text());
        answer.header("location").unwrap().to_owned()
    }
}

/// A page holds nothing that runs, and no style of its own.
pub(crate) fn is_page(answer: &Answer) {
    if answer.status.as_u16() == 303 {
        return;
    }
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{}", answer.text());
    let text = without_module(&answer.text());
    for never in ["<script", " style=", "onclick", "javascript:"] {
        assert!(!text.contains(never), "{never} in {text}");
    }
}

/// Where an id stands in a page.
pub(crate) fn place(page: &str, what: &str) -> usize {
    page.find(what).unwrap_or_else(|| panic!("no {what} in {page}"))
}

pub(crate) fn holds(page: &str, wanted: &[&str]) {
    for what in wanted {
        assert!(page.contains(what), "no {what} in {page}");
    }
}

pub(crate) fn lacks(page: &str, never: &[&str]) {
    for what in never {
        assert!(!page.contains(what), "{what} in {page}");
    }
}

/// Sends a body with a key.
pub(crate) async fn post(hub: &TestHub, key: &str, path: &str, body: &Value) -> Value {
    let answer = send(hub.request("POST", path).bearer_auth(key).json(body)).await;
    assert!(answer.status.is_success(), "{path} {}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_stranger_is_led_to_the_login_and_back() {
    testkit::on_each_engine(async |hub| {
        for path in ["/tasks?state=DRAFT", "/locks", "/agents", "/audit", "/overview", "/plan"] {
            let answer = send(hub.request("GET", path)).await;
            let to = answer.header("location").unwrap_or_default().to_owned();
            assert!(answer.status.as_u16() == 303 && to.starts_with("/login?next=/"), "{path} {to}");
        }
    })
    .await;
}

/// A page of another site changes nothing, whatever it sends with whosever login.
#[tokio::test]
async fn no_form_is_taken_from_another_site() {
    testkit::on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        for page in PAGES.iter().filter(|page| !page.is_read()) {
            for (name, value) in [
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-site", "same-site"),
                ("origin", "https://evil.example"),
                ("origin", "null"),
            ] {
                let request = hub.request(page.method, page.asks).header("cookie", admin.cookie());
                let request = request.header("content-type", "application/x-www-form-urlencoded");
                let answer = send(request.header(name, value).body(page.form)).await;
                assert_eq!(answer.status.as_u16(), 403, "{page}, {name}: {value}: {}", answer.text());
                holds(&answer.text(), &["a page of another site"]);
            }
        }
    })
    .await;
}

/// A filter that makes no sense is said to be wrong, and shows nothing.
#[tokio::test]
async fn wrong_filters_are_named() {
    testkit::on_each_engine(async |hub| {
        let reader = Reader::of(&hub, &hub.admin_key).await;
        for path in [
            "/tasks?state=NOPE",
            "/tasks?resource=nope",
            "/tasks?project=nope",
            "/tasks?open=maybe",
            "/tasks?cursor=nope",
            "/tasks?nope=1",
            "/tasks?tag=a&tag=b",
            "/locks?agent=nope",
            "/locks?key=nope",
            "/agents?status=nope",
            "/agents?agent=nope",
            "/audit?key=nope",
            "/audit?from=yesterday",
            "/plan?project=nope",
        ] {
            let answer = reader.look(path).await;
            assert_eq!(answer.status.as_u16(), 422, "{path} {}", answer.text());
        }
        let gone = "0197a000-0000-7000-8000-000000000000";
        assert_eq!(reader.look(&format!("/agents?agent={gone}")).await.status.as_u16(), 404);
        assert_eq!(reader.look(&format!("/audit?row={gone}")).await.status.as_u16(), 404);
        expect(hub.request("GET", "/healthz"), 200).await;
    })
    .await;
}
