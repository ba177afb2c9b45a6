//! Logging in at a provider: who comes in, as whom, and what is on record.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::oidc::{Person, with_provider};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{
    Answer, PASSWORD, all_items, enrolled, eventually, expect, get, id, log_in, make, mint, person, send,
};
use crate::visitor::{Browser, answered, invited};

fn leads_to(answer: &Answer, path: &str) {
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some(path)), "{}", answer.text());
}

/// A page that says why not, and opens nothing.
pub(crate) fn is_refusal(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(answer.text().contains(words), "{words} in {}", answer.text());
    let sets: Vec<_> = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap()).collect();
    assert!(!sets.iter().any(|set| set.starts_with("cs=")), "{sets:?}");
}

async fn rows(hub: &TestHub, action: &str) -> Vec<Value> {
    all_items(hub, &hub.admin_key, &format!("/api/v1/audit?action={action}")).await
}

#[tokio::test]
async fn whoever_has_a_verified_address_is_enrolled_once_and_known_by_the_subject() {
    with_provider(async |hub, provider| {
        let email = invited(&hub, &provider, "ada").await;
        let browser = Browser::new(&hub);
        let there = browser.leave("/login/oidc", &[("next", "/login/device?code=AB")]).await;
        assert!(browser.cookie("cs-oidc").unwrap().starts_with("csb_"));
        leads_to(&browser.get(&answered(&hub, &there).await).await, "/login/device?code=AB");
        assert_eq!(browser.cookie("cs-oidc"), None, "forgotten");
        assert_eq!(browser.email().await, email);
        let linked = rows(&hub, "identity:linked").await;
        let account = get(&hub, &browser.cookie("cs").unwrap(), "/api/v1/me").await["account"]["id"].clone();
        let details = json!({
            "account_id": account, "by": "email", "issuer": provider.issuer(), "subject": "subject of ada",
        });
        assert_eq!((linked.len(), &linked[0]["details"], &linked[0]["actor"]), (1, &details, &account));
        let begun = rows(&hub, "login:succeeded").await;
        assert_eq!(begun[0]["details"], json!({"method": "oidc", "minted_by": account}));
        // From now on the address means nothing, and the subject everything.
        let other = Person {
            email_verified: false.into(),
            ..Person::of("subject of ada", "moved@elsewhere.example")
        };
        provider.log_in(other);
        let again = Browser::new(&hub);
        leads_to(&again.sign_in().await, "/");
        assert_eq!(again.email().await, email);
        provider.log_in(Person::of("somebody else", &email));
        is_refusal(&Browser::new(&hub).sign_in().await, 403, "ask an admin for an account");
        assert_eq!(rows(&hub, "identity:linked").await.len(), 1);
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!((backdoor.count("oidc_flows").await, backdoor.count("external_identities").await), (0, 1));
    })
    .await;
}

