//! Webhooks: what is sent, to whom, how often, and where to never.

mod endpoints;
mod trouble;

use domain::webhooks::{WebhookSecret, signed_content};
use serde_json::{Value, json};
use testkit::receiver::{Manner, Received, Receiver};
use testkit::{TestHub, on_each_engine};

use crate::support::{eventually, expect, get, id, make};

const TYPES: &str = "agent:created";

/// Makes a webhook of the admin's organization; what the answer shows.
async fn hook(hub: &TestHub, url: &str, types: &[&str]) -> Value {
    make(hub, &hub.admin_key, "/api/v1/webhooks", json!({"url": url, "types": types})).await
}

/// Makes an event of [`TYPES`].
async fn happen(hub: &TestHub, key: &str) {
    make(hub, key, "/api/v1/agents", json!({"name": format!("agent {}", hub.hub.ids.fresh())})).await;
}

/// What a receiver has, when it has so many.
async fn received(receiver: &Receiver, count: usize) -> Vec<Received> {
    eventually(&format!("{count} messages"), async || {
        let received = receiver.received();
        (received.len() >= count).then_some(received)
    })
    .await
}

async fn deliveries(hub: &TestHub, webhook: &Value) -> Vec<Value> {
    let page = get(hub, &hub.admin_key, &format!("/api/v1/webhooks/{}/deliveries", id(webhook))).await;
    page["items"].as_array().unwrap().clone()
}

/// The newest delivery, when it is as wanted.
async fn delivery(hub: &TestHub, webhook: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    eventually("a delivery", async || deliveries(hub, webhook).await.into_iter().next().filter(&wanted)).await
}

/// Whether a message was signed with a secret, as its receiver finds out.
fn is_signed(message: &Received, secret: &str) -> bool {
    let secret = WebhookSecret::parse(secret).unwrap();
    let seconds = message.header("webhook-timestamp").parse().unwrap();
    let content = signed_content(message.header("webhook-id"), seconds, &message.body);
    let expected = format!("v1,{}", hmac(secret.key(), &content));
    message.header("webhook-signature").split(' ').any(|signature| signature == expected)
}

/// HMAC-SHA256 by its definition (RFC 2104), in base64: not by what the hub signs with.
fn hmac(key: &[u8], content: &[u8]) -> String {
    use base64::Engine;
    use sha2::{Digest, Sha256};
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(content).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    base64::engine::general_purpose::STANDARD.encode(outer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_told_what_it_wants_signed_and_once() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        happen(&hub, &hub.admin_key).await;
        let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
        let theirs = hub.tenant("other").await;
        happen(&hub, &theirs).await;
        happen(&hub, &hub.admin_key).await;
        happen(&hub, &hub.admin_key).await;
        let messages = received(&receiver, 2).await;
        let log = get(&hub, &hub.admin_key, &format!("/api/v1/events?types={TYPES}")).await;
        let events = log["items"].as_array().unwrap();
        for (message, event) in messages.iter().zip(&events[1..]) {
            let body = message.json();
            assert_eq!(
                (&body["type"], &body["data"]),
                (&json!(TYPES), event),
                "the event as everybody gets it"
            );
            assert_eq!(body["timestamp"], event["occurred_at"]);
            assert_eq!(message.header("content-type"), "application/json");
            assert!(is_signed(message, webhook["secret"].as_str().unwrap()));
        }
        let done = delivery(&hub, &webhook, |delivery| delivery["state"] == "delivered").await;
        assert_eq!(done["response"], json!({"status": 200, "body": "thanks"}));
        assert_eq!(done["request"]["headers"]["webhook-id"], done["id"]);
        assert_eq!((&done["attempts"], &done["error"]), (&json!(1), &Value::Null));
        assert_eq!(deliveries(&hub, &webhook).await.len(), 2);
        assert_eq!(receiver.received().len(), 2, "what came before it, and what is others', is not for it");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_and_a_channel() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        let body = json!({"url": receiver.url(), "types": ["agent:created"], "format": "slack"});
        let webhook = make(&hub, &hub.admin_key, "/api/v1/webhooks", body).await;
        let path = format!("/api/v1/webhooks/{}/test", id(&webhook));
        let sent = expect(hub.admin("POST", &path), 202).await.json();
        assert_eq!((&sent["event_type"], &sent["event_seq"]), (&json!("webhook:test"), &Value::Null));
        let messages = received(&receiver, 1).await;
        let expected = format!("*webhook:test* webhook `{}`", id(&webhook));
        assert_eq!(messages[0].json(), json!({"text": expected}));
        assert_eq!(messages[0].header("webhook-id"), id(&sent));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_secret_and_the_old_one_count_together_for_a_while() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
        let path = format!("/api/v1/webhooks/{}/rotate-secret", id(&webhook));
        let rotated =
            expect(hub.admin("POST", &path).json(&json!({"overlap_seconds": 3600})), 201).await.json();
        let (old, new) = (webhook["secret"].as_str().unwrap(), rotated["secret"].as_str().unwrap());
        assert_ne!(old, new);
        happen(&hub, &hub.admin_key).await;
        let message = &received(&receiver, 1).await[0];
        assert!(is_signed(message, old) && is_signed(message, new));
        hub.clock.advance(std::time::Duration::from_secs(3601));
        happen(&hub, &hub.admin_key).await;
        let message = &received(&receiver, 2).await[1];
        assert!(!is_signed(message, old) && is_signed(message, new));
        // Whoever reads it again does not see it.
        let again = get(&hub, &hub.admin_key, &format!("/api/v1/webhooks/{}", id(&webhook))).await;
        assert!(!again.to_string().contains("whsec_"), "{again}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_while_it_is_off_is_not_sent_later() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        let webhook = hook(&hub, &receiver.url(), &[TYPES]).await;
        let set = |active: bool| {
            let path = format!("/api/v1/webhooks/{}", id(&webhook));
            expect(hub.admin("PATCH", &path).json(&json!({"active": active})), 200)
        };
        set(false).await;
        happen(&hub, &hub.admin_key).await;
        let backdoor = crate::backdoor::Backdoor::open(&hub).await;
        eventually("the numbers of all events", async || {
            (backdoor.count("events WHERE seq IS NULL").await == 0).then_some(())
        })
        .await;
        set(true).await;
        happen(&hub, &hub.admin_key).await;
        let messages = received(&receiver, 1).await;
        let newest = get(&hub, &hub.admin_key, &format!("/api/v1/events?types={TYPES}")).await;
        let newest = newest["items"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(messages[0].json()["data"], newest);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_endpoint_delays_no_other() {
    on_each_engine(async |hub| {
        let (broken, sound) = (Receiver::start("127.0.0.1").await, Receiver::start("127.0.0.1").await);
        broken.set(Manner::Hangs);
        for _ in 0..5 {
            hook(&hub, &broken.url(), &[TYPES]).await;
        }
        hook(&hub, &sound.url(), &[TYPES]).await;
        let began = std::time::Instant::now();
        for _ in 0..5 {
            happen(&hub, &hub.admin_key).await;
        }
        received(&sound, 5).await;
        // Those that hang take 30 s; standing jobs and the sound one do not wait for that.
        assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
        assert_eq!(received(&broken, 5).await.len(), 5, "one at a time for each");
    })
    .await;
}
