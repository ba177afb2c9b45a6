//! Answers that are given again while nothing changes: never one second too long, never to anybody else, and never after
//! anything has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Engine, Setup, TestHub, on_each_engine, scaled};

use super::{Desk, desk, member, small};
use crate::backdoor::Backdoor;
use crate::locks::{KEY, acquired, post as ask};
use crate::support::{Login, eventually, expect, id};

/// Changes after which somebody looks, at full scale.
const CHANGES: usize = 300;
/// Readers who ask all the time, so that answers are kept at every moment.
const READERS: usize = 6;
const KEPT_FOR: Duration = Duration::from_secs(1);

impl Desk<'_> {
    async fn remark(&self, task: &str, text: &str) {
        let path = format!("/api/v1/tasks/{task}/comments");
        let said = self.hub.request("POST", &path).bearer_auth(&self.author).json(&json!({"body": text}));
        expect(said, 201).await;
    }

    /// Does this while others read the page all the time.
    async fn while_read(&self, page: &str, acts: impl AsyncFnOnce()) {
        let over = AtomicBool::new(false);
        let reading = async || {
            while !over.load(Ordering::SeqCst) {
                self.page(page).await;
            }
        };
        let acting = async {
            acts().await;
            over.store(true, Ordering::SeqCst);
        };
        tokio::join!(join_all((0..READERS).map(|_| reading())), acting);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_heard_of_a_change_finds_it_on_the_page() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = id(&desk.submitted(small("Rotate a log")).await);
        let page = format!("/tasks/{task}");
        desk.while_read(&page, async || {
            for number in 0..scaled(CHANGES) {
                let remark = format!("remark number {number}.");
                desk.remark(&task, &remark).await;
                assert!(
                    desk.page(&page).await.contains(&remark),
                    "the page is older than its {number}th change"
                );
            }
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_was_taken_is_on_the_page_of_who_needs_it() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let config = json!({"type": "infrastructure", "description": "Add an index",
            "resources": [{"type": "database", "id": "prod", "mode": "exclusive"}]});
        let page = format!("/tasks/{}", id(&desk.submitted(config).await));
        let agent = hub.member(&hub.admin_key, "holder").await;
        desk.while_read(&page, async || {
            for round in 0..scaled(CHANGES / 4) {
                let lock = acquired(&hub, &agent, json!({"key": KEY})).await;
                let held = desk.page(&page).await;
                assert!(held.contains("exclusive, held exclusive"), "{round}: {held}");
                expect(ask(&hub, &agent, "release", &json!({"lock_id": lock["lock_id"]})), 200).await;
                assert!(desk.page(&page).await.contains("exclusive, free"), "{round}");
            }
        })
        .await;
    })
    .await;
}

/// Who is asked, by what the queue calls them.
async fn name(hub: &TestHub, login: &Login) -> String {
    let queue = expect(login.on(hub.request("GET", "/api/v1/approvals?reviewer=me")), 200).await.json();
    queue["items"][0]["reviewer_name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_nobody_changed_is_given_again_for_a_second() {
    let hub = TestHub::start(Setup::on(Engine::Sqlite)).await;
    let desk = desk(&hub).await;
    desk.submitted(small("Rotate a log")).await;
    // What is done behind the hub's back is no change that it knows of.
    let behind = Backdoor::open(&hub).await;
    let mut names = ["one", "two"].into_iter().cycle();
    eventually("a moment in which the hub has nothing to write", async || {
        let before = name(&hub, &desk.bob).await;
        let after = names.find(|name| *name != before).unwrap();
        behind
            .change(&format!("UPDATE accounts SET display_name = '{after}' WHERE display_name = '{before}'"))
            .await;
        let given = name(&hub, &desk.bob).await;
        hub.clock.advance(KEPT_FOR);
        assert_eq!(name(&hub, &desk.bob).await, after, "it is older than a second");
        (given == before).then_some(())
    })
    .await;
}

#[tokio::test]
async fn everybody_gets_their_own_as_they_asked_for_it() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let carol = member(&hub, "carol", &["reviewer"]).await;
        let task = id(&desk.submitted(small("Rotate a log")).await);
        for page in ["/".to_owned(), format!("/tasks/{task}")] {
            for _ in 0..3 {
                for (login, own) in [(&desk.bob, ">bob<"), (&carol, ">carol<")] {
                    let plain = || hub.request("GET", &page).header("cookie", format!("cs={}", login.token));
                    let dark = expect(login.on(hub.request("GET", &page)), 200).await.text();
                    let light = expect(plain(), 200).await;
                    assert!(dark.contains("data-theme=\"dark\"") && !light.text().contains("data-theme"));
                    assert_eq!(light.headers.get_all("vary").iter().count(), 1, "{:?}", light.headers);
                    let who = own.trim_matches(['<', '>']);
                    assert!(dark.contains(who) && light.text().contains(who), "{who} in {dark}");
                    let small = expect(plain().header("accept-encoding", "gzip"), 200).await;
                    assert_eq!(small.header("content-encoding"), Some("gzip"), "{:?}", small.headers);
                    assert_eq!(small.headers.get_all("vary").iter().count(), 1, "{:?}", small.headers);
                    assert!(small.body.len() < light.body.len() / 2 && small.body.starts_with(&[0x1f, 0x8b]));
                    let head = login.on(hub.request("HEAD", &page));
                    assert!(expect(head, 200).await.body.is_empty());
                }
            }
        }
    })
    .await;
}
