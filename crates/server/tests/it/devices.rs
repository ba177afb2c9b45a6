//! A program asks for a login, a person answers in a browser, the program comes for it.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{Answer, Login, all_items, enrolled, expect, log_in, mint, refused, send};

const INTERVAL: Duration = Duration::from_secs(5);

async fn ask(hub: &TestHub) -> Value {
    let request = hub.request("POST", "/api/v1/auth/device").header("user-agent", "<b>a program</b>");
    expect(request, 200).await.json()
}

fn come(hub: &TestHub, device: &Value) -> RequestBuilder {
    let body = json!({"device_code": device["device_code"]});
    hub.request("POST", "/api/v1/auth/device/token").json(&body)
}

async fn answer(hub: &TestHub, by: &Login, code: &str, answer: &str) -> Answer {
    send(by.on(hub.request("POST", "/login/device")).form(&[("code", code), ("answer", answer)])).await
}

fn code(device: &Value) -> &str {
    device["user_code"].as_str().unwrap()
}

#[tokio::test]
async fn what_a_person_allows_is_given_once() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let device = ask(&hub).await;
        assert_eq!((&device["interval"], &device["expires_in"]), (&json!(5), &json!(600)));
        let url = format!("{}/login/device?code={}", hub.url(), code(&device));
        assert_eq!(device["url"], json!(url));
        refused(come(&hub, &device), 409, "AUTHORIZATION_PENDING").await;
        // Too soon: told to wait, and no worse off for it.
        let slow = send(come(&hub, &device)).await;
        slow.problem(429, "RATE_LIMITED");
        assert_eq!(slow.header("retry-after"), Some("5"));
        let path = format!("/login/device?code={}", code(&device).to_lowercase());
        let page = expect(bob.on(hub.request("GET", &path)), 200).await.text();
        assert!(page.contains(code(&device)) && page.contains("127.0.0.1"), "{page}");
        assert!(page.contains("&#60;b&#62;a program") && !page.contains("<b>a program"), "{page}");
        let said = answer(&hub, &bob, code(&device), "allow").await;
        assert_eq!((said.status.as_u16(), said.header("location")), (303, Some("/login/device?done=allow")));
        let done = expect(bob.on(hub.request("GET", "/login/device?done=allow")), 200).await;
        assert!(done.text().contains("Allowed"));
        hub.clock.advance(INTERVAL);
        let granted = expect(come(&hub, &device), 200).await;
        assert_eq!(granted.header("set-cookie"), None);
        let granted = granted.json();
        assert_eq!(granted["login_session"]["method"], "device");
        assert_eq!(granted["account"], bob.body["account"]);
        let token = granted["token"].as_str().unwrap();
        let me = expect(hub.request("GET", "/api/v1/me").bearer_auth(token), 200).await.json();
        assert_eq!(me["login_session_id"], granted["login_session"]["id"]);
        hub.clock.advance(INTERVAL);
        refused(come(&hub, &device), 410, "EXPIRED").await;
        let backdoor = Backdoor::open(&hub).await;
        let both = "SELECT COUNT(DISTINCT minted_by) FROM login_sessions";
        assert_eq!(backdoor.cell(both).await, "1", "as the login that granted it");
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=device_login:granted").await;
        assert_eq!(rows[0]["login_session_id"], json!(bob.id));
    })
    .await;
}

#[tokio::test]
async fn two_who_come_at_once_get_one_login() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let device = ask(&hub).await;
        answer(&hub, &bob, code(&device), "allow").await;
        let all = (0..8).map(|_| send(come(&hub, &device)));
        let answers = futures_util::future::join_all(all).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 410].contains(status)), "{statuses:?}");
    })
    .await;
}

#[tokio::test]
async fn what_a_person_denies_stays_denied() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let device = ask(&hub).await;
        let said = answer(&hub, &bob, code(&device), "deny").await;
        assert_eq!((said.status.as_u16(), said.header("location")), (303, Some("/login/device?done=deny")));
        refused(come(&hub, &device), 403, "ACCESS_DENIED").await;
        let late = answer(&hub, &bob, code(&device), "allow").await;
        assert_eq!(late.status.as_u16(), 404);
        hub.clock.advance(INTERVAL);
        refused(come(&hub, &device), 403, "ACCESS_DENIED").await;
        assert_eq!(
            all_items(&hub, &hub.admin_key, "/api/v1/audit?action=device_login:denied").await.len(),
            1
        );
    })
    .await;
}

