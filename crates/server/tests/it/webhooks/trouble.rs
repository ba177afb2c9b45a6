//! Receivers that fail, hang, redirect, trickle, and move to where nobody may be sent.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hub::outgoing::{Lookup, Names};
use serde_json::{Value, json};
use testkit::on_each_engine;
use testkit::receiver::{Manner, Receiver};

use super::{TYPES, deliveries, delivery, happen, hook, received};
use crate::support::{eventually, expect, get, id, on_each_engine_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_is_sent_again_with_the_same_id_and_parked_after_a_day() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        receiver.set(Manner::Says(500, "out of order \u{0} ".repeat(1000)));
        let webhook = hook(&hub, &receiver.url(), &[TYPES, "webhook:*"]).await;
        happen(&hub, &hub.admin_key).await;
        // It also hears of itself.
        let first = eventually("the event", async || {
            receiver.received().into_iter().find(|message| message.json()["type"] == TYPES)
        })
        .await;
        let failed =
            |attempts: i64| move |delivery: &Value| delivery["attempts"].as_i64().unwrap() >= attempts;
        let last = |hub| deliveries_of_event(hub, &webhook);
        // An hour at a time: the next attempt is never further away than that.
        let mut attempts = 1;
        let parked = loop {
            let seen = eventually("an attempt", async || {
                last(&hub)
                    .await
                    .filter(|delivery| failed(attempts)(delivery) || delivery["state"] == "parked")
            })
            .await;
            if seen["state"] == "parked" {
                break seen;
            }
            attempts = seen["attempts"].as_i64().unwrap() + 1;
            hub.clock.advance(Duration::from_secs(4500));
        };
        assert!(parked["attempts"].as_i64().unwrap() > 10, "{parked}");
        assert_eq!(parked["response"]["status"], 500);
        assert!(parked["response"]["body"].as_str().unwrap().len() <= 3 * 4096);
        assert_eq!(parked["next_attempt_at"], Value::Null);
        let sent = receiver.received();
        let same: Vec<_> = sent.iter().filter(|message| message.json()["type"] == TYPES).collect();
        assert!(same.iter().all(|message| message.header("webhook-id") == first.header("webhook-id")));
        assert!(same.iter().all(|message| message.body == first.body));
        // Somebody is told, the broken endpoint itself is not (see the end), and it can be sent again.
        // An event is in the log once it has its number, which it gets after the delivery is parked.
        let told = eventually("that somebody is told", async || {
            let told = get(&hub, &hub.admin_key, "/api/v1/events?types=webhook:parked").await;
            told["items"].get(0).cloned()
        })
        .await;
        assert_eq!(told["subject"]["id"], json!(id(&webhook)));
        receiver.set(Manner::Says(204, String::new()));
        let path = format!("/api/v1/webhooks/{}/deliveries/{}/redeliver", id(&webhook), id(&parked));
        assert_eq!(expect(hub.admin("POST", &path), 202).await.json()["state"], "pending");
        eventually("that it is delivered", async || {
            last(&hub).await.filter(|again| again["state"] == "delivered")
        })
        .await;
        let newest = receiver.received();
        let again = newest.iter().rfind(|message| message.json()["type"] == TYPES).unwrap();
        assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
        assert!(newest.iter().all(|message| message.json()["type"] != "webhook:parked"));
    })
    .await;
}

