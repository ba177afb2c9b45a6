//! What the hub says while a page is open: it is seen at once, and never in anybody's way.

use serde_json::{Value, json};
use testkit::browser::{Browser, keys};

use super::{LIVE, Office};
use crate::reviews::{answer, asked, person};
use crate::support::{expect, id};

const ROWS: &str = "document.querySelectorAll('#queue [id^=\"row-\"]').length";
const HELD: &str = "document.querySelector('.new-bar:not(.new-bar-none)')";

async fn comment(office: &Office, task: &Value, words: &str) {
    let path = format!("/api/v1/tasks/{}/comments", id(task));
    let request = office.hub.request("POST", &path).bearer_auth(&office.author);
    expect(request.json(&json!({"body": words})), 201).await;
}

async fn row_places(browser: &Browser) -> Value {
    let script = "return [...document.querySelectorAll('#queue [id^=\"row-\"]')].map((row) =>
        [row.id, row.getBoundingClientRect().y]);";
    browser.run(script, &[]).await
}

#[tokio::test]
async fn what_is_half_typed_stays_while_others_speak() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    browser.click("#c-new").await;
    browser.type_text("half a ").await;
    browser
        .run("document.activeElement.setSelectionRange(4, 4); window.field = document.activeElement;", &[])
        .await;
    comment(&office, &task, "Rebuilt in OPS-4471").await;
    browser.wait("document.getElementById('talk').textContent.includes('OPS-4471')").await;
    let kept = "document.activeElement === window.field && window.field.isConnected
        && window.field.value === 'half a ' && window.field.selectionStart === 4";
    assert_eq!(browser.value(kept).await, json!(true));
    browser.type_text("of").await;
    assert_eq!(browser.value("window.field.value").await, json!("halfof a "));
    browser.close().await;
}

#[tokio::test]
async fn a_row_that_arrives_under_the_pointer_waits() {
    let office = Office::open().await;
    let first = office.task("Add an index").await;
    let request = office.request(&first).await;
    let browser = office.live("/").await;
    browser.hover(&format!("#row-{} .item-title", id(&request))).await;
    let before = row_places(&browser).await;
    office.task("Drop the table").await;
    browser.wait(HELD).await;
    assert!(browser.text(".new-bar").await.starts_with("1 new"));
    assert_eq!(row_places(&browser).await, before, "nothing moves under the pointer");
    let covered = "const bar = document.querySelector('.new-bar:not(.new-bar-none)').getBoundingClientRect();
        return [...document.querySelectorAll('.queue-head :is(a, button)')].filter((way) =>
            way.getBoundingClientRect().bottom > bar.top + 1).map((way) => way.textContent);";
    assert_eq!(browser.run(covered, &[]).await, json!([]), "the bar lies over a way elsewhere");
    browser.press(&['.']).await;
    browser.wait(&format!("{ROWS} === 2")).await;
    assert_eq!(browser.value(HELD).await, json!(null));
    // With nobody in the list a row comes by itself.
    browser.hover_at(1, 1).await;
    office.task("Add a column").await;
    browser.wait(&format!("{ROWS} === 3")).await;
    browser.close().await;
}

#[tokio::test]
async fn rows_that_wait_come_when_the_list_is_left() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let browser = office.live("/").await;
    browser.press(&['j']).await;
    assert_eq!(
        browser.value("document.activeElement.closest('[id^=\"row-\"]').id").await,
        json!(format!("row-{}", id(&request)))
    );
    office.task("Drop the table").await;
    browser.wait(HELD).await;
    assert_eq!(browser.value(ROWS).await, json!(1));
    browser.run("document.activeElement.blur();", &[]).await;
    browser.wait(&format!("{ROWS} === 2")).await;
    browser.close().await;
}

#[tokio::test]
async fn a_row_that_others_have_answered_stays_where_it_is_and_opens_nothing() {
    let office = Office::open().await;
    let bob = person(&office.hub, "bob", &["reviewer"]).await;
    let (task, other) = (office.task("Add an index").await, office.task("Drop the table").await);
    let request = office.request(&task).await;
    let browser = office.live("/").await;
    browser.hover(&format!("#row-{} .item-title", id(&office.request(&other).await))).await;
    let before = row_places(&browser).await;
    expect(answer(&office.hub, &bob, &asked(&office.hub, &bob, &task).await, "approve"), 200).await;
    browser.wait(&format!("document.querySelector('#row-{}.item-done[inert]')", id(&request))).await;
    assert_eq!(row_places(&browser).await, before);
    browser.hover_at(1, 1).await;
    browser.wait(&format!("{ROWS} === 1")).await;
    browser.close().await;
}

