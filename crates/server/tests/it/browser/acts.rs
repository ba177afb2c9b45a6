//! What is done with a whole task, by hand and by key, with the module and without.

use serde_json::{Value, json};
use testkit::browser::{Browser, Look, keys};

use super::Office;
use crate::support::{eventually, expect, id};

/// A draft of Rita's own.
pub(super) async fn draft(office: &Office, description: &str) -> Value {
    let config = json!({"type": "infrastructure", "description": description});
    let request =
        office.rita.on(office.hub.request("POST", "/api/v1/tasks")).json(&json!({"config": config}));
    expect(request, 201).await.json()
}

async fn comes_to(office: &Office, task: &Value, state: &str) {
    eventually(state, async || (office.state(task).await == state).then_some(())).await;
}

/// Goes on with the tabulator until this has the focus.
async fn tab_to(browser: &Browser, css: &str) {
    for _ in 0..80 {
        browser.press(&[keys::TAB]).await;
        if browser.value(&format!("document.activeElement.matches('{css}')")).await == json!(true) {
            return;
        }
    }
    panic!("{css} cannot be reached by key");
}

#[tokio::test]
async fn a_draft_is_submitted_by_key() {
    let office = Office::open().await;
    let task = draft(&office, "Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    tab_to(&browser, "#sign form[action$=\"/submit\"] button").await;
    assert_eq!(office.state(&task).await, "DRAFT");
    browser.press(&[keys::ENTER]).await;
    comes_to(&office, &task, "REVIEWING").await;
    browser.wait("document.querySelector('.pill')?.textContent.includes('Reviewing')").await;
    browser.close().await;
}

#[tokio::test]
async fn a_task_is_cancelled_by_key_and_enter_alone_does_not() {
    let office = Office::open().await;
    let task = draft(&office, "Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    tab_to(&browser, "[popovertarget=task-menu]").await;
    browser.press(&[keys::ENTER]).await;
    browser.wait("document.querySelector('#task-menu:popover-open')").await;
    tab_to(&browser, "#task-menu a[href$=\"/cancel\"]").await;
    browser.press(&[keys::ENTER]).await;
    browser.wait("location.pathname.endsWith('/cancel') && document.readyState === 'complete'").await;
    browser.click("#a-why").await;
    browser.type_text("not needed").await;
    browser.press(&[keys::ENTER]).await;
    assert_eq!(office.state(&task).await, "DRAFT", "Enter is a new line");
    tab_to(&browser, ".btn-danger-solid").await;
    browser.press(&[keys::ENTER]).await;
    comes_to(&office, &task, "CANCELLED").await;
    browser.close().await;
}

#[tokio::test]
async fn without_scripts_a_task_is_proposed_submitted_and_cancelled() {
    let office = Office::open().await;
    let browser = office.browser(Look { has_scripts: false, ..Look::default() }).await;
    browser.go("/tasks/new").await;
    browser.click("#n-description").await;
    browser.type_text("Add an index").await;
    browser.click("#n-type").await;
    browser.type_text("migration").await;
    browser.press(&[keys::ENTER]).await;
    assert_eq!(browser.path().await, "/tasks/new", "Enter saves nothing");
    browser.follow("[value=simulate]").await;
    assert!(browser.text("#would").await.contains("Nothing was saved and nobody was asked."));
    browser.follow("[value=draft]").await;
    let path = browser.path().await;
    let task = json!({"id": path.strip_prefix("/tasks/").unwrap()});
    assert_eq!(office.state(&task).await, "DRAFT");
    browser.follow("#sign form button").await;
    comes_to(&office, &task, "REVIEWING").await;
    browser.click("[popovertarget=task-menu]").await;
    browser.follow("#task-menu a[href$=\"/cancel\"]").await;
    browser.click("#a-why").await;
    browser.type_text("not needed").await;
    browser.follow(".btn-danger-solid").await;
    comes_to(&office, &task, "CANCELLED").await;
    browser.close().await;
}

#[tokio::test]
async fn a_batch_is_picked_by_key_opened_and_signed_together() {
    let office = Office::open().await;
    let mut tasks = Vec::new();
    for description in ["Rotate a log", "Rotate another"] {
        let config = json!({"type": "infrastructure", "description": description, "declared_risk": "trivial",
                            "rollback_strategy": "automatic"});
        let body = json!({"config": config, "submit": true});
        let request = office.hub.request("POST", "/api/v1/tasks").bearer_auth(&office.author).json(&body);
        tasks.push(expect(request, 201).await.json());
    }
    let browser = office.live("/").await;
    for task in &tasks {
        // Only what was opened in full can be signed with others.
        browser.go(&format!("/tasks/{}", id(task))).await;
    }
    browser.go("/").await;
    browser.wait(super::LIVE).await;
    browser.press(&['j']).await;
    browser.press(&['x']).await;
    browser.press(&['j']).await;
    browser.press(&['x']).await;
    assert_eq!(browser.value("document.querySelectorAll('#rows :checked').length").await, json!(2));
    browser.click(".batch-bar .btn:not(.btn-ghost)").await;
    browser.wait("document.querySelector('#sign [name=read]')").await;
    browser.click("#sign .needs-arm").await;
    for task in &tasks {
        assert_eq!(office.state(task).await, "REVIEWING", "without the tick nothing is sent");
    }
    browser.click("#sign [name=read]").await;
    for task in &tasks {
        assert_eq!(office.state(task).await, "REVIEWING", "a tick signs nothing");
    }
    browser.click("#sign .needs-arm").await;
    for task in &tasks {
        comes_to(&office, task, "APPROVED").await;
    }
    browser.close().await;
}

#[tokio::test]
async fn on_the_page_of_tasks_too_a_row_that_arrives_under_the_pointer_waits() {
    let office = Office::open().await;
    let first = office.task("Add an index").await;
    let browser = office.live("/tasks").await;
    let places = "return [...document.querySelectorAll('#rows > tr')].map((row) =>
        [row.id, row.getBoundingClientRect().y]);";
    browser.hover(&format!("#row-{} a", id(&first))).await;
    let before = browser.run(places, &[]).await;
    office.task("Drop the table").await;
    browser.wait("document.querySelector('.new-bar:not(.new-bar-none)')").await;
    assert_eq!(browser.run(places, &[]).await, before, "nothing moves under the pointer");
    browser.press(&['.']).await;
    browser.wait("document.querySelectorAll('#rows > tr').length === 2").await;
    browser.close().await;
}