/// The one that tells of the agent.
async fn deliveries_of_event(hub: &testkit::TestHub, webhook: &Value) -> Option<Value> {
    deliveries(hub, webhook).await.into_iter().find(|delivery| delivery["event_type"] == TYPES)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_hangs_or_trickles_is_left_in_time() {
    on_each_engine_with(
        |setup| setup.called_within = Duration::from_millis(500),
        async |hub| {
            for manner in [Manner::Hangs, Manner::Trickles] {
                let receiver = Receiver::start("127.0.0.1").await;
                receiver.set(manner.clone());
                let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
                happen(&hub, &hub.admin_key).await;
                let failed = delivery(&hub, &webhook, |delivery| delivery["attempts"] != 0).await;
                assert_eq!(
                    (&failed["state"], &failed["response"]),
                    (&json!("pending"), &Value::Null),
                    "{manner:?}"
                );
                assert!(failed["error"].as_str().unwrap().contains("no answer within"), "{failed}");
                assert!(failed["took_ms"].as_i64().unwrap() < 5000, "{failed}");
                expect(hub.admin("DELETE", &format!("/api/v1/webhooks/{}", id(&webhook))), 204).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_is_an_answer_however_long_its_body_takes() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        receiver.set(Manner::TricklesBody);
        let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
        happen(&hub, &hub.admin_key).await;
        let done = delivery(&hub, &webhook, |delivery| delivery["state"] == "delivered").await;
        assert!(done["took_ms"].as_i64().unwrap() < 10_000, "{done}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_are_not_followed() {
    on_each_engine(async |hub| {
        let (receiver, elsewhere) = (Receiver::start("127.0.0.1").await, Receiver::start("127.0.0.1").await);
        receiver.set(Manner::Sends(elsewhere.url()));
        let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
        happen(&hub, &hub.admin_key).await;
        let failed = delivery(&hub, &webhook, |delivery| delivery["attempts"] != 0).await;
        assert_eq!((&failed["state"], &failed["response"]["status"]), (&json!("pending"), &json!(307)));
        assert!(failed["error"].as_str().unwrap().contains("redirect"), "{failed}");
        assert_eq!(elsewhere.connections(), 0);
    })
    .await;
}

/// Names that lead where a test says.
#[derive(Default)]
struct Map(Mutex<HashMap<String, Vec<IpAddr>>>);

impl Map {
    fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.0.lock().unwrap().insert(name.to_owned(), addresses);
    }
}

impl Names for Map {
    fn lookup(&self, name: &str) -> Lookup {
        let found = self.0.lock().unwrap().get(name).cloned();
        Box::pin(async move { found.ok_or_else(|| std::io::Error::other("no such name")) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_moves_to_a_private_address_is_not_called_there() {
    let names = Arc::new(Map::default());
    on_each_engine_with(
        |setup| setup.names = Arc::clone(&names) as Arc<dyn Names>,
        async |hub| {
            let receiver = Receiver::start("127.0.0.1").await;
            let url = format!("http://hooks.example:{}/in", receiver.port);
            names.set("hooks.example", &["127.0.0.1"]);
            let webhook = hook(&hub, &url, &[TYPES]).await;
            happen(&hub, &hub.admin_key).await;
            received(&receiver, 1).await;
            let calls = receiver.connections();
            // The name moves: wholly, or with one of its addresses, or to the hub itself.
            let own = hub.url().rsplit_once(':').unwrap().1.to_owned();
            let moves: [(&[&str], &str, &str); 4] = [
                (&["127.0.0.2"], &url, "127.0.0.2 is not a public address"),
                (&["127.0.0.1", "169.254.169.254"], &url, "169.254.169.254 is not a public address"),
                (&["::ffff:127.0.0.1"], &url, "is not a public address"),
                (&["127.0.0.1"], &format!("http://hooks.example:{own}/in"), "127.0.0.1 is the hub itself"),
            ];
            let taken = delivery(&hub, &webhook, |delivery| delivery["state"] == "delivered").await;
            let mut seen = vec![id(&taken)];
            for (addresses, url, why) in moves {
                names.set("hooks.example", addresses);
                let path = format!("/api/v1/webhooks/{}", id(&webhook));
                expect(hub.admin("PATCH", &path).json(&json!({"url": url})), 200).await;
                happen(&hub, &hub.admin_key).await;
                let is_new = |delivery: &Value| delivery["attempts"] != 0 && !seen.contains(&id(delivery));
                let failed = delivery(&hub, &webhook, is_new).await;
                seen.push(id(&failed));
                assert!(failed["error"].as_str().unwrap().contains(why), "{failed}");
                assert_eq!(
                    (&failed["response"], receiver.connections()),
                    (&Value::Null, calls),
                    "{addresses:?}"
                );
            }
        },
    )
    .await;
}
