//! What every page must keep to.

use serde_json::json;
use server::routes::listed;
use testkit::browser::{Browser, Look};
use tokio::net::TcpListener;

use super::Office;
use crate::locks::{KEY, acquired, asks, post, stand_in_line};
use crate::support::{expect, id};

/// Every page that can be looked at by its address alone, a task and an open request.
pub(super) async fn addresses(office: &Office) -> Vec<String> {
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    let pages = listed().into_iter().filter(|page| page.is_page && page.method == "GET");
    let plain = pages.map(|page| page.path).filter(|path| !path.contains('{'));
    // A socket, what only a form leads to, and what only a provider or a link sends one to.
    let looked_at = plain.filter(|path| {
        path != "/live"
            && path != "/locks/release"
            && !path.ends_with("/batch")
            && !path.starts_with("/login/o")
    });
    let views = [
        "/?view=mine",
        "/?view=done",
        "/?view=told",
        "/?risk=MEDIUM&q=index",
        "/?q=nothing",
        "/delegations?new=1",
    ]
    .map(str::to_owned);
    let open = [format!("/tasks/{}", id(&task)), format!("/?open={}", id(&request))];
    let own = super::acts::draft(office, "Add a column").await;
    let own = ["", "/cancel"].map(|act| format!("/tasks/{}{act}", id(&own)));
    looked_at.chain(views).chain(open).chain(own).collect()
}

#[tokio::test]
async fn the_link_of_the_first_start_logs_in() {
    let hub = super::hub().await;
    let browser = Browser::open(&hub.url(), Look::default()).await;
    browser.go(&format!("/login/once?token={}", hub.admin_link)).await;
    assert!(browser.path().await.starts_with("/login/once"), "looking at the link is not logging in");
    browser.click("main button").await;
    browser.wait("document.querySelector('.side .me')").await;
    assert!(!browser.path().await.starts_with("/login"), "{}", browser.path().await);
    assert_eq!(browser.value("document.cookie").await, "", "no script can read the login");
    browser.close().await;
}

#[tokio::test]
async fn no_page_asks_for_what_its_policy_forbids() {
    let office = Office::open().await;
    let browser = office.browser(Look::default()).await;
    for path in addresses(&office).await {
        browser.go(&path).await;
        browser.wait("document.readyState === 'complete'").await;
        let complaints = browser.complaints().await;
        assert!(complaints.is_empty(), "{path}: {complaints:#?}");
        let styled = "[...document.querySelectorAll('[style], style, script:not([src])')].length";
        assert_eq!(browser.value(styled).await, 0, "{path}");
    }
    browser.close().await;
}

/// What went wrong is read in lines, whether or not a symbol stands before it, and nothing hangs out at the side.
#[tokio::test]
async fn words_have_the_width_of_what_they_stand_in() {
    let office = Office::open().await;
    let browser = office.browser(Look::default()).await;
    browser.expects("404");
    browser.go("/tasks/nope").await;
    let line = "const said = document.querySelector('.problem p');
        return said.getBoundingClientRect().height < 2 * parseFloat(getComputedStyle(said).fontSize);";
    assert_eq!(browser.run(line, &[]).await, true, "one word a line");
    browser.go("/login/nope").await;
    let wide =
        "const words = document.createRange(); words.selectNodeContents(document.querySelector('.note'));
        return words.getBoundingClientRect().width > document.querySelector('.note').clientWidth / 2;";
    assert_eq!(browser.run(wide, &[]).await, true, "one word a line");
    let task = office.task("Add an index").await;
    let request = office.request(&task).await;
    browser.go(&format!("/approvals/batch?approval_ids={}", id(&request))).await;
    let inside = "return [...document.querySelectorAll('.table-wrap')].every((wrap) =>
        wrap.scrollWidth <= wrap.clientWidth);";
    assert_eq!(browser.run(inside, &[]).await, true, "the list that is signed is cut off");
    browser.close().await;
}

