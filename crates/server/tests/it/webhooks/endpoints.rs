//! Endpoints: what they may be, and who sees what of them.

use serde_json::{Value, json};
use testkit::on_each_engine;
use testkit::receiver::Receiver;

use super::hook;
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, get, id, pointers, refused, send};

#[tokio::test]
async fn addresses_inside_are_refused_however_they_are_written() {
    on_each_engine(async |hub| {
        let own = hub.url();
        let create = |url: &str| hub.admin("POST", "/api/v1/webhooks").json(&json!({"url": url}));
        for url in [
            "http://127.0.0.2/",
            "http://127.2/",
            "http://2130706434/",
            "http://0x7f.0.0.2/",
            "http://10.0.0.1/",
            "http://192.168.0.1:8080/x",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[fd00::1]/",
            "http://[::]/",
            "https://224.0.0.1/",
            &own,
        ] {
            let problem = refused(create(url), 422, "ADDRESS_NOT_ALLOWED").await;
            assert_eq!(pointers(&problem), ["/url"], "{url}");
        }
        for url in [
            "",
            "hooks.example",
            "ftp://hooks.example/",
            "http://",
            "http://user@hooks.example/",
            "file:///etc/passwd",
            "http://user:pass@hooks.example/",
            "https://hooks.example/#x",
            &format!("https://h.example/{}", "x".repeat(2048)),
        ] {
            let problem = refused(create(url), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), ["/url"], "{url}");
        }
        // A name is judged when it is called.
        expect(create("https://localhost/in"), 201).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_is_made() {
    on_each_engine(async |hub| {
        let url = "https://hooks.example/in";
        for (body, pointer) in [
            (json!({"url": url, "types": ["task:*", "nonsense"]}), "/types/1"),
            (json!({"url": url, "types": ["task:*,audit:*"]}), "/types/0"),
            (json!({"url": url, "types": null}), "/types"),
            (json!({"url": url, "secret": "short"}), "/secret"),
            (json!({"url": url, "secret": "whsec_"}), "/secret"),
            (json!({"url": url, "format": "teams"}), "/format"),
            (json!({"url": url, "active": "yes"}), "/active"),
            (json!({"url": url, "color": "red"}), "/color"),
            (json!({}), ""),
        ] {
            let problem =
                refused(hub.admin("POST", "/api/v1/webhooks").json(&body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{body}");
        }
        assert_eq!(all_items(&hub, &hub.admin_key, "/api/v1/webhooks").await.len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_shown_once_and_kept_encrypted() {
    on_each_engine(async |hub| {
        let chosen = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = json!({"url": "https://hooks.example/in/T0/secret-path", "secret": chosen});
        let request = || hub.admin("POST", "/api/v1/webhooks").header("idempotency-key", "once").json(&body);
        let first = expect(request(), 201).await;
        assert_eq!((&first.json()["secret"], &first.json()["replayed"]), (&json!(chosen), &json!(false)));
        let again = expect(request(), 201).await.json();
        assert_eq!(
            (&again["secret"], &again["replayed"], id(&again)),
            (&Value::Null, &json!(true), id(&first.json()))
        );
        let webhook = first.json();
        let path = format!("/api/v1/webhooks/{}", id(&webhook));
        assert!(!get(&hub, &hub.admin_key, &path).await.to_string().contains("whsec_"));
        // Neither the database nor what members may read tells it, nor where it leads.
        let backdoor = Backdoor::open(&hub).await;
        let kept =
            backdoor.read_bytes("secret", &format!("FROM webhooks WHERE id = '{}'", id(&webhook))).await;
        let plain = chosen.strip_prefix("whsec_").unwrap();
        assert!(!String::from_utf8_lossy(&kept).contains(plain));
        let member = hub.member(&hub.admin_key, "ann").await;
        for path in ["/api/v1/events?limit=1000", "/api/v1/audit?limit=200"] {
            let text = get(&hub, &member, path).await.to_string();
            assert!(!text.contains("secret-path") && !text.contains(plain), "{path}");
        }
        assert!(get(&hub, &member, "/api/v1/audit?limit=200").await.to_string().contains("webhook:created"));
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_is_changed_by_version_and_deleted_whole() {
    on_each_engine(async |hub| {
        let receiver = Receiver::start("127.0.0.1").await;
        let webhook = hook(&hub, &receiver.url(), &["task:*"]).await;
        let path = format!("/api/v1/webhooks/{}", id(&webhook));
        let read = expect(hub.admin("GET", &path), 200).await;
        let tag = read.header("etag").unwrap().to_owned();
        let change =
            |tag: &str| hub.admin("PATCH", &path).header("if-match", tag).json(&json!({"types": []}));
        assert_eq!(expect(change(&tag), 200).await.json()["types"], json!([]));
        refused(change(&tag), 412, "PRECONDITION_FAILED").await;
        expect(hub.admin("POST", &format!("{path}/test")), 202).await;
        expect(hub.admin("DELETE", &path), 204).await;
        for (method, path) in
            [("GET", path.clone()), ("DELETE", path.clone()), ("GET", format!("{path}/deliveries"))]
        {
            assert_eq!(send(hub.admin(method, &path)).await.status.as_u16(), 404, "{method} {path}");
        }
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!(backdoor.count("webhook_deliveries").await, 0);
        assert_eq!(backdoor.count("jobs WHERE kind = 'webhooks:deliver'").await, 0);
    })
    .await;
}