#[tokio::test]
async fn nobody_is_enrolled_as_somebody_who_is_there_already() {
    with_provider(async |hub, provider| {
        let with_key = hub.member(&hub.admin_key, "key").await;
        let with_key =
            get(&hub, &with_key, "/api/v1/me").await["account"]["email"].as_str().unwrap().to_owned();
        let revoked = person(&hub, &hub.admin_key, "revoked", &[]).await;
        let keys = get(&hub, &revoked.key, "/api/v1/api-keys").await;
        expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", id(&keys["items"][0]))), 204).await;
        let suspended = invited(&hub, &provider, "suspended").await;
        let account = &get(&hub, &hub.admin_key, "/api/v1/accounts?query=suspended").await["items"][0];
        crate::world::set_status(&hub, &hub.admin_key, &id(account), "suspended").await;
        let robot = make(&hub, &hub.admin_key, "/api/v1/agents", json!({"name": "robot"})).await;
        let robot = get(&hub, &hub.admin_key, &format!("/api/v1/accounts/{}", id(&robot))).await;
        let unverified = invited(&hub, &provider, "unverified").await;
        let backdoor = Backdoor::open(&hub).await;
        let before = (backdoor.count("login_sessions").await, backdoor.count("external_identities").await);
        let known = [
            with_key.as_str(),
            &enrolled(&hub, "password").await,
            "revoked@default.example",
            &suspended,
            robot["email"].as_str().unwrap(),
            "nobody@default.example",
        ];
        for email in known {
            provider.log_in(Person::of("eve", email));
            is_refusal(&Browser::new(&hub).sign_in().await, 403, "ask an admin for an account");
        }
        for word in [json!(false), json!("true"), json!(null)] {
            provider.log_in(Person { email_verified: word, ..Person::of("eve", &unverified) });
            hub.clock.advance(Duration::from_secs(15 * 60));
            is_refusal(&Browser::new(&hub).sign_in().await, 403, "ask an admin for an account");
        }
        assert_eq!(
            (backdoor.count("login_sessions").await, backdoor.count("external_identities").await),
            before
        );
        let failed = "SELECT CAST(count(*) AS TEXT) FROM audit_logs WHERE action = 'login:failed'";
        eventually("every failure on record", async || {
            (backdoor.column(failed).await == ["9"]).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn one_connects_and_disconnects_ones_own_account() {
    with_provider(async |hub, provider| {
        let email = enrolled(&hub, "bob").await;
        provider.log_in(Person::of("bob there", "bob@private.example"));
        let here = Browser::new(&hub);
        here.log_in(&email).await;
        assert!(here.get("/account").await.text().contains("Connect Test ID"));
        leads_to(&here.connect().await, "/account?done=connected");
        let page = here.get("/account?done=connected").await.text();
        assert!(page.contains("Disconnect") && page.contains("Your account is connected"), "{page}");
        assert!(!page.contains("Connect Test ID</button>"), "{page}");
        let linked = rows(&hub, "identity:linked").await;
        assert_eq!((linked.len(), &linked[0]["details"]["by"]), (1, &json!("login")));
        assert!(!linked[0]["login_session_id"].is_null() && !linked[0]["ip"].is_null(), "{}", linked[0]);
        // Again is no second time; another identity, or another account, is refused.
        leads_to(&here.connect().await, "/account?done=connected");
        provider.log_in(Person::of("another there", "bob@private.example"));
        is_refusal(&here.connect().await, 409, "disconnect that first");
        provider.log_in(Person::of("bob there", "bob@private.example"));
        let carol = Browser::new(&hub);
        carol.log_in(&enrolled(&hub, "carol").await).await;
        is_refusal(&carol.connect().await, 409, "connected to another account");
        let there = Browser::new(&hub);
        leads_to(&there.sign_in().await, "/");
        assert_eq!(there.email().await, email);
        assert_eq!(rows(&hub, "identity:linked").await.len(), 1);
        let identity = linked[0]["subject"]["id"].as_str().unwrap();
        let no = carol.post("/account/disconnect", &[("identity_id", identity)]).await;
        assert_eq!(no.status.as_u16(), 404, "another's");
        assert_eq!(there.who().await, 200);
        leads_to(
            &here.post("/account/disconnect", &[("identity_id", identity)]).await,
            "/account?done=disconnected",
        );
        assert_eq!((here.who().await, there.who().await), (200, 401), "the other login has ended");
        let unlinked = rows(&hub, "identity:unlinked").await;
        assert_eq!((unlinked.len(), &unlinked[0]["details"]["logins_ended"]), (1, &json!(1)));
        is_refusal(&Browser::new(&hub).sign_in().await, 403, "ask an admin");
    })
    .await;
}

/// A disconnected account, and one whose logins were forgotten, have been somebody's.
#[tokio::test]
async fn an_account_that_was_somebodys_is_nobodys_to_enrol() {
    with_provider(async |hub, provider| {
        let email = invited(&hub, &provider, "ada").await;
        let ada = Browser::new(&hub);
        ada.sign_in().await;
        let account = get(&hub, &ada.cookie("cs").unwrap(), "/api/v1/me").await["account"]["id"].clone();
        let identity = rows(&hub, "identity:linked").await[0]["subject"]["id"].as_str().unwrap().to_owned();
        leads_to(
            &ada.post("/account/disconnect", &[("identity_id", &identity)]).await,
            "/account?done=disconnected",
        );
        let backdoor = Backdoor::open(&hub).await;
        // The job that forgets comes by hourly; then none of her rows is left.
        hub.clock.advance(Duration::from_secs(9 * 24 * 3600));
        eventually("the login is forgotten", async || {
            (backdoor.count("login_sessions").await == 0).then_some(())
        })
        .await;
        assert_eq!(backdoor.count("external_identities").await, 0);
        provider.log_in(Person::of("eve", &email));
        is_refusal(&Browser::new(&hub).sign_in().await, 403, "ask an admin");
        let body = json!({"name": "as Ada", "account_id": account});
        send(hub.admin("POST", "/api/v1/api-keys").json(&body)).await.problem(403, "FORBIDDEN");
    })
    .await;
}

#[tokio::test]
async fn who_may_not_act_does_not_log_in() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let ada = Browser::new(&hub);
        ada.sign_in().await;
        let account = id(&get(&hub, &ada.cookie("cs").unwrap(), "/api/v1/me").await["account"]);
        crate::world::set_status(&hub, &hub.admin_key, &account, "suspended").await;
        is_refusal(&ada.sign_in().await, 403, "may not sign in");
        let failed =
            eventually("the failure on record", async || rows(&hub, "login:failed").await.pop()).await;
        let details = json!({"method": "oidc", "reason": "the account may not log in"});
        assert_eq!((&failed["details"], &failed["subject"]["id"]), (&details, &json!(account)));
        crate::world::set_status(&hub, &hub.admin_key, &account, "active").await;
        leads_to(&ada.sign_in().await, "/");
        let org = id(&get(&hub, &hub.admin_key, "/api/v1/me").await["organization"]);
        expect(hub.admin("DELETE", &format!("/api/v1/organizations/{org}/members/{account}")), 204).await;
        is_refusal(&ada.sign_in().await, 403, "member of no organization");
    })
    .await;
}

#[tokio::test]
async fn failures_close_the_address_and_successes_do_not() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        for _ in 0..12 {
            leads_to(&Browser::new(&hub).sign_in().await, "/");
        }
        // Any page can make a browser do this.
        for _ in 0..12 {
            expect(hub.request("GET", "/login/oidc/callback?state=x&code=y"), 410).await;
        }
        leads_to(&Browser::new(&hub).sign_in().await, "/");
        provider.log_out();
        for _ in 0..10 {
            is_refusal(&Browser::new(&hub).sign_in().await, 401, "The provider signed nobody in.");
        }
        let closed = Browser::new(&hub).sign_in().await;
        is_refusal(&closed, 429, "Too many failed attempts");
        assert!(closed.header("retry-after").is_some());
        // One limit for all ways to log in.
        let form = [("email", "bob@default.example"), ("password", PASSWORD)];
        expect(hub.request("POST", "/login").form(&form), 429).await;
        hub.clock.advance(Duration::from_secs(30 * 60));
        provider.log_in(Person::of("subject of ada", "x@y.example"));
        leads_to(&Browser::new(&hub).sign_in().await, "/");
        // Browsers that are only sent are counted, too.
        let browser = Browser::new(&hub);
        let mut sent = 0;
        let refused = loop {
            let answer = browser.post("/login/oidc", &[]).await;
            match answer.status.as_u16() {
                200 => sent += 1,
                _ => break answer,
            }
        };
        assert_eq!(sent, 59);
        is_refusal(&refused, 429, "Too many sign-ins are begun");
    })
    .await;
}

