//! Choosing and signing, by hand and by key: nothing is signed that was not chosen, read and meant.

use serde_json::json;
use testkit::browser::{Browser, Look, keys};

use super::Office;
use crate::reviews::answer;
use crate::support::{eventually, expect, id};

const CHOSEN: &str = "document.querySelector('#sign [name=decision]:checked')?.value ?? null";
const SIGN: &str = "#sign .when-approve .btn-sign";

async fn approved(office: &Office, task: &serde_json::Value) {
    eventually("the approval", async || (office.state(task).await == "APPROVED").then_some(())).await;
}

/// Where an element is in the window.
async fn place(browser: &Browser, css: &str) -> serde_json::Value {
    let script = "const at = document.querySelector(arguments[0]).getBoundingClientRect();
                  return [at.x, at.y, at.width, at.height];";
    browser.run(script, &[json!(css)]).await
}

#[tokio::test]
async fn approving_by_click_takes_a_choice_and_a_signature() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let browser = office.live("/").await;
    browser.click(&format!("#row-{} .item-title", id(&request))).await;
    browser.wait("document.querySelector('#sign [name=decision]')").await;
    assert_eq!(browser.value(CHOSEN).await, json!(null), "nothing is preset");
    let hidden = format!("document.querySelector('{SIGN}').checkVisibility({{ visibilityProperty: true }})");
    assert_eq!(browser.value(&hidden).await, json!(false), "nothing can be signed before a choice");
    browser.click("#sign .choice:has([value=approve])").await;
    let button = browser.text(SIGN).await;
    assert!(button.contains("Approve revision 1"), "{button}");
    assert_eq!(office.state(&task).await, "REVIEWING", "a choice signs nothing");
    browser.click(SIGN).await;
    approved(&office, &task).await;
    browser.wait("location.search.startsWith('?done=')").await;
    browser.close().await;
}

#[tokio::test]
async fn approving_by_key_takes_a_letter_and_then_control_and_enter() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    browser.press(&[keys::CONTROL, keys::ENTER]).await;
    assert_eq!(browser.value(CHOSEN).await, json!(null), "with nothing chosen it does nothing");
    for (letter, choice) in [('r', "reject"), ('c', "changes"), ('d', "delegate"), ('a', "approve")] {
        browser.press(&[letter]).await;
        assert_eq!(browser.value(CHOSEN).await, json!(choice));
        browser.press(&[keys::ESCAPE]).await;
        assert_eq!(browser.value(CHOSEN).await, json!(null), "escape undoes the choice");
    }
    browser.press(&['a']).await;
    browser.press(&[keys::ENTER]).await;
    assert_eq!(office.state(&task).await, "REVIEWING", "neither the letter nor Enter signs");
    browser.click("#c-new").await;
    browser.press(&[keys::CONTROL, keys::ENTER]).await;
    assert_eq!(office.state(&task).await, "REVIEWING", "whoever writes a comment signs nothing");
    browser.press(&[keys::ESCAPE]).await;
    browser.press(&[keys::CONTROL, keys::ENTER]).await;
    approved(&office, &task).await;
    browser.wait("location.search.startsWith('?done=')").await;
    browser.close().await;
}

/// Whoever decides by key is where they read and where they write, and neither Enter nor a letter there signs.
#[tokio::test]
async fn the_focus_goes_where_one_reads_and_then_where_one_writes() {
    let office = Office::open().await;
    crate::reviews::person(&office.hub, "zoe", &["reviewer"]).await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let focus = "document.activeElement.id";
    let browser = office.live("/").await;
    browser.press(&['j']).await;
    browser.press(&[keys::ENTER]).await;
    browser.wait(&format!("location.search.includes('{}') && {focus} === 'pane-title'", id(&request))).await;
    for path in [format!("/?open={}", id(&request)), format!("/tasks/{}", id(&task))] {
        browser.go(&path).await;
        browser.wait(super::LIVE).await;
        for (letter, field) in [('a', "why-a"), ('c', "why-c"), ('r', "why-r"), ('d', "to")] {
            browser.press(&[letter]).await;
            assert_eq!(browser.value(focus).await, json!(field), "{path}");
            assert_eq!(
                browser.value("document.activeElement.value").await,
                json!(""),
                "the letter is no text"
            );
            browser.press(&[keys::ENTER]).await;
            // Of a list Enter opens what can be chosen; Escape closes that first.
            browser.run("document.activeElement.value = ''; document.activeElement.focus();", &[]).await;
            browser.press(&[keys::ESCAPE]).await;
            if browser.value(CHOSEN).await != json!(null) {
                browser.press(&[keys::ESCAPE]).await;
            }
            assert_eq!(browser.value(CHOSEN).await, json!(null), "{letter} on {path}");
            assert_eq!(browser.value(focus).await, json!("sign"), "the focus stays in the block");
        }
        // What was written is not thrown away with one key.
        browser.press(&['r']).await;
        browser.type_text("because").await;
        browser.press(&[keys::ESCAPE]).await;
        assert_eq!(browser.value(CHOSEN).await, json!("reject"));
        assert_eq!(browser.path().await, path, "nothing was sent");
        assert_eq!(office.state(&task).await, "REVIEWING", "{path}");
    }
    browser.close().await;
}

