//! `kill -9` while somebody looks at a page: it comes back by itself, with everything that is there, once.

use client::Client;
use serde_json::json;
use testkit::browser::{Browser, Look};
use testkit::scaled;
use wire::CreateTask;

use crate::support::{Home, Kind, Served, chance, until};

const ROUNDS: usize = 3;
const LIVE: &str = "document.querySelector('.live')?.dataset.state === 'live'";
/// What is in the list, each as often as it is there.
const ROWS: &str =
    "[...document.querySelectorAll('#queue [id^=\"row-\"]')].map((row) => row.id.slice(4)).sort()";
/// What the console may say about a hub that is gone.
const GONE: [&str; 4] = ["WebSocket", "ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY_RESPONSE"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_survives_that_its_hub_is_killed() {
    let home = Home::on(Kind::Sqlite);
    let mut served = home.serve().await;
    let listen = served.listen().to_owned();
    let author = joined(&home, &served);
    let browser = opened(&home, &served).await;
    for words in GONE {
        browser.expects(words);
    }
    browser.run("window.same = true;", &[]).await;
    for _ in 0..scaled(ROUNDS).max(2) {
        killed_under(&mut served, &author).await;
        browser.wait(&format!("!({LIVE})")).await;
        served = home.serve_at(&listen).await;
        // Perhaps before the page is back, perhaps after.
        propose(&served.client(&author)).await.expect("a task");
        browser.wait(LIVE).await;
        let waiting = waiting(&home).await;
        until("that the page has it all", async || browser.value(ROWS).await == json!(waiting)).await;
    }
    assert_eq!(browser.value("window.same").await, json!(true), "the page was not loaded again");
    browser.close().await;
    served.stop();
}

/// Somebody who is asked, and somebody who asks; the key of the latter.
fn joined(home: &Home, served: &Served) -> String {
    for (name, role) in [("rita", "reviewer"), ("ann", "author")] {
        let email = format!("{name}@example.org");
        home.as_admin(served, &["account", "create", &email, "--name", name, "--role", role]).done();
    }
    let key = home.as_admin(served, &["key", "mint", "first", "--account", "ann@example.org"]).done();
    key.trim().to_owned()
}

/// The inbox of who is asked, kept fresh.
async fn opened(home: &Home, served: &Served) -> Browser {
    let link = home.run_on_data(&["admin", "login-link", "rita@example.org"]).done();
    let (_, token) = link.trim().split_once("token=").expect("a link");
    let browser = Browser::open(&served.url, Look::default()).await;
    browser.go(&format!("/login/once?token={token}")).await;
    browser.click("main button").await;
    browser.wait("document.querySelector('.side .me')").await;
    browser.go("/").await;
    browser.wait(LIVE).await;
    browser
}

/// Tasks are proposed, some of them at once, until the hub is killed in the middle of it.
async fn killed_under(served: &mut Served, author: &str) {
    let client = served.client(author);
    for _ in 0..=chance(4) {
        propose(&client).await.expect("a task");
    }
    // The one's answer comes while the other is on its way.
    let more = async { while propose(&client).await.is_some() {} };
    let end = async {
        propose(&client).await.expect("a task");
        served.process.kill();
    };
    tokio::join!(more, end);
}

/// None once the hub is gone.
async fn propose(author: &Client) -> Option<()> {
    let config = json!({"type": "t", "description": "Add an index"});
    let task = CreateTask { config, submit: Some(true), ..CreateTask::default() };
    author.create_task(&task).await.ok().map(drop)
}

/// What waits for who is asked, as the records have it.
async fn waiting(home: &Home) -> Vec<String> {
    let rows = "SELECT CAST(id AS TEXT) FROM approvals WHERE status = 'PENDING' AND reviewer_id = (SELECT id FROM \
                accounts WHERE email = 'rita@example.org') ORDER BY 1";
    home.sql(rows).await.into_iter().map(|mut row| row.swap_remove(0)).collect()
}
