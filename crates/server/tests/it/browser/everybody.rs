//! Pages are for everybody: axe-core finds nothing to object to, in light, in dark and on a phone.

use std::path::Path;

use serde_json::json;
use testkit::browser::{Browser, Look};

use super::Office;
use super::pages::addresses;

/// Where `cargo xtask test` puts it, seen from the directory that cargo gives to tests.
const AXE: &str = "../axe-core-4.11.0/package/axe.min.js";

const JUDGE: &str = "const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations.map((violation) =>
        `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html.slice(0, 200)).join(' | ')}`)));";

async fn judge(browser: &Browser, axe: &str, what: &str) {
    browser.run(axe, &[]).await;
    let violations = browser.run_async(JUDGE, &[]).await;
    assert_eq!(violations, json!([]), "{what}: {violations:#}");
}

async fn judge_all(look: Look) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(AXE);
    let axe = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` fetches it", path.display()));
    let office = Office::open().await;
    let browser = office.browser(look).await;
    for path in addresses(&office).await {
        browser.go(&path).await;
        judge(&browser, &axe, &path).await;
        // Colours of what is chosen differ.
        for choice in ["approve", "reject"] {
            let choose = "document.querySelector(`#sign [value=${arguments[0]}]`)?.click();";
            browser.run(choose, &[json!(choice)]).await;
        }
        judge(&browser, &axe, &format!("{path}, chosen")).await;
    }
    browser.go("/").await;
    for popover in ["f-inbox", "palette", "keys", "me-menu"] {
        browser.run("document.getElementById(arguments[0]).showPopover();", &[json!(popover)]).await;
        judge(&browser, &axe, popover).await;
        browser.run("document.getElementById(arguments[0]).hidePopover();", &[json!(popover)]).await;
    }
    let own = super::acts::draft(&office, "Add a table").await;
    browser.go(&format!("/tasks/{}", crate::support::id(&own))).await;
    browser.run("document.getElementById('task-menu').showPopover();", &[]).await;
    judge(&browser, &axe, "the menu of a task").await;
    browser.close().await;
}

#[tokio::test]
async fn pages_are_for_everybody_in_light() {
    judge_all(Look::default()).await;
}

#[tokio::test]
async fn pages_are_for_everybody_in_dark() {
    judge_all(Look { is_dark: true, ..Look::default() }).await;
}

#[tokio::test]
async fn pages_are_for_everybody_on_a_phone() {
    judge_all(Look { size: (390, 844), ..Look::default() }).await;
}