#[tokio::test]
async fn letters_are_letters_while_somebody_types_and_can_be_turned_off() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    browser.press(&['m']).await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("c-new"));
    browser.type_text("a c r d j . ?").await;
    assert_eq!(browser.value("document.activeElement.value").await, json!("a c r d j . ?"));
    assert_eq!(browser.value(CHOSEN).await, json!(null));
    browser.press(&[keys::ESCAPE]).await;
    browser.press(&['?']).await;
    browser.wait("document.querySelector('#keys:popover-open')").await;
    browser.click("#keys label input").await;
    browser.press(&[keys::ESCAPE]).await;
    browser.press(&['a']).await;
    assert_eq!(browser.value(CHOSEN).await, json!(null), "they are turned off");
    browser.go("/account").await;
    browser.press(&['?']).await;
    assert_eq!(browser.value("document.querySelector('#keys:popover-open')").await, json!(null));
    browser.close().await;
}

#[tokio::test]
async fn enter_signs_nothing_wherever_the_focus_is() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    for path in [format!("/?open={}", id(&request)), format!("/tasks/{}", id(&task))] {
        let browser = office.live(&path).await;
        for choice in ["approve", "reject", "changes", "delegate"] {
            browser.click(&format!("#sign .choice:has([value={choice}])")).await;
            browser.run("document.querySelector('#sign :checked').focus();", &[]).await;
            browser.press(&[keys::ENTER]).await;
        }
        // In the one field where somebody who approves would press it.
        browser.click("#sign .choice:has([value=approve])").await;
        browser.click("#why-a").await;
        browser.type_text("fine").await;
        browser.press(&[keys::ENTER]).await;
        assert_eq!(browser.path().await, path, "nothing was sent");
        assert_eq!(office.state(&task).await, "REVIEWING", "{path}");
        browser.close().await;
    }
}

#[tokio::test]
async fn nothing_moves_under_the_pointer_after_a_choice() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let browser = office.live(&format!("/?open={}", id(&request))).await;
    let approve = "#sign .choice:has([value=approve])";
    let before = place(&browser, approve).await;
    browser.hover(approve).await;
    // As a hand does that is used to double clicks.
    browser.click_here().await;
    browser.click_here().await;
    assert_eq!(browser.value(CHOSEN).await, json!("approve"));
    assert_eq!(place(&browser, approve).await, before);
    assert_eq!(office.state(&task).await, "REVIEWING", "a second click does not sign");
    browser.close().await;
}

/// A task that cannot be undone asks for more: its highest part decides how high the pane is, and all of it can be reached.
#[tokio::test]
async fn what_cannot_be_undone_is_decided_without_a_jump_and_on_a_phone() {
    let office = Office::open().await;
    let catalogue = json!([{"pattern": "database:prod-*", "criticality": 100, "blast_radius": 100}]);
    let put = office.hub.admin("PUT", "/api/v1/resource-catalogue").header("if-match", "*");
    expect(put.json(&catalogue), 200).await;
    let config = json!({"type": "database", "description": "Drop the table", "rollback_strategy": "none",
        "declared_risk": "critical", "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]});
    let make = office.hub.request("POST", "/api/v1/tasks").bearer_auth(&office.author);
    let task = expect(make.json(&json!({"config": config, "submit": true})), 201).await.json();
    let path = format!("/?open={}", id(&office.request(&task).await));
    for size in [(1280, 900), (390, 844)] {
        let browser = office.browser(Look { size, ..Look::default() }).await;
        browser.go(&path).await;
        browser.wait("document.querySelector('#arm')").await;
        let approve = "#sign .choice:has([value=approve])";
        browser.run("document.querySelector('#sign').scrollIntoView({ block: 'end' });", &[]).await;
        let before = place(&browser, approve).await;
        for choice in ["approve", "reject", "changes", "delegate", "approve"] {
            browser.click(&format!("#sign .choice:has([value={choice}])")).await;
            assert_eq!(
                place(&browser, approve).await,
                before,
                "{choice} moves what it is chosen with, {size:?}"
            );
        }
        let cut_off = "[...document.querySelectorAll('#sign *')].filter((part) => {
            const at = part.getBoundingClientRect();
            return part.checkVisibility({ visibilityProperty: true }) && (at.left < 0 || at.right > innerWidth);
        }).map((part) => part.outerHTML.slice(0, 80))";
        assert_eq!(browser.value(cut_off).await, json!([]), "{size:?}");
        let sign = place(&browser, SIGN).await;
        assert!(sign[1].as_f64() > before[1].as_f64(), "the button is not where the choice was");
        browser.close().await;
    }
}

