//! Logging in with a password, what a login shows and may, and its end.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{
    Answer, PASSWORD, all_items, cookie, enrolled, eventually, expect, get, log_in, mint, refused, send,
    without_place,
};
use crate::world::set_status;

fn attempt(hub: &TestHub, body: Value) -> testkit::reqwest::RequestBuilder {
    hub.request("POST", "/api/v1/auth/login").json(&body)
}

#[tokio::test]
async fn a_password_opens_a_login_that_the_browser_keeps() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let spelled = "BOB@Default.Example";
        let answer = expect(attempt(&hub, json!({"email": spelled, "password": PASSWORD})), 200).await;
        let kept = answer.header("set-cookie").unwrap();
        let token = cookie(&answer).unwrap();
        assert_eq!(kept, format!("cs={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400"));
        assert!(token.starts_with("css_") && !answer.text().contains(&token), "only in the cookie");
        let body = answer.json();
        let login = &body["login_session"];
        assert_eq!(
            (&body["account"]["email"], &body["organization"]["slug"]),
            (&json!(email), &json!("default"))
        );
        assert_eq!((&login["method"], &login["current"]), (&json!("password"), &json!(true)));
        assert_eq!(login["ip_address"], "127.0.0.1");
        assert!(login["permissions"].as_array().unwrap().contains(&json!("keys:write")), "{login}");
        // In the cookie and as a bearer, with the same rights.
        for request in [
            hub.request("GET", "/api/v1/me").header("cookie", format!("cs={token}")),
            hub.request("GET", "/api/v1/me").bearer_auth(&token),
        ] {
            let me = expect(request, 200).await.json();
            assert_eq!((&me["login_session_id"], &me["key_id"]), (&login["id"], &json!(null)));
            assert_eq!(me["permissions"], login["permissions"]);
        }
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=login:succeeded").await;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["login_session_id"], login["id"]);
        assert_eq!(rows[0]["actor"], body["account"]["id"]);
    })
    .await;
}

/// With TLS the cookie is for TLS, for this host and for nobody else.
#[tokio::test]
async fn with_tls_the_cookie_says_so() {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let local = server::Options::local(([127, 0, 0, 1], 0).into());
        let options =
            server::Options { secure_cookies: true, public_url: "https://hub.example".into(), ..local };
        let body = json!({"email": email, "password": PASSWORD}).to_string();
        let request = Request::post("/api/v1/auth/login").header("content-type", "application/json");
        let router = server::router(hub.hub.clone(), options);
        let answer = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let kept = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
        let token = kept.strip_prefix("__Host-cs=").unwrap().split(';').next().unwrap();
        assert!(kept.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400; Secure"), "{kept}");
        for (name, status) in [("__Host-cs", 200), ("cs", 401)] {
            let request = Request::get("/api/v1/me").header("cookie", format!("{name}={token}"));
            let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{name}");
        }
    })
    .await;
}

fn shape(answer: &Answer) -> (u16, Value, Vec<String>) {
    let mut names: Vec<String> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    names.sort();
    (answer.status.as_u16(), without_place(&answer.any_problem()), names)
}

#[tokio::test]
async fn whoever_may_not_log_in_is_told_the_same_for_the_same_work() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let sue = enrolled(&hub, "sue").await;
        let me = log_in(&hub, &sue).await;
        set_status(&hub, &hub.admin_key, me.body["account"]["id"].as_str().unwrap(), "suspended").await;
        hub.member(&hub.admin_key, "without").await;
        let elsewhere =
            get(&hub, &hub.tenant("other").await, "/api/v1/me").await["organization"]["id"].clone();
        let attempts = [
            json!({"email": bob, "password": "wrong horse battery"}),
            json!({"email": "nobody@default.example", "password": PASSWORD}),
            json!({"email": "no address at all", "password": PASSWORD}),
            json!({"email": sue, "password": PASSWORD}),
            json!({"email": "without@default.example", "password": PASSWORD}),
            json!({"email": "system@countersign.invalid", "password": PASSWORD}),
            json!({"email": bob, "password": PASSWORD, "organization_id": elsewhere}),
        ];
        let mut shapes = Vec::new();
        for body in attempts {
            let before = hub.hub.coordination.hashing.count();
            let answer = send(attempt(&hub, body.clone())).await;
            assert_eq!(hub.hub.coordination.hashing.count() - before, 1, "{body}");
            assert_eq!(answer.problem(401, "UNAUTHENTICATED")["detail"], "email or password is wrong");
            shapes.push((shape(&answer), body));
        }
        for (found, body) in &shapes {
            assert_eq!(*found, shapes[0].0, "{body}");
        }
        // On record for those who exist, without what was tried.
        let rows = eventually("the failures are recorded", async || {
            let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=login:failed").await;
            (rows.len() >= 3).then_some(rows)
        })
        .await;
        assert!(!format!("{rows:?}").contains("horse"), "{rows:?}");
        assert!(rows.iter().all(|row| row["subject"]["type"] == "account"), "{rows:?}");
    })
    .await;
}

