//! Locks.

use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, holds, lacks, place};
use crate::executions::{config, stage};
use crate::locks::{KEY, acquired, asks, post as ask, stand_in_line};
use crate::support::{all_items, eventually, expect, get, refused};

const OTHER: &str = "resource:database:other";

#[tokio::test]
async fn what_is_held_and_who_waits_is_shown_whole() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        let reader = Reader::of(&hub, &ann).await;
        holds(&reader.page("/locks").await, &["Nothing is held", "Nobody waits"]);
        let lock = acquired(&hub, &ann, json!({"key": KEY, "purpose": "index"})).await;
        let waiting = asks(&hub, &bob, &json!({"key": KEY, "wait_seconds": 20, "purpose": "vacuum"}));
        stand_in_line(&hub, KEY, 1).await;
        let page = reader.page("/locks").await;
        let fence = lock["fencing_token"].as_u64().unwrap();
        assert!(fence > 1 << 32);
        // With separators, and every digit there.
        let digits: String = page.chars().filter(char::is_ascii_digit).collect();
        assert!(digits.contains(&fence.to_string()), "{fence} in {page}");
        holds(
            &page,
            &[KEY, "index", "vacuum", ">ann@default.example<", "bob", "1 place", "<svg class=\"graph\""],
        );
        holds(
            &page,
            &["aria-label=\"In line: 1 place for resource:database:prod. Nobody waits in a circle.\""],
        );
        holds(&page, &[&format!("id=\"row-{}\"", lock["lock_id"].as_str().unwrap())]);
        lacks(&page, &["Release…"]);
        let admins = Reader::of(&hub, &hub.admin_key).await.page("/locks").await;
        holds(&admins, &["Release…"]);
        holds(&reader.page("/locks?key=resource:database:none").await, &["No lock is like this"]);
        for (key, is_there) in [(&ann, true), (&bob, false)] {
            let holder = get(&hub, key, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
            let page = reader.page(&format!("/locks?agent={holder}")).await;
            assert_eq!(page.contains("id=\"row-"), is_there, "{page}");
        }
        expect(ask(&hub, &ann, "release", &json!({"lock_id": lock["lock_id"]})), 200).await;
        assert!(waiting.await.unwrap().status.is_success());
    })
    .await;
}

#[tokio::test]
async fn the_latest_deadlock_is_told_in_words_and_drawn() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        acquired(&hub, &ann, json!({"key": KEY})).await;
        acquired(&hub, &bob, json!({"key": OTHER})).await;
        let waiting = asks(&hub, &ann, &json!({"key": OTHER, "wait_seconds": 20}));
        stand_in_line(&hub, OTHER, 1).await;
        refused(
            ask(&hub, &bob, "acquire", &json!({"key": KEY, "wait_seconds": 20})),
            423,
            "DEADLOCK_DETECTED",
        )
        .await;
        assert!(waiting.await.unwrap().status.is_success());
        let path = "/api/v1/audit?action=lock:deadlock";
        let row = eventually("the row", async || all_items(&hub, &hub.admin_key, path).await.pop()).await;
        let reader = Reader::of(&hub, &hub.admin_key).await;
        let page = reader.page("/locks").await;
        let told = &page[place(&page, "Deadlock broken")..place(&page, "id=\"graph\"")];
        holds(
            told,
            &[
                "<b>ann@default.example</b> waited for",
                "<b>bob@default.example</b> waited for",
                KEY,
                OTHER,
                "<b>bob@default.example</b> was the youngest",
            ],
        );
        holds(told, &[&format!("/audit?row={}", row["id"].as_str().unwrap())]);
        holds(&page, &["edge-bad", "node-bad", "aria-label=\"A circle: "]);
        // How it is now is another picture.
        let now = reader.page("/locks?moment=now").await;
        holds(&now, &["Deadlock broken", "Nobody waits"]);
        lacks(&now, &["A circle: "]);
    })
    .await;
}

/// The person types the whole key; until then nothing ends.
#[tokio::test]
async fn a_lock_is_released_by_force_only_with_the_whole_key() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        let lock = acquired(&hub, &ann, json!({"key": KEY})).await;
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let shown = admin.page(&format!("/locks/release?key={KEY}")).await;
        holds(&shown, &["<b>ann@default.example</b> has held it", "the key is free then", KEY]);
        let is_held = async || {
            let list = get(&hub, &hub.admin_key, "/api/v1/locks").await;
            list["items"].as_array().unwrap().iter().any(|held| held["lock_id"] == lock["lock_id"])
        };
        let form = |typed: &'static str| [("key", KEY), ("typed", typed), ("reason", "it hangs")];
        for typed in ["", "prod", "database:prod", "RESOURCE:DATABASE:PROD"] {
            let answer = admin.fill("/locks/release", &form(typed)).await;
            assert_eq!(answer.status.as_u16(), 422, "{typed} {}", answer.text());
            holds(&answer.text(), &["is not the whole key. Nothing was released.", "value=\"it hangs\""]);
            assert!(is_held().await, "{typed}");
        }
        // Who may not sees why, and does nothing.
        let member = Reader::of(&hub, &bob).await;
        assert_eq!(member.look(&format!("/locks/release?key={KEY}")).await.status.as_u16(), 403);
        let answer = member.fill("/locks/release", &form(KEY)).await;
        assert_eq!(answer.status.as_u16(), 403);
        holds(&answer.text(), &["This is not shown to you", "locks:force_release"]);
        assert!(is_held().await);
        let to = admin.taken("/locks/release", &form(KEY)).await;
        assert!(!is_held().await);
        holds(&admin.page(&to).await, &["Whoever held", KEY]);
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=lock:force_released").await;
        assert_eq!((rows.len(), &rows[0]["reason"]), (1, &json!("it hangs")));
        let nothing = admin.page(&format!("/locks/release?key={KEY}")).await;
        holds(&nothing, &["Nobody holds it"]);
    })
    .await;
}

#[tokio::test]
async fn releasing_what_an_attempt_holds_says_that_the_attempt_ends() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("prod")).await;
        expect(stage.claim(&hub, &task), 200).await;
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let locks = get(&hub, &hub.admin_key, "/api/v1/locks").await;
        let key = locks["items"][0]["key"].as_str().unwrap();
        let path = format!("/tasks/{}", task["id"].as_str().unwrap());
        let shown = admin.page(&format!("/locks/release?key={key}")).await;
        holds(&shown, &["The attempt is ended first", &path]);
        holds(&admin.page("/locks").await, &["the attempt of a task", &path]);
        let form = [("key", key), ("typed", key), ("reason", "stuck")];
        admin.taken("/locks/release", &form).await;
        let after = get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await;
        assert_ne!(after["state"], "APPLYING", "{after}");
        let left = get(&hub, &hub.admin_key, "/api/v1/locks").await;
        assert_eq!(left["items"], json!([]), "all its locks went with it");
    })
    .await;
}