/// A name may be as long as it likes and without a place to break: the page is as wide as the window all the same.
#[tokio::test]
async fn a_long_name_makes_no_page_wider() {
    let office = Office::open().await;
    let hub = &office.hub;
    let name = "P".repeat(190);
    let policy = json!({"name": name, "task_types": ["none"], "required_roles": ["reviewer"]});
    let policy = expect(hub.admin("POST", "/api/v1/policies").json(&policy), 201).await.json();
    let project = json!({"name": name, "slug": "long"});
    expect(hub.admin("POST", "/api/v1/projects").json(&project), 201).await;
    let member = json!({"email": format!("{}@default.example", "m".repeat(50)), "display_name": name});
    expect(hub.admin("POST", "/api/v1/accounts").json(&member), 201).await;
    for size in [(1280, 900), (500, 900)] {
        let browser = office.browser(Look { size, ..Look::default() }).await;
        for path in ["/policies", &format!("/policies?policy={}", id(&policy)), "/plan", "/settings"] {
            browser.go(path).await;
            let inside =
                "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
            assert_eq!(browser.run(inside, &[]).await, true, "{path} {size:?}");
        }
        let inside = "const wrap = document.querySelector('#accounts .table-wrap');
            return wrap.scrollWidth <= wrap.clientWidth;";
        assert_eq!(browser.run(inside, &[]).await, true, "{size:?}: accounts are cut off");
        let whole = "const words = document.createRange();
            const cells = [...document.querySelectorAll('#accounts .mail')];
            words.selectNodeContents(cells.find((cell) => cell.textContent === 'rita@default.example'));
            return words.getClientRects().length === 1;";
        assert_eq!(browser.run(whole, &[]).await, true, "{size:?}");
        browser.close().await;
    }
}

/// Whoever waits, for what, and who has it: all of it is seen at once in a window of the usual width.
#[tokio::test]
async fn who_waits_for_whom_is_drawn_whole() {
    let office = Office::open().await;
    let hub = &office.hub;
    let (cleo, dan) = (hub.member(&hub.admin_key, "cleo").await, hub.member(&hub.admin_key, "dan").await);
    let lock = acquired(hub, &cleo, json!({"key": KEY})).await;
    let waiting = asks(hub, &dan, &json!({"key": KEY, "wait_seconds": 20}));
    stand_in_line(hub, KEY, 1).await;
    let browser = office.browser(Look::default()).await;
    browser.go("/locks").await;
    let inside = "return [...document.querySelectorAll('.graph-wrap')].map((wrap) =>
        wrap.scrollWidth <= wrap.clientWidth);";
    assert_eq!(browser.run(inside, &[]).await, json!([true]), "the drawing is cut off");
    browser.close().await;
    expect(post(hub, &cleo, "release", &json!({"lock_id": lock["lock_id"]})), 200).await;
    assert!(waiting.await.unwrap().status.is_success());
}

#[tokio::test]
async fn no_other_site_can_frame_a_page() {
    let office = Office::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = format!("http://{}", listener.local_addr().unwrap());
    let page =
        format!("<!doctype html><title>x</title><iframe src=\"{}/account\"></iframe>", office.hub.url());
    let router = axum::Router::new().fallback(move || std::future::ready(axum::response::Html(page.clone())));
    tokio::select! {
        ended = axum::serve(listener, router).into_future() => ended.unwrap(),
        () = look(&elsewhere) => {}
    }
}

/// Opens a page elsewhere that frames one of the hub.
async fn look(elsewhere: &str) {
    let browser = Browser::open(elsewhere, Look::default()).await;
    browser.go("/").await;
    browser.wait("document.querySelector('iframe')").await;
    browser.expects("favicon");
    let complaints = crate::support::eventually("a refusal", async || {
        let complaints = browser.complaints().await;
        (!complaints.is_empty()).then_some(complaints)
    });
    let complaints = complaints.await;
    assert!(complaints.iter().all(|words| words.contains("frame-ancestors")), "{complaints:#?}");
    browser.close().await;
}
