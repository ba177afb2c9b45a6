//! The pages with lists, used by hand: narrowed, opened, and changed where that is allowed.

use serde_json::json;
use testkit::browser::{Browser, Look, keys};

use super::{LIVE, Office, hub};
use crate::locks::{KEY, acquired};
use crate::support::{get, id};

const ROWS: &str = "document.querySelectorAll('#rows > tr[id]').length";

/// The first admin's browser.
async fn admin(hub: &testkit::TestHub) -> Browser {
    let browser = Browser::open(&hub.url(), Look::default()).await;
    browser.go(&format!("/login/once?token={}", hub.admin_link)).await;
    browser.click("main button").await;
    browser.wait("document.querySelector('.side .me')").await;
    browser
}

async fn rows(browser: &Browser, count: usize) {
    browser.wait(&format!("document.readyState === 'complete' && {ROWS} === {count}")).await;
}

#[tokio::test]
async fn tasks_are_narrowed_by_what_is_typed_and_by_menus_and_each_filter_can_be_taken_away() {
    let office = Office::open().await;
    let reviewed = office.task("Add an index").await;
    let own = super::acts::draft(&office, "Add a column").await;
    let browser = office.live("/tasks").await;
    rows(&browser, 2).await;
    browser.click("[aria-label=\"Find tasks\"] [type=search]").await;
    browser.type_text("database:prod-db-01").await;
    browser.press(&[keys::ENTER]).await;
    rows(&browser, 1).await;
    assert!(browser.text("#rows").await.contains("Add an index"));
    browser.click("[popovertarget=f-state]").await;
    browser.click("#f-state [value=DRAFT]").await;
    browser.wait("document.querySelectorAll('.chip-on').length === 2").await;
    rows(&browser, 0).await;
    browser.click(".chip-on[aria-label*=resource]").await;
    rows(&browser, 1).await;
    assert!(browser.path().await.contains("state=DRAFT"), "the other filter is still there");
    browser.click(&format!("#row-{} a", id(&own))).await;
    browser.wait(&format!("location.pathname === '/tasks/{}'", id(&own))).await;
    // What is kept as a view is an address, so the way back leads to it.
    browser.run("history.back();", &[]).await;
    rows(&browser, 1).await;
    browser.click("#views a:not([aria-current])").await;
    browser
        .wait("document.querySelector('#views [aria-current]') && !location.search.includes('DRAFT')")
        .await;
    // An id means one task, which opens.
    browser.go(&format!("/tasks?q={}", id(&reviewed))).await;
    browser.wait(&format!("location.pathname === '/tasks/{}'", id(&reviewed))).await;
    browser.close().await;
}

#[tokio::test]
async fn a_lock_is_released_by_force_by_whoever_types_its_whole_key() {
    let hub = hub().await;
    let ann = hub.member(&hub.admin_key, "ann").await;
    let browser = admin(&hub).await;
    browser.expects("422");
    browser.go("/locks").await;
    browser.wait(LIVE).await;
    let lock = acquired(&hub, &ann, json!({"key": KEY, "purpose": "index"})).await;
    let row = format!("#row-{}", lock["lock_id"].as_str().unwrap());
    browser.wait(&format!("document.querySelector('{row}')")).await;
    browser.click(&format!("{row} a[aria-label^=\"Force release\"]")).await;
    browser.wait("document.getElementById('fr-key')").await;
    browser.click("#fr-why").await;
    browser.type_text("it hangs").await;
    browser.press(&[keys::ENTER]).await;
    browser.click("#fr-key").await;
    browser.type_text("prod").await;
    browser.click("form .btn-danger-solid").await;
    let held = get(&hub, &hub.admin_key, "/api/v1/locks").await;
    assert_eq!(held["items"].as_array().unwrap().len(), 1, "half a key releases nothing");
    browser.run("document.getElementById('fr-key').value = '';", &[]).await;
    browser.click("#fr-key").await;
    browser.type_text(KEY).await;
    browser.click("form .btn-danger-solid").await;
    browser.wait("location.pathname === '/locks' && document.querySelector('.note-ok')").await;
    assert!(browser.text("#list").await.contains("Nothing is held"));
    browser.close().await;
}

#[tokio::test]
async fn an_agent_is_made_in_five_steps_and_its_key_is_shown_once() {
    let hub = hub().await;
    let browser = admin(&hub).await;
    browser.go("/agents/new").await;
    browser.click("#w1").await;
    browser.type_text("schema-steward").await;
    browser.click("main form .btn-sign").await;
    browser.wait("document.getElementById('w5')").await;
    browser.click("#w5").await;
    browser.type_text("region=eu").await;
    browser.click("main form .btn-sign").await;
    browser.wait("document.getElementById('w6')").await;
    browser.click("main form .btn-sign").await;
    browser.wait("document.querySelector('.steps [aria-current]').textContent.includes('olicy')").await;
    browser.click("main form .btn-sign").await;
    browser.wait("document.querySelector('form[action$=\"/key\"]')").await;
    browser.click("form[action$=\"/key\"] button").await;
    browser
        .wait("document.querySelector('pre.code')?.textContent.includes('COUNTERSIGN_API_KEY=csk_')")
        .await;
    let key = "document.querySelectorAll('pre.code > span')[1].textContent.split('=')[1]";
    let key = browser.value(key).await.as_str().unwrap().to_owned();
    testkit::watch::secret(&key);
    assert_eq!(get(&hub, &key, "/api/v1/me").await["account"]["display_name"], "schema-steward");
    browser.go("/agents?view=list").await;
    assert!(browser.text("#list").await.contains("schema-steward"));
    assert_eq!(browser.value("document.body.textContent.includes('csk_')").await, json!(false));
    browser.close().await;
}

#[tokio::test]
async fn a_policy_is_tried_before_anybody_is_asked() {
    let office = Office::open().await;
    let browser = admin(&office.hub).await;
    browser.go("/policies").await;
    browser.click("#cfg").await;
    browser.type_text("{\"type\": \"migration\", \"description\": \"Drop a column\"}").await;
    browser.click("#simulate form button").await;
    browser
        .wait("location.pathname === '/policies/simulate' && document.querySelector('#simulate .timeline')")
        .await;
    assert!(browser.text("#simulate").await.contains("Rita"), "{}", browser.text("#simulate").await);
    let tasks = get(&office.hub, &office.author, "/api/v1/tasks").await;
    assert_eq!(tasks["items"], json!([]), "nothing was proposed");
    browser.close().await;
}

#[tokio::test]
async fn an_audit_row_opens_with_its_proof_and_the_chain_is_checked_on_demand() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let browser = admin(&office.hub).await;
    browser.go(&format!("/audit?task={}", id(&task))).await;
    browser.wait(&format!("{ROWS} > 0")).await;
    browser.click("#rows tr[id] a").await;
    browser.wait("document.getElementById('open')").await;
    browser.wait("document.querySelector('#open .proof') || (location.reload(), false)").await;
    browser.click("#verification form button").await;
    browser.wait("document.getElementById('h-v')?.textContent === 'Verified'").await;
    browser.close().await;
}