#[tokio::test]
async fn a_stale_signature_is_refused_and_says_that_nothing_was_signed() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let path = format!("/tasks/{}", id(&task));
    // Without the module nothing keeps the page from growing old.
    let browser = office.browser(Look { has_scripts: false, ..Look::default() }).await;
    browser.go(&path).await;
    let change = json!({"config": {"type": "infrastructure", "description": "Drop the table",
        "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]}});
    let edit = office.hub.request("PATCH", &format!("/api/v1{path}")).bearer_auth(&office.author);
    expect(edit.header("if-match", "*").json(&change), 200).await;
    browser.expects("409");
    browser.click("#sign .choice:has([value=approve])").await;
    browser.follow(SIGN).await;
    let said = browser.text("[role=alert]").await;
    assert!(said.contains("Nothing was signed"), "{said}");
    assert_eq!(office.state(&task).await, "REVIEWING");
    browser.close().await;
}

#[tokio::test]
async fn everything_works_without_scripts() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let browser = office.browser(Look { has_scripts: false, ..Look::default() }).await;
    browser.go("/").await;
    browser.follow(&format!("#row-{} .item-title", id(&request))).await;
    browser.click("#sign .choice:has([value=approve])").await;
    browser.follow(SIGN).await;
    approved(&office, &task).await;
    browser.close().await;
}

#[tokio::test]
async fn another_revision_takes_the_choice_back_and_marks_what_changed() {
    let office = Office::open().await;
    let task = office.task("Add an index").await;
    let path = format!("/tasks/{}", id(&task));
    let browser = office.live(&path).await;
    browser.click("#sign .choice:has([value=approve])").await;
    // The moment in which the buttons wait is over before a slow machine has looked twice, so what it is like is noted, and
    // what somebody would do who chooses and signs faster than anybody can read is done, while it begins.
    let watch = "document.addEventListener('submit', (event) => {
            window.sent = !event.defaultPrevented;
            event.preventDefault();
        });
        const block = document.getElementById('sign');
        const watcher = new MutationObserver(() => {
            if (!block.matches('.settling')) return;
            watcher.disconnect();
            const chosen = block.querySelector('[name=decision]:checked')?.value ?? null;
            const isMarked = block.querySelector('.changed') !== null;
            block.querySelector('[value=approve]').checked = true;
            block.querySelector('form.when-approve').requestSubmit();
            window.seen = { chosen, isMarked, sent: window.sent };
        });
        watcher.observe(block, { attributes: true, subtree: true, childList: true });";
    browser.run(watch, &[]).await;
    let change = json!({"config": {"type": "infrastructure", "description": "Drop the table",
        "resources": [{"type": "database", "id": "prod-db-01", "mode": "exclusive"}]}});
    let edit = office.hub.request("PATCH", &format!("/api/v1{path}")).bearer_auth(&office.author);
    expect(edit.header("if-match", "*").json(&change), 200).await;
    browser.wait("window.seen").await;
    let seen = browser.value("window.seen").await;
    assert_eq!(seen["chosen"], json!(null), "another content has to be chosen anew");
    assert_eq!(seen["isMarked"], json!(true), "what changed is marked");
    assert_eq!(seen["sent"], json!(false), "its buttons wait");
    browser.wait("!document.querySelector('#sign.settling')").await;
    assert!(browser.text(SIGN).await.contains("revision 2"));
    browser.close().await;
}

#[tokio::test]
async fn whoever_was_outvoted_sees_it_while_the_page_is_open() {
    let office = Office::open().await;
    let bob = crate::reviews::person(&office.hub, "bob", &["reviewer"]).await;
    let task = office.task("Add an index").await;
    let browser = office.live(&format!("/tasks/{}", id(&task))).await;
    let request = crate::reviews::asked(&office.hub, &bob, &task).await;
    expect(answer(&office.hub, &bob, &request, "approve"), 200).await;
    browser.wait("!document.querySelector('#sign [name=decision]')").await;
    browser.close().await;
}
