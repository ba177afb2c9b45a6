//! What is on the screen becomes what the hub has rendered, and nothing that a person did is lost.

use serde_json::json;
use testkit::browser::{Browser, Look};
use testkit::scaled;

/// Random pages, merged into random pages that somebody has been at work on.
const CASES: usize = 20_000;
/// So many come of a few thousand at the least.
const CASES_A_SCRIPT: usize = 1_000;

#[tokio::test]
async fn nothing_a_person_did_is_lost_and_the_page_is_what_the_hub_rendered() {
    let hub = super::hub().await;
    let browser = Browser::open(&hub.url(), Look::default()).await;
    browser.go("/login").await;
    let mut totals = std::collections::BTreeMap::<String, u64>::new();
    for seed in 0..scaled(CASES).div_ceil(CASES_A_SCRIPT) {
        let counts = browser.run_async(include_str!("fuzz.js"), &[json!(seed), json!(CASES_A_SCRIPT)]).await;
        assert!(counts["error"].is_null(), "seed {seed}: {}", counts["error"].as_str().unwrap_or_default());
        for (name, count) in counts.as_object().unwrap() {
            *totals.entry(name.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    println!("merged: {totals:?}");
    let rare = totals.iter().find(|(_, count)| **count < totals["cases"] / 200);
    assert_eq!(rare, None, "too few cases of this kind to mean anything: {totals:?}");
    browser.close().await;
}