/// Two who enrol one account at once: one of them is first.
#[tokio::test]
async fn an_admin_and_the_provider_do_not_both_enrol() {
    with_provider(async |hub, provider| {
        for round in 0..5 {
            let email = invited(&hub, &provider, &format!("ada{round}")).await;
            let found = get(&hub, &hub.admin_key, &format!("/api/v1/accounts?query={email}")).await;
            let body = json!({"name": "first", "account_id": id(&found["items"][0])});
            let browser = Browser::new(&hub);
            let there = browser.leave("/login/oidc", &[]).await;
            let back = answered(&hub, &there).await;
            let mint = send(hub.admin("POST", "/api/v1/api-keys").json(&body));
            let (minted, came) = tokio::join!(mint, browser.get(&back));
            let outcome = (minted.status.as_u16(), came.status.as_u16());
            assert!([(201, 403), (403, 303)].contains(&outcome), "{outcome:?}");
        }
    })
    .await;
}

/// A login that came by a provider is like any other, also for programs.
#[tokio::test]
async fn a_login_is_listed_and_ended_like_any_other() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let ada = Browser::new(&hub);
        ada.sign_in().await;
        assert!(ada.get("/account").await.text().contains("Single sign-on"));
        let sessions = ada.get("/api/v1/auth/sessions").await.json();
        assert_eq!(sessions["items"][0]["method"], "oidc");
        let own = mint(&hub, &ada.cookie("cs").unwrap(), json!({"name": "own"})).await;
        assert_eq!(own.body["minted_by"], own.body["account_id"]);
        leads_to(&ada.post("/account/logout", &[]).await, "/login");
        assert_eq!(ada.who().await, 401);
    })
    .await;
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_way() {
    on_each_engine(async |hub| {
        let browser = Browser::new(&hub);
        assert!(!browser.get("/login").await.text().contains("/login/oidc"));
        assert_eq!(browser.post("/login/oidc", &[]).await.status.as_u16(), 404);
        let back = browser.get("/login/oidc/callback?state=a&code=b").await;
        assert_eq!(back.status.as_u16(), 404);
        assert!(back.text().contains("action=\"/login\"") && back.text().contains("role=\"alert\""));
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        assert!(!expect(bob.on(hub.request("GET", "/account")), 200).await.text().contains("Single sign-on"));
        expect(bob.on(hub.request("POST", "/account/connect")).form(&[("", ""); 0]), 404).await;
    })
    .await;
}

#[tokio::test]
async fn the_pages_on_the_way_have_the_theme_of_the_browser() {
    with_provider(async |hub, _| {
        let dark = |request: testkit::reqwest::RequestBuilder| request.header("cookie", "theme=dark");
        let leaving = hub.request("POST", "/login/oidc").form(&[("next", "/account")]);
        let wrong = hub.request("POST", "/login").form(&[("email", "nobody@example.org"), ("password", "x")]);
        let stale = hub.request("GET", "/login/oidc/callback?state=cst_nope&code=nope");
        for (request, status) in [(leaving, 200), (wrong, 401), (stale, 410)] {
            let page = expect(dark(request), status).await.text();
            assert!(page.contains("<html lang=\"en\" data-theme=\"dark\">"), "{page}");
        }
    })
    .await;
}