#[tokio::test]
async fn ten_failures_are_answered_with_when_to_come_back() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        for _ in 0..10 {
            refused(attempt(&hub, json!({"email": email, "password": "nope"})), 401, "UNAUTHENTICATED").await;
        }
        let answer = send(attempt(&hub, json!({"email": email, "password": PASSWORD}))).await;
        answer.problem(429, "RATE_LIMITED");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=915).contains(&wait), "{wait}");
        // Whoever is in already stays in.
        expect(hub.admin("GET", "/api/v1/me"), 200).await;
        hub.clock.advance(Duration::from_secs(wait));
        log_in(&hub, &email).await;
    })
    .await;
}

#[tokio::test]
async fn nobody_logs_in_who_belongs_nowhere() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let backdoor = Backdoor::open(&hub).await;
        let account = backdoor.cell(&format!("SELECT id FROM accounts WHERE email = '{email}'")).await;
        backdoor.run(&format!("DELETE FROM organization_members WHERE account_id = '{account}'")).await;
        let problem =
            refused(attempt(&hub, json!({"email": email, "password": PASSWORD})), 403, "FORBIDDEN").await;
        assert!(problem["detail"].as_str().unwrap().contains("no organization"), "{problem}");
    })
    .await;
}

#[tokio::test]
async fn an_archived_organization_lets_nobody_in() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let backdoor = Backdoor::open(&hub).await;
        backdoor.run("UPDATE organizations SET archived_at = created_at WHERE slug = 'default'").await;
        refused(attempt(&hub, json!({"email": email, "password": PASSWORD})), 403, "FORBIDDEN").await;
    })
    .await;
}

#[tokio::test]
async fn logins_are_listed_read_and_ended_by_their_owner_alone() {
    on_each_engine(async |hub| {
        let [bob, eve] = [enrolled(&hub, "bob").await, enrolled(&hub, "eve").await];
        let eve = log_in(&hub, &eve).await;
        let mut logins = Vec::new();
        for _ in 0..3 {
            logins.push(log_in(&hub, &bob).await);
        }
        let here = logins.last().unwrap();
        let mut path = "/api/v1/auth/sessions?limit=2".to_owned();
        let first = expect(here.on(hub.request("GET", &path)), 200).await.json();
        path.push_str(&format!("&cursor={}", first["next_cursor"].as_str().unwrap()));
        let second = expect(here.on(hub.request("GET", &path)), 200).await.json();
        let items: Vec<&Value> =
            [&first, &second].iter().flat_map(|page| page["items"].as_array().unwrap()).collect();
        let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        let newest_first: Vec<&str> = logins.iter().rev().map(|login| login.id.as_str()).collect();
        assert_eq!(ids, newest_first);
        assert_eq!(items.iter().filter(|item| item["current"] == true).count(), 1);
        assert_eq!(items[0]["current"], true);
        assert_eq!(items[0]["permissions"], here.body["login_session"]["permissions"]);
        let one = format!("/api/v1/auth/sessions/{}", logins[0].id);
        assert_eq!(expect(here.on(hub.request("GET", &one)), 200).await.json(), *items[2]);
        for method in ["GET", "DELETE"] {
            refused(eve.on(hub.request(method, &one)), 404, "NOT_FOUND").await;
            refused(hub.admin(method, &one), 404, "NOT_FOUND").await;
        }
        expect(logins[0].on(hub.request("GET", "/api/v1/me")), 200).await;
        for _ in 0..2 {
            expect(here.on(hub.request("DELETE", &one)), 204).await;
        }
        let problem = refused(logins[0].on(hub.request("GET", "/api/v1/me")), 401, "UNAUTHENTICATED").await;
        assert_eq!(problem["detail"], "this login was ended; log in again");
        refused(here.on(hub.request("GET", &one)), 404, "NOT_FOUND").await;
        let ended = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=login:ended").await;
        assert_eq!(ended.len(), 1, "ending what has ended is no act");
    })
    .await;
}

