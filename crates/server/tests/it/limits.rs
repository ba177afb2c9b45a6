//! How often one may ask.

use std::time::Duration;

use serde_json::json;
use testkit::TestHub;

use crate::support::{Answer, expect, mint, on_each_engine_with, send};

const MINUTE: Duration = Duration::from_secs(61);

fn numbers(answer: &Answer) -> [u32; 3] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| {
        answer.header(name).unwrap_or_else(|| panic!("no {name}: {}", answer.text())).parse().unwrap()
    })
}

#[tokio::test]
async fn an_account_has_so_many_requests_a_minute() {
    on_each_engine_with(
        |setup| setup.rate_limit = 10,
        async |hub| {
            let second = mint(&hub, &hub.admin_key, json!({"name": "second"})).await;
            let ask = |key: &str| hub.request("GET", "/api/v1/me").bearer_auth(key);
            // A minute on, what was asked to get here no longer counts.
            hub.clock.advance(MINUTE);
            for used in 1..=10 {
                // All keys of an account share its limit; so do good and bad requests.
                let answer = match used % 3 {
                    0 => send(hub.admin("GET", "/api/v1/api-keys?limit=0")).await,
                    1 => send(ask(&second.key)).await,
                    _ => send(ask(&hub.admin_key)).await,
                };
                assert_ne!(answer.status.as_u16(), 429);
                let [limit, remaining, reset] = numbers(&answer);
                assert_eq!((limit, remaining), (10, 10 - used), "{}", answer.text());
                assert!((1..=61).contains(&reset), "{reset}");
            }
            for key in [&hub.admin_key, &second.key] {
                let answer = send(ask(key)).await;
                answer.problem(429, "RATE_LIMITED");
                let [limit, remaining, reset] = numbers(&answer);
                assert_eq!((limit, remaining), (10, 0));
                assert_eq!(answer.header("retry-after"), Some(reset.to_string().as_str()));
            }
            // Another account has its own, and so has a stranger.
            expect(ask(&hub.tenant("other").await), 200).await;
            expect(hub.request("GET", "/healthz"), 200).await;
            hub.clock.advance(MINUTE);
            expect(ask(&hub.admin_key), 200).await;
        },
    )
    .await;
}

async fn flood(hub: &TestHub, requests: u32, key: &str) -> u32 {
    let mut refused = 0;
    for _ in 0..requests {
        let answer = send(hub.request("GET", "/api/v1/me").bearer_auth(key)).await;
        match answer.status.as_u16() {
            401 => answer.problem(401, "UNAUTHENTICATED"),
            _ => {
                refused += 1;
                answer.problem(429, "RATE_LIMITED")
            }
        };
    }
    refused
}

#[tokio::test]
async fn guesses_are_cut_off_by_address() {
    on_each_engine_with(
        |setup| setup.anonymous_rate_limit = 300,
        async |hub| {
            let guess = "csk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
            let fresh = mint(&hub, &hub.admin_key, json!({"name": "not used yet"})).await;
            assert_eq!(flood(&hub, 300, guess).await, 0);
            assert_eq!(flood(&hub, 20, guess).await, 20);
            assert_eq!(flood(&hub, 20, "csk_nope").await, 20);
            let answer = send(hub.request("GET", "/healthz")).await;
            answer.problem(429, "RATE_LIMITED");
            assert_eq!(numbers(&answer)[..2], [300, 0]);
            // Who has a key is not locked out with such neighbours, also when the cache no longer vouches for it.
            let other = mint(&hub, &hub.admin_key, json!({"name": "bystander"})).await;
            expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", other.id)), 204).await;
            expect(hub.admin("GET", "/api/v1/me"), 200).await;
            // One that was never seen looks like one more guess.
            send(hub.request("GET", "/api/v1/me").bearer_auth(&fresh.key)).await.problem(429, "RATE_LIMITED");
            hub.clock.advance(MINUTE);
            expect(hub.request("GET", "/api/v1/me").bearer_auth(&fresh.key), 200).await;
            expect(hub.admin("GET", "/api/v1/me"), 200).await;
            expect(hub.request("GET", "/healthz"), 200).await;
        },
    )
    .await;
}

/// Whoever has a key is not counted as a stranger, and no route lets strangers ask without end.
#[tokio::test]
async fn the_limit_before_login_is_for_strangers() {
    on_each_engine_with(
        |setup| setup.anonymous_rate_limit = 5,
        async |hub| {
            for _ in 0..20 {
                expect(hub.admin("GET", "/api/v1/me"), 200).await;
            }
            for path in ["/healthz", "/readyz", "/metrics", "/errors/NOT_FOUND", "/api/v1/me"] {
                hub.clock.advance(MINUTE);
                let ask = || hub.request("GET", path).header("x-forwarded-for", "203.0.113.9");
                for _ in 0..5 {
                    assert_ne!(crate::support::send_any(ask()).await.status.as_u16(), 429, "{path}");
                }
                send(ask()).await.problem(429, "RATE_LIMITED");
            }
        },
    )
    .await;
}
