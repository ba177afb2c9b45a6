//! The rules of webhooks.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

#[test]
fn only_addresses_of_the_open_internet_are_public() {
    for public in [
        "1.1.1.1",
        "93.184.216.34",
        "100.63.0.1",
        "100.128.0.1",
        "172.32.0.1",
        "198.20.0.1",
        "2606:4700::1111",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
    for other in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.1.2.3",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:1.1.1.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "4000::1",
    ] {
        assert!(!is_public(other.parse::<IpAddr>().unwrap()), "{other}");
    }
}

#[test]
fn a_secret_is_what_the_specification_says() {
    // The example of the specification.
    let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    assert_eq!(secret.expose(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    assert_eq!(secret.key().len(), 24);
    assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
    assert_eq!(WebhookSecret::parse(&WebhookSecret::from_bytes([7; 32]).expose()).unwrap().key(), [7; 32]);
    let short = format!("whsec_{}", "AAAA".repeat(7));
    let long = format!("whsec_{}", "AAAA".repeat(22));
    for wrong in [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        &short,
        &long,
    ] {
        assert!(WebhookSecret::parse(wrong).is_err(), "{wrong}");
    }
    assert_eq!(signed_content("msg_1", 17, b"{}"), b"msg_1.17.{}");
}

fn failed() -> Attempt {
    Attempt { status: Some(500), ..Attempt::default() }
}

fn webhook() -> Webhook {
    Webhook {
        id: Id::new(uuid::Uuid::from_u128(1)),
        org_id: Id::new(uuid::Uuid::from_u128(2)),
        url: "https://hooks.example/in".into(),
        types: vec!["task:*".into(), "audit:sealed".into()],
        format: Format::Standard,
        active: true,
        secret: vec![1],
        previous_secret: None,
        previous_until: None,
        after_seq: 3,
        version: 1,
        created_by: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn delivery() -> Delivery {
    Delivery::due(
        Id::new(uuid::Uuid::from_u128(3)),
        &webhook(),
        ("task:created", Some(9)),
        b"{}".to_vec(),
        NOW,
    )
}

#[test]
fn what_fails_is_tried_for_a_day_and_then_parked() {
    let (mut delivery, mut now, mut waits) = (delivery(), NOW, Vec::new());
    while let Some(next) = delivery.next_attempt_at {
        waits.push(next.since(now).as_secs());
        now = next;
        delivery = delivery.after(&failed(), now, now, 0.5);
    }
    assert_eq!(waits[..7], [0, 1, 5, 30, 120, 600, 3600]);
    assert!(waits[7..].iter().all(|wait| *wait == 3600), "{waits:?}");
    assert_eq!(delivery.state, DeliveryState::Parked);
    let tried_for = now.since(NOW);
    assert!(
        tried_for > Duration::from_secs(23 * 3600) && tried_for <= Duration::from_secs(24 * 3600),
        "{tried_for:?}"
    );
    // Somebody has it sent again: the same message, and another day.
    let again = delivery.again(now);
    assert_eq!((again.id, &again.body, again.attempts), (delivery.id, &delivery.body, 0));
    let taken = again.after(&Attempt { status: Some(204), ..Attempt::default() }, now, now, 0.5);
    assert_eq!((taken.state, taken.next_attempt_at, taken.attempts), (DeliveryState::Delivered, None, 1));
}

#[test]
fn only_a_2xx_is_an_answer() {
    for (status, taken) in [
        (200, true),
        (204, true),
        (299, true),
        (199, false),
        (300, false),
        (302, false),
        (410, false),
        (500, false),
    ] {
        assert_eq!(Attempt { status: Some(status), ..Attempt::default() }.is_taken(), taken, "{status}");
    }
    assert!(!Attempt::default().is_taken());
    let late = Attempt { status: Some(200), error: Some("too late".into()), ..Attempt::default() };
    assert!(!late.is_taken());
}

#[test]
fn an_endpoint_changes_as_asked_and_begins_anew_when_switched_on() {
    let off = webhook()
        .changed(&WebhookChange { active: Some(false), ..WebhookChange::default() }, 50, NOW)
        .unwrap();
    assert_eq!((off.active, off.after_seq, off.version), (false, 3, 2));
    let on = off.changed(&WebhookChange { active: Some(true), ..WebhookChange::default() }, 50, NOW).unwrap();
    assert_eq!((on.active, on.after_seq, on.version), (true, 50, 3));
    assert_eq!(on.changed(&WebhookChange::default(), 99, NOW).unwrap(), on);
    for wrong in ["nonsense", "task:*,audit:*", "", "task:cre*"] {
        let change =
            WebhookChange { types: Some(vec!["task:*".into(), wrong.into()]), ..WebhookChange::default() };
        assert_eq!(on.changed(&change, 50, NOW).unwrap_err()[0].pointer, "/types/1", "{wrong}");
    }
    assert!(
        webhook().wants("task:created")
            && webhook().wants("audit:sealed")
            && !webhook().wants("lock:expired")
    );
    assert!(Webhook { types: vec![], ..webhook() }.wants("lock:expired"));
    assert!(!webhook().facts().to_string().contains("secret"));
}

#[test]
fn bodies_are_what_receivers_expect() {
    let mut event = test_event(Id::new(uuid::Uuid::from_u128(4)), &webhook(), NOW);
    let body: Value = serde_json::from_slice(&standard("webhook:test", NOW, &json!({"seq": 1}))).unwrap();
    assert_eq!(body, json!({"type": "webhook:test", "timestamp": NOW.to_string(), "data": {"seq": 1}}));
    event.event_type = "task:state_changed".into();
    event.subject_type = "task".into();
    event.subject_id = "<!channel> & `x`".into();
    event.payload = json!({"from": "REVIEWING", "to": "APPROVED"});
    let body: Value = serde_json::from_slice(&slack(&event)).unwrap();
    assert_eq!(
        body,
        json!({"text": "*task:state_changed* task `&lt;!channel&gt; &amp; 'x'`: REVIEWING → APPROVED"})
    );
}

proptest! {
    #[test]
    fn no_attempt_is_beyond_the_day(attempts in any::<i64>(), waited in 0_u64..100_000, jitter in any::<f64>()) {
        let now = NOW.plus(Duration::from_secs(waited));
        if let Some(next) = next_attempt(attempts, NOW, now, jitter) {
            prop_assert!(next > now && next <= NOW.plus(TRIED_FOR));
            prop_assert!(next.since(now) <= Duration::from_secs(4320));
        }
    }
}
