//! What strangers write at length: it stays in its place, pushes nothing out of sight, and can be read whole.

use serde_json::json;
use testkit::browser::{Browser, Look};

use super::{Office, hub};
use crate::locks::{KEY, acquired};
use crate::support::{expect, id, make};

/// Whether nothing in these frames is beside what is seen of them.
async fn fits(browser: &Browser, css: &str) {
    let script = "return [...document.querySelectorAll(arguments[0])].map((part) => part.scrollWidth <= part.clientWidth);";
    assert_eq!(browser.run(script, &[json!(css)]).await, json!([true]), "{css} hangs out at the side");
}

async fn height(browser: &Browser, css: &str) -> f64 {
    let script = "return document.querySelector(arguments[0]).getBoundingClientRect().height;";
    browser.run(script, &[json!(css)]).await.as_f64().unwrap()
}

#[tokio::test]
async fn a_long_description_is_a_row_as_any_other_and_whole_where_it_is_signed() {
    let office = Office::open().await;
    let long = "Add an index, and then another one. ".repeat(55);
    let (task, short) = (office.task(&long).await, office.task("Add an index").await);
    let (request, short) = (id(&office.request(&task).await), id(&office.request(&short).await));
    for size in [(1280, 900), (390, 844)] {
        let browser = office.browser(Look { size, ..Look::default() }).await;
        browser.go("/").await;
        let row = format!("#row-{request}");
        let two_lines = height(&browser, &format!("#row-{short}")).await + 25.0;
        assert!(height(&browser, &row).await < two_lines, "{size:?}: it buries what is below it");
        let title = "const title = document.querySelector(arguments[0] + ' .item-title');
            return [title.textContent.trim(), title.title.trim()];";
        assert_eq!(browser.run(title, &[json!(row)]).await, json!([long.trim(), long.trim()]));
        browser.go(&format!("/tasks/{}", id(&task))).await;
        assert!(height(&browser, "h1").await < 150.0, "{size:?}: what is signed is far below");
        assert!(browser.text("#runs").await.contains(&long), "what is signed is whole");
        assert!(browser.text("#task-head").await.contains("1,980 characters"));
        browser.close().await;
    }
    let browser = office.browser(Look::default()).await;
    browser.go(&format!("/?open={request}")).await;
    let whole = "const title = document.getElementById('pane-title');
        return title.scrollHeight <= title.clientHeight && title.textContent.length > 1900;";
    assert_eq!(browser.run(whole, &[]).await, json!(true), "where it is read nothing is cut off");
    browser.close().await;
}

#[tokio::test]
async fn a_comment_keeps_its_lines_and_wraps_its_words() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let path = format!("/api/v1/tasks/{}/comments", id(&task));
    let body = json!({"body": format!("one\n{}\nthree", "w".repeat(600))});
    expect(office.hub.request("POST", &path).bearer_auth(&office.author).json(&body), 201).await;
    let browser = office.browser(Look::default()).await;
    browser.go(&format!("/tasks/{}", id(&task))).await;
    fits(&browser, ".bubble").await;
    let said = browser.text(".bubble").await;
    assert!(said.starts_with("one\n") && said.ends_with("\nthree"), "{said}");
    browser.close().await;
}

#[tokio::test]
async fn a_long_purpose_leaves_every_column_of_the_locks_where_it_is_seen() {
    let office = Office::open().await;
    let cleo = office.hub.member(&office.hub.admin_key, "cleo").await;
    let body = json!({"key": KEY, "owner": "o".repeat(90), "purpose": "W".repeat(250)});
    acquired(&office.hub, &cleo, body).await;
    let browser = office.browser(Look { size: (1440, 900), ..Look::default() }).await;
    browser.go("/locks").await;
    fits(&browser, "#list .table-wrap").await;
    assert!(browser.text("#rows").await.contains(&"W".repeat(250)), "nothing of it is cut off");
    browser.close().await;
}

#[tokio::test]
async fn a_long_description_of_an_agent_leaves_its_health_in_sight() {
    let hub = hub().await;
    let body = json!({"name": "talker", "description": "It talks. ".repeat(90),
        "labels": {"region": "e".repeat(60)}});
    make(&hub, &hub.admin_key, "/api/v1/agents", body).await;
    make(&hub, &hub.admin_key, "/api/v1/agents", json!({"name": "quiet"})).await;
    let browser = Browser::open(&hub.url(), Look::default()).await;
    browser.go(&format!("/login/once?token={}", hub.admin_link)).await;
    browser.click("main button").await;
    browser.wait("document.querySelector('.side .me')").await;
    browser.go("/agents").await;
    assert!(height(&browser, "#rows > li").await < 300.0, "one stretches all beside it");
    let tags = "return [...document.querySelectorAll('.agent .tag')].every((tag) =>
        tag.getBoundingClientRect().right <= tag.closest('.agent').getBoundingClientRect().right);";
    assert_eq!(browser.run(tags, &[]).await, json!(true), "a label is cut off");
    browser.go("/agents?view=list").await;
    assert!(height(&browser, "#rows > tr").await < 120.0);
    browser.close().await;
}