#[tokio::test]
async fn after_ten_minutes_it_is_too_late_for_everybody() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let [early, late] = [ask(&hub).await, ask(&hub).await];
        hub.clock.advance(Duration::from_secs(590));
        assert_eq!(answer(&hub, &bob, code(&early), "allow").await.status.as_u16(), 303);
        hub.clock.advance(Duration::from_secs(11));
        assert_eq!(answer(&hub, &bob, code(&late), "allow").await.status.as_u16(), 404);
        for device in [&early, &late] {
            refused(come(&hub, device), 410, "EXPIRED").await;
        }
        let nobodys = json!({"device_code": format!("csd_{}", "A".repeat(43))});
        refused(come(&hub, &nobodys), 404, "NOT_FOUND").await;
        refused(come(&hub, &json!({"device_code": "nonsense"})), 404, "NOT_FOUND").await;
        refused(come(&hub, &json!({"device_code": ""})), 422, "VALIDATION_FAILED").await;
        // A secret of another kind is none of this kind.
        let login = json!({"device_code": bob.token});
        refused(come(&hub, &login), 404, "NOT_FOUND").await;
    })
    .await;
}

#[tokio::test]
async fn only_somebody_who_is_logged_in_answers() {
    on_each_engine(async |hub| {
        let device = ask(&hub).await;
        let form = [("code", code(&device)), ("answer", "allow")];
        let path = format!("/login/device?code={}", code(&device));
        let stranger = expect(hub.request("GET", &path), 303).await;
        let there = format!("/login?next=/login/device%3Fcode%3D{}", code(&device));
        assert_eq!(stranger.header("location"), Some(there.as_str()));
        let stranger = expect(hub.request("POST", "/login/device").form(&form), 303).await;
        assert_eq!(stranger.header("location"), Some("/login"));
        let narrow = mint(&hub, &hub.admin_key, json!({"name": "narrow", "scopes": ["accounts:*"]})).await;
        for key in [&hub.admin_key, &narrow.key] {
            expect(hub.request("POST", "/login/device").bearer_auth(key).form(&form), 409).await;
        }
        refused(come(&hub, &device), 409, "AUTHORIZATION_PENDING").await;
    })
    .await;
}

#[tokio::test]
async fn codes_cannot_be_guessed() {
    on_each_engine(async |hub| {
        let [bob, eve] = [enrolled(&hub, "bob").await, enrolled(&hub, "eve").await];
        let [bob, eve] = [log_in(&hub, &bob).await, log_in(&hub, &eve).await];
        let device = ask(&hub).await;
        let path = format!("/login/device?code={}", code(&device));
        for n in 0..10 {
            // Right ones in between do not count, and do not forgive.
            expect(eve.on(hub.request("GET", &path)), 200).await;
            expect(eve.on(hub.request("GET", &format!("/login/device?code=AAAA-AAA{}", n % 8 + 2))), 404)
                .await;
        }
        let closed = expect(eve.on(hub.request("GET", &path)), 429).await;
        assert!(closed.header("retry-after").is_some() && closed.text().contains("Too many wrong codes"));
        assert_eq!(answer(&hub, &eve, code(&device), "allow").await.status.as_u16(), 429);
        expect(bob.on(hub.request("GET", &path)), 200).await;
    })
    .await;
}

#[tokio::test]
async fn an_address_asks_for_so_many_logins() {
    on_each_engine(async |hub| {
        for _ in 0..60 {
            ask(&hub).await;
        }
        refused(hub.request("POST", "/api/v1/auth/device"), 429, "RATE_LIMITED").await;
        hub.clock.advance(Duration::from_secs(15 * 60 + 15));
        ask(&hub).await;
    })
    .await;
}