#[tokio::test]
async fn the_page_says_when_a_login_has_ended() {
    let office = Office::open().await;
    let browser = office.live("/account").await;
    let leave = office.rita.on(office.hub.request("POST", "/account/logout"));
    expect(leave.form(&[] as &[(&str, &str); 0]), 303).await;
    browser.wait("document.querySelector('.live')?.dataset.state === 'ended'").await;
    assert!(browser.text(".live").await.contains("Signed out"));
    browser.close().await;
}

#[tokio::test]
async fn without_a_socket_the_page_is_polled_and_says_so() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let browser = office.browser(testkit::browser::Look::default()).await;
    let no_sockets = json!({"source": "window.WebSocket = class { constructor() {
        setTimeout(() => this.onclose({ code: 1006 }), 0); } close() {} };"});
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", no_sockets).await;
    browser.go(&format!("/tasks/{}", id(&task))).await;
    browser.wait("document.querySelector('.live')?.dataset.state === 'polling'").await;
    assert_eq!(browser.value("document.querySelector('.live').textContent").await, json!("Polling"));
    let absolute =
        "[...document.querySelectorAll('main time[title]')].every((time) => time.textContent === time.title)";
    assert_eq!(browser.value(absolute).await, json!(true), "times that are not kept true are absolute");
    comment(&office, &task, "Rebuilt in OPS-4471").await;
    browser.wait("document.getElementById('talk').textContent.includes('OPS-4471')").await;
    browser.close().await;
}

#[tokio::test]
async fn the_palette_leads_where_its_words_say_and_the_theme_changes_at_once() {
    let office = Office::open().await;
    let browser = office.live("/account").await;
    browser.press(&[keys::CONTROL, 'k']).await;
    browser.wait("document.querySelector('#palette:popover-open')").await;
    browser.type_text("inb").await;
    let shown = "[...document.querySelectorAll('.palette-list a:not([hidden])')].map((entry) => entry.getAttribute('href'))";
    assert_eq!(browser.value(shown).await, json!(["/"]));
    browser.press(&[keys::ENTER]).await;
    browser.wait("location.pathname === '/'").await;
    browser.wait(LIVE).await;
    browser.run("window.same = true;", &[]).await;
    browser.click("[popovertarget=me-menu]").await;
    browser.click("[form=f-theme]").await;
    browser.wait("document.documentElement.dataset.theme === 'light'").await;
    browser.wait("document.querySelector('[form=f-theme]').value === 'dark'").await;
    assert_eq!(browser.value("window.same").await, json!(true), "the page was not loaded again");
    browser.close().await;
}

#[tokio::test]
async fn after_a_restart_nothing_is_missing_and_nothing_is_there_twice() {
    let mut office = Office::open().await;
    office.task("Add an index").await;
    let browser = office.live("/").await;
    for complaint in ["WebSocket", "ERR_CONNECTION", "ERR_INCOMPLETE", "503"] {
        browser.expects(complaint);
    }
    browser.run("window.same = true; document.querySelector('.live').dataset.state = 'unsaid';", &[]).await;
    for expected in 2..4 {
        office.hub.restart().await;
        // Perhaps before the page is back, perhaps after.
        office.task("Drop the table").await;
        browser.wait(LIVE).await;
        browser.wait(&format!("{ROWS} === {expected}")).await;
        let ids =
            "new Set([...document.querySelectorAll('#queue [id^=\"row-\"]')].map((row) => row.id)).size";
        assert_eq!(browser.value(ids).await, json!(expected));
        browser.run("document.querySelector('.live').dataset.state = 'unsaid';", &[]).await;
    }
    assert_eq!(browser.value("window.same").await, json!(true), "the page was not loaded again");
    browser.close().await;
}

#[tokio::test]
async fn a_slash_opens_the_filter_and_what_is_typed_narrows_the_list() {
    let office = Office::open().await;
    office.task("Add an index").await;
    office.task("Drop the table").await;
    let browser = office.live("/").await;
    browser.press(&['/']).await;
    browser.wait("document.querySelector('#f-inbox:popover-open')").await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("f-q"));
    browser.type_text("table").await;
    browser.press(&[keys::ENTER]).await;
    browser.wait("location.search.includes('q=table')").await;
    browser.wait(&format!("{ROWS} === 1")).await;
    browser.close().await;
}
