//! Who is told what, and for how long.

use std::time::Duration;

use serde_json::json;
use server::FeedTimes;
use testkit::on_each_engine;
use testkit::socket::{Said, Socket};

use super::{SILENCE, TYPES, begun, happen, open, polled};
use crate::support::{enrolled, expect, get, id, log_in, mint, on_each_engine_with, person};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_hear_nothing_of_each_other() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let mut ours = open(&hub, &hub.admin_key, &format!("?types={TYPES}")).await;
        let mut others = open(&hub, &theirs, &format!("?types={TYPES}&since=0")).await;
        let start = begun(&mut ours).await;
        begun(&mut others).await;
        happen(&hub, &hub.admin_key, 2).await;
        happen(&hub, &theirs, 1).await;
        let seq = others.event().await["seq"].as_i64().unwrap();
        assert_eq!(polled(&hub, &theirs, 0, 1).await, [seq]);
        assert_eq!(super::numbers(&mut ours, 2).await, polled(&hub, &hub.admin_key, start, 2).await);
        assert!(ours.is_silent(SILENCE).await && others.is_silent(SILENCE).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_instances_own_events_end_with_the_right_to_them() {
    on_each_engine(async |hub| {
        let key = hub.member_with(&hub.admin_key, "ann", &["admin"]).await;
        let me = get(&hub, &key, "/api/v1/me").await;
        let path = format!("/api/v1/accounts/{}", id(&me["account"]));
        let set = |level: &str| hub.admin("PATCH", &path).json(&json!({"access_level": level}));
        expect(set("admin"), 200).await;
        let mut socket = open(&hub, &key, "?types=audit:sealed&since=0").await;
        begun(&mut socket).await;
        while socket.event().await["payload"]["chain"] != "instance" {}
        expect(set("user"), 200).await;
        let last = get(&hub, &key, "/api/v1/events").await["last_seq"].as_i64().unwrap();
        // On record in the instance's chain, and sealed there.
        let body = json!({"name": "Third", "slug": "third"});
        expect(hub.admin("POST", "/api/v1/organizations").json(&body), 201).await;
        mint(&hub, &key, json!({"name": "on record"})).await;
        loop {
            let event = socket.event().await;
            if event["seq"].as_i64().unwrap() > last {
                assert_ne!(event["payload"]["chain"], "instance", "{event}");
                break;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_that_ends_closes_its_sockets_at_once() {
    on_each_engine(async |hub| {
        let ann = person(&hub, &hub.admin_key, "ann", &[]).await;
        let other = mint(&hub, &ann.key, json!({"name": "other"})).await;
        let types = "?types=task:created";
        let mut by_key = open(&hub, &other.key, types).await;
        let mut by_account = open(&hub, &ann.key, types).await;
        let mut unharmed = open(&hub, &hub.admin_key, types).await;
        for socket in [&mut by_key, &mut by_account, &mut unharmed] {
            begun(socket).await;
        }
        let revoke = hub.request("DELETE", &format!("/api/v1/api-keys/{}", other.id)).bearer_auth(&ann.key);
        expect(revoke, 204).await;
        assert_eq!(by_key.next().await, Said::Closed(4401, "UNAUTHENTICATED".into()));
        assert!(by_account.is_silent(SILENCE).await, "the other key is still good");
        let suspend = json!({"status": "suspended"});
        expect(hub.admin("PATCH", &format!("/api/v1/accounts/{}", ann.id)).json(&suspend), 200).await;
        assert_eq!(by_account.next().await, Said::Closed(4401, "UNAUTHENTICATED".into()));
        assert!(unharmed.is_silent(SILENCE).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_runs_out_closes_its_socket() {
    let quick = FeedTimes { alive_every: Duration::from_millis(100), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = quick,
        async |hub| {
            let login = log_in(&hub, &enrolled(&hub, "ann").await).await;
            let (cookie, url) = (format!("cs={}", login.token), hub.url());
            let headers = [("cookie", cookie.as_str()), ("origin", url.as_str())];
            let mut socket = Socket::open(&url, "/api/v1/ws?types=task:*", &headers).await.unwrap();
            begun(&mut socket).await;
            hub.clock.advance(Duration::from_secs(25 * 3600));
            loop {
                match socket.next().await {
                    Said::Json(said) => assert_eq!(said["type"], "heartbeat"),
                    other => break assert_eq!(other, Said::Closed(4401, "UNAUTHENTICATED".into())),
                }
            }
        },
    )
    .await;
}

#[tokio::test]
async fn a_cookie_needs_an_origin_of_ours() {
    on_each_engine(async |hub| {
        let login = log_in(&hub, &enrolled(&hub, "ann").await).await;
        let (cookie, bearer) = (format!("cs={}", login.token), format!("Bearer {}", hub.admin_key));
        let (ours, foreign) = (hub.url(), "https://evil.example".to_owned());
        let cookie = ("cookie", cookie.as_str());
        let bearer = ("authorization", bearer.as_str());
        let from = |origin| ("origin", origin);
        let near = format!("{ours}.evil.example");
        let cases: [(&[(&str, &str)], u16); 8] = [
            (&[cookie, from(ours.as_str())], 101),
            (&[bearer], 101),
            (&[bearer, from(ours.as_str())], 101),
            (&[cookie], 403),
            (&[cookie, from(foreign.as_str())], 403),
            (&[cookie, from("null")], 403),
            (&[bearer, from(near.as_str())], 403),
            (&[from(ours.as_str())], 401),
        ];
        for (headers, expected) in cases {
            match Socket::open(&hub.url(), "/api/v1/ws", headers).await {
                Ok(mut socket) => {
                    assert_eq!(expected, 101);
                    begun(&mut socket).await;
                }
                Err(refused) => assert_eq!(refused.status, expected, "{refused:?}"),
            }
        }
        // Never in the query, where logs and histories keep it.
        for name in ["token", "key", "access_token", "authorization"] {
            let path = format!("/api/v1/ws?{name}={}", hub.admin_key);
            let refused = Socket::open(&hub.url(), &path, &[]).await.err().unwrap();
            assert_eq!(refused.status, 401);
            let refused = Socket::open(&hub.url(), &path, &[bearer]).await.err().unwrap();
            assert_eq!((refused.status, &refused.problem["code"]), (422, &json!("VALIDATION_FAILED")));
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_may_not_read_events_opens_nothing() {
    on_each_engine(async |hub| {
        let narrow = mint(&hub, &hub.admin_key, json!({"name": "narrow", "scopes": ["tasks:read"]})).await;
        let bearer = format!("Bearer {}", narrow.key);
        let refused =
            Socket::open(&hub.url(), "/api/v1/ws", &[("authorization", &bearer)]).await.err().unwrap();
        assert_eq!((refused.status, &refused.problem["code"]), (403, &json!("FORBIDDEN")));
    })
    .await;
}