#[tokio::test]
async fn what_a_login_may_is_what_the_account_may_now() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let path = format!("/api/v1/auth/sessions/{}", bob.id);
        let before = expect(bob.on(hub.request("GET", &path)), 200).await.json();
        assert_eq!(before["roles"], json!([]));
        let account = bob.body["account"]["id"].as_str().unwrap();
        let backdoor = Backdoor::open(&hub).await;
        let set =
            |table| format!("UPDATE {table} SET membership_level = 'admin' WHERE account_id = '{account}'");
        backdoor.change(&set("organization_members")).await;
        backdoor.run(&set("directory_entries")).await;
        let after = expect(bob.on(hub.request("GET", &path)), 200).await.json();
        assert_eq!(after["roles"], json!(["admin"]));
        assert!(after["permissions"].as_array().unwrap().contains(&json!("settings:write")), "{after}");
    })
    .await;
}

#[tokio::test]
async fn logging_out_ends_the_login_and_the_cookie() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let answer = expect(bob.on(hub.request("POST", "/api/v1/auth/logout")), 204).await;
        assert_eq!(answer.header("set-cookie"), Some("cs=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"));
        refused(bob.on(hub.request("GET", "/api/v1/me")), 401, "UNAUTHENTICATED").await;
        refused(bob.on(hub.request("POST", "/api/v1/auth/logout")), 401, "UNAUTHENTICATED").await;
        let problem = refused(hub.admin("POST", "/api/v1/auth/logout"), 409, "INVALID_STATE").await;
        assert_eq!(problem["state"], "api_key");
    })
    .await;
}

#[tokio::test]
async fn a_login_moves_between_the_organizations_of_its_owner() {
    on_each_engine(async |hub| {
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let theirs = hub.tenant("other").await;
        let other = get(&hub, &theirs, "/api/v1/me").await["organization"]["id"].as_str().unwrap().to_owned();
        let account = bob.body["account"]["id"].as_str().unwrap();
        let to = |org: &str| {
            bob.on(hub.request("POST", "/api/v1/auth/switch")).json(&json!({"organization_id": org}))
        };
        refused(to(&other), 404, "NOT_FOUND").await;
        refused(to("0197a000-0000-7000-8000-000000000000"), 404, "NOT_FOUND").await;
        refused(
            bob.on(hub.request("POST", "/api/v1/auth/switch")).json(&json!({})),
            422,
            "VALIDATION_FAILED",
        )
        .await;
        let backdoor = Backdoor::open(&hub).await;
        hub.seat(account.parse().unwrap(), other.parse().unwrap()).await;
        assert_eq!(expect(to(&other), 200).await.json()["slug"], "other");
        let me = expect(bob.on(hub.request("GET", "/api/v1/me")), 200).await.json();
        assert_eq!((&me["organization"]["slug"], &me["login_session_id"]), (&json!("other"), &json!(bob.id)));
        expect(to(&other), 200).await;
        for key in [&hub.admin_key, &theirs] {
            let rows = all_items(&hub, key, "/api/v1/audit?action=login:switched").await;
            assert_eq!(rows.len(), 1, "one in each chain: {rows:?}");
            assert_eq!(rows[0]["login_session_id"], json!(bob.id));
        }
        backdoor.change("UPDATE organizations SET archived_at = created_at WHERE slug = 'default'").await;
        let home = bob.body["organization"]["id"].as_str().unwrap();
        refused(to(home), 404, "NOT_FOUND").await;
    })
    .await;
}

#[tokio::test]
async fn a_password_is_set_by_its_owner_who_knows_it() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let [here, elsewhere] = [log_in(&hub, &email).await, log_in(&hub, &email).await];
        let set = |body: Value| here.on(hub.request("POST", "/api/v1/auth/password")).json(&body);
        let another = "another fine password";
        let missing = refused(set(json!({"new_password": another})), 422, "VALIDATION_FAILED").await;
        assert_eq!(crate::support::pointers(&missing), ["/current_password"]);
        let wrong = json!({"current_password": "not this one", "new_password": another});
        let wrong = refused(set(wrong), 422, "VALIDATION_FAILED").await;
        assert_eq!(crate::support::pointers(&wrong), ["/current_password"]);
        expect(set(json!({"current_password": PASSWORD, "new_password": another})), 204).await;
        expect(here.on(hub.request("GET", "/api/v1/me")), 200).await;
        refused(elsewhere.on(hub.request("GET", "/api/v1/me")), 401, "UNAUTHENTICATED").await;
        refused(attempt(&hub, json!({"email": email, "password": PASSWORD})), 401, "UNAUTHENTICATED").await;
        expect(attempt(&hub, json!({"email": email, "password": another})), 200).await;
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=password:set").await;
        let [own, enrolment] = rows.as_slice() else { panic!("the admin's and the owner's: {rows:?}") };
        assert_eq!(own["actor"], own["subject"]["id"], "newest first: the owner's");
        assert_ne!(enrolment["actor"], enrolment["subject"]["id"], "the admin chose the first");
        assert!(!format!("{rows:?}").contains("argon2"), "{rows:?}");
    })
    .await;
}

/// Guessing the password of an open login is limited like guessing it from outside.
#[tokio::test]
async fn proofs_of_a_password_are_limited() {
    on_each_engine(async |hub| {
        let here = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let set = |current: &str| {
            let body = json!({"current_password": current, "new_password": "another fine password"});
            here.on(hub.request("POST", "/api/v1/auth/password")).json(&body)
        };
        for _ in 0..10 {
            refused(set("not this one"), 422, "VALIDATION_FAILED").await;
        }
        refused(set(PASSWORD), 429, "RATE_LIMITED").await;
    })
    .await;
}

#[tokio::test]
async fn keys_with_scopes_and_programs_set_no_password() {
    on_each_engine(async |hub| {
        let set = |key: &str| {
            let body = json!({"new_password": PASSWORD});
            hub.request("POST", "/api/v1/auth/password").bearer_auth(key).json(&body)
        };
        let narrow = mint(&hub, &hub.admin_key, json!({"name": "narrow", "scopes": ["accounts:*"]})).await;
        refused(set(&narrow.key), 403, "FORBIDDEN").await;
        let service = hub.member(&hub.admin_key, "robot").await;
        let backdoor = Backdoor::open(&hub).await;
        let demote = |table| {
            format!("UPDATE {table} SET access_level = 'service' WHERE email = 'robot@default.example'")
        };
        backdoor.change(&demote("accounts")).await;
        backdoor.run(&demote("directory_entries")).await;
        let problem = refused(set(&service), 403, "FORBIDDEN").await;
        assert!(problem["detail"].as_str().unwrap().contains("only people"), "{problem}");
        // A whole key may, once; then what is known is asked for.
        expect(set(&hub.admin_key), 204).await;
        refused(set(&hub.admin_key), 422, "VALIDATION_FAILED").await;
    })
    .await;
}

/// An admin sees that others exist, and gets in as nobody but themselves.
#[tokio::test]
async fn an_admin_cannot_log_in_as_another() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let login = log_in(&hub, &bob).await;
        let backdoor = Backdoor::open(&hub).await;
        let minted_by =
            format!("SELECT CAST(minted_by AS TEXT) FROM login_sessions WHERE id = '{}'", login.id);
        let admin = get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
        assert_eq!(
            json!(backdoor.cell(&minted_by).await),
            admin,
            "the admin chose the password, and the login says so"
        );
        let own = json!({"current_password": PASSWORD, "new_password": "chosen by bob himself"});
        expect(login.on(hub.request("POST", "/api/v1/auth/password")).json(&own), 204).await;
        refused(attempt(&hub, json!({"email": bob, "password": PASSWORD})), 401, "UNAUTHENTICATED").await;
        let key = json!({"name": "as Bob", "account_id": login.body["account"]["id"]});
        refused(hub.admin("POST", "/api/v1/api-keys").json(&key), 403, "FORBIDDEN").await;
        let path = format!("/api/v1/auth/sessions/{}", login.id);
        refused(hub.admin("GET", &path), 404, "NOT_FOUND").await;
    })
    .await;
}

/// Repeating a login makes another one: an answer that sets a cookie is not kept.
#[tokio::test]
async fn an_idempotency_key_means_nothing_to_a_login() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let body = json!({"email": email, "password": PASSWORD});
        let ask = || attempt(&hub, body.clone()).header("idempotency-key", "once");
        let [one, other] = [expect(ask(), 200).await, expect(ask(), 200).await];
        assert_ne!(cookie(&one), cookie(&other));
        assert_eq!(Backdoor::open(&hub).await.count("idempotency_keys").await, 0);
    })
    .await;
}
