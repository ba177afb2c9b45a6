//! The pages to log in and about oneself, as a browser meets them.

use std::time::Duration;

use serde_json::json;
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{
    Answer, Login, PASSWORD, all_items, cookie, enrolled, expect, log_in, refused, send, without_module,
};

fn consume(hub: &TestHub, token: &str) -> RequestBuilder {
    hub.request("POST", "/login/once").form(&[("token", token)])
}

fn leads_to(answer: &Answer, path: &str) {
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some(path)), "{}", answer.text());
}

fn is_page(answer: &Answer) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{}", answer.text());
    let text = without_module(&answer.text());
    for never in ["<script", "style=", "onclick", "javascript:"] {
        assert!(!text.contains(never), "{never} in {text}");
    }
}

/// Whatever looks at a link before the person does, uses nothing up.
#[tokio::test]
async fn a_link_is_shown_as_often_as_one_likes_and_used_once() {
    on_each_engine(async |hub| {
        let path = format!("/login/once?token={}", hub.admin_link);
        for method in ["GET", "HEAD", "GET"] {
            let shown = expect(hub.request(method, &path), 200).await;
            assert_eq!(shown.header("set-cookie"), None);
            assert_eq!(shown.header("cache-control"), Some("no-store"));
        }
        let page = expect(hub.request("GET", &path), 200).await;
        is_page(&page);
        assert!(page.text().contains(&hub.admin_link) && page.text().contains("<button"));
        let used = send(consume(&hub, &hub.admin_link)).await;
        leads_to(&used, "/account");
        let token = cookie(&used).unwrap();
        let me = hub.request("GET", "/api/v1/me").header("cookie", format!("cs={token}"));
        assert_eq!(expect(me, 200).await.json()["account"]["display_name"], "admin");
        let again = expect(consume(&hub, &hub.admin_link), 410).await;
        is_page(&again);
        assert!(again.text().contains("used already") && again.header("set-cookie").is_none());
        let made = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=login_link:made").await;
        assert_eq!((made.len(), &made[0]["service"]), (1, &json!("bootstrap")));
        let begun = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=login:succeeded").await;
        assert_eq!(begun[0]["details"]["method"], "link");
    })
    .await;
}

#[tokio::test]
async fn a_link_ends_after_a_quarter_of_an_hour() {
    on_each_engine(async |hub| {
        hub.clock.advance(Duration::from_secs(15 * 60));
        let late = expect(consume(&hub, &hub.admin_link), 410).await;
        is_page(&late);
        assert!(late.text().contains("expired"));
        let key = &hub.admin_key;
        for nobodys in ["", "cso_nope", &format!("cso_{}", "A".repeat(43)), key.as_str()] {
            let answer = expect(consume(&hub, nobodys), 404).await;
            is_page(&answer);
            assert!(answer.text().contains("admin login-link"));
        }
        is_page(&expect(hub.request("GET", "/login/once"), 404).await);
        // What a suspended person was given lets nobody in.
    })
    .await;
}

/// Whoever has failed too often is told until when, and keeps the other way in.
#[tokio::test]
async fn too_many_attempts_leave_the_form_and_say_when_it_works_again() {
    on_each_engine(async |hub| {
        let wrong = [("email", "bob@default.example"), ("password", "wrong horse battery")];
        let mut page = send(hub.request("POST", "/login").form(&wrong)).await;
        for _ in 0..30 {
            if page.status.as_u16() == 429 {
                break;
            }
            page = send(hub.request("POST", "/login").form(&wrong)).await;
        }
        assert_eq!(page.status.as_u16(), 429, "{}", page.text());
        is_page(&page);
        assert!(page.header("retry-after").is_some());
        let text = page.text();
        assert!(
            text.contains("; try again in 1") && text.contains(" UTC, or use a one-time link."),
            "{text}"
        );
        assert!(text.contains("action=\"/login\"") && text.contains("admin login-link"), "{text}");
        assert!(text.contains("value=\"bob@default.example\""), "{text}");
    })
    .await;
}

#[tokio::test]
async fn two_who_use_a_link_at_once_get_one_login() {
    on_each_engine(async |hub| {
        let answers =
            futures_util::future::join_all((0..8).map(|_| send(consume(&hub, &hub.admin_link)))).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [303, 410].contains(status)), "{statuses:?}");
    })
    .await;
}

/// Whoever came by a link has forgotten the password, and sets another.
#[tokio::test]
async fn after_a_link_the_password_is_not_asked_for() {
    on_each_engine(async |hub| {
        let set = json!({"new_password": PASSWORD});
        expect(hub.admin("POST", "/api/v1/auth/password").json(&set), 204).await;
        let token = cookie(&send(consume(&hub, &hub.admin_link)).await).unwrap();
        let by_link = Login { id: String::new(), token, body: json!(null) };
        let page = expect(by_link.on(hub.request("GET", "/account")), 200).await.text();
        assert!(!page.contains("current_password"), "{page}");
        let form = [("new_password", "remembered from now on"), ("username", "admin")];
        let set = send(by_link.on(hub.request("POST", "/account/password")).form(&form)).await;
        leads_to(&set, "/account?done=password");
    })
    .await;
}

#[tokio::test]
async fn the_login_page_leads_to_where_one_wanted_and_nowhere_else() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        is_page(&expect(hub.request("GET", "/login"), 200).await);
        let submit = |next: &str| {
            let form = [("email", email.as_str()), ("password", PASSWORD), ("next", next)];
            hub.request("POST", "/login").form(&form)
        };
        leads_to(&send(submit("/login/device?code=AB")).await, "/login/device?code=AB");
        for elsewhere in
            ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""]
        {
            leads_to(&send(submit(elsewhere)).await, "/");
        }
        let shown = expect(hub.request("GET", "/login?next=//evil.example"), 200).await.text();
        assert!(!shown.contains("evil"), "{shown}");
        let shown = expect(hub.request("GET", "/login?next=/account%22%3E%3Cb"), 200).await.text();
        assert!(!shown.contains("\"><b"), "{shown}");
        let wrong = [("email", "<b>bob</b>"), ("password", "wrong horse battery")];
        let wrong = expect(hub.request("POST", "/login").form(&wrong), 401).await;
        is_page(&wrong);
        assert!(wrong.text().contains("Email or password is wrong."));
        assert!(!wrong.text().contains("<b>bob") && !wrong.text().contains("wrong horse"));
        for _ in 0..9 {
            let form = [("email", email.as_str()), ("password", "wrong horse battery")];
            send(hub.request("POST", "/login").form(&form)).await;
        }
        let closed = expect(submit("/account"), 429).await;
        is_page(&closed);
        assert!(closed.header("retry-after").is_some());
    })
    .await;
}

#[tokio::test]
async fn forms_are_strict() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let good = format!("email={}&password={}", email.replace('@', "%40"), PASSWORD.replace(' ', "+"));
        let form = |body: &str| {
            let request = hub.request("POST", "/login");
            request.header("content-type", "application/x-www-form-urlencoded").body(body.to_owned())
        };
        leads_to(&send(form(&good)).await, "/");
        for bad in ["", "email=a", "email=a&password=b&remember=1", &format!("{good}&email=eve"), "%"] {
            let answer = expect(form(bad), 422).await;
            is_page(&answer);
        }
        expect(hub.request("POST", "/login").json(&json!({"email": email, "password": PASSWORD})), 415).await;
        let large = format!("{good}&next={}", "x".repeat(1 << 20));
        is_page(&expect(form(&large), 413).await);
    })
    .await;
}

#[tokio::test]
async fn the_root_leads_to_where_one_belongs() {
    on_each_engine(async |hub| {
        leads_to(&send(hub.request("GET", "/")).await, "/login");
        leads_to(&send(hub.request("GET", "/account")).await, "/login?next=/account");
        let bob = log_in(&hub, &enrolled(&hub, "bob").await).await;
        let inbox = expect(bob.on(hub.request("GET", "/")), 200).await.text();
        assert!(inbox.contains("Nothing waits for your signature"), "{inbox}");
        expect(bob.on(hub.request("POST", "/api/v1/auth/logout")), 204).await;
        leads_to(&send(bob.on(hub.request("GET", "/"))).await, "/login");
    })
    .await;
}

#[tokio::test]
async fn the_account_page_shows_and_changes_what_is_ones_own() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let [here, other] = [log_in(&hub, &email).await, log_in(&hub, &email).await];
        let page = expect(here.on(hub.request("GET", "/account")), 200).await;
        is_page(&page);
        let text = page.text();
        for wanted in [email.as_str(), "default", &here.id, &other.id, "This one"] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        let post = |path: &str| here.on(hub.request("POST", path));
        let end = send(post("/account/end").form(&[("login_session_id", &other.id)])).await;
        leads_to(&end, "/account?done=ended");
        refused(other.on(hub.request("GET", "/api/v1/me")), 401, "UNAUTHENTICATED").await;
        let form = [("current_password", "not this one"), ("new_password", "another fine password")];
        let wrong = expect(post("/account/password").form(&form), 422).await;
        is_page(&wrong);
        assert!(wrong.text().contains("The current password is not your password."), "{}", wrong.text());
        let form = [("current_password", PASSWORD), ("new_password", "another fine password")];
        leads_to(&send(post("/account/password").form(&form)).await, "/account?done=password");
        let nowhere = [("organization_id", "0197a000-0000-7000-8000-000000000000")];
        is_page(&expect(post("/account/switch").form(&nowhere), 404).await);
        let out = send(post("/account/logout").form(&[("", ""); 0])).await;
        leads_to(&out, "/login");
        assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
        leads_to(&send(here.on(hub.request("GET", "/account"))).await, "/login?next=/account");
    })
    .await;
}

/// Another site can make a browser send a form, but not change anything with it.
#[tokio::test]
async fn other_sites_change_nothing() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "bob").await;
        let bob = log_in(&hub, &email).await;
        let backdoor = Backdoor::open(&hub).await;
        let before = (backdoor.count("audit_logs").await, backdoor.count("login_sessions").await);
        let requests = || {
            [
                bob.on(hub.request("POST", "/account/logout")).form(&[("", ""); 0]),
                bob.on(hub.request("POST", "/account/end")).form(&[("login_session_id", bob.id.as_str())]),
                hub.request("POST", "/login").form(&[("email", email.as_str()), ("password", PASSWORD)]),
                consume(&hub, &hub.admin_link),
                bob.on(hub.request("POST", "/api/v1/auth/logout")),
                bob.on(hub.request("POST", "/api/v1/api-keys")).json(&json!({"name": "theirs"})),
                bob.on(hub.request("DELETE", &format!("/api/v1/auth/sessions/{}", bob.id))),
            ]
        };
        for request in requests() {
            expect(request.header("sec-fetch-site", "cross-site"), 403).await;
        }
        for request in requests() {
            expect(request.header("origin", "https://evil.example"), 403).await;
        }
        let after = (backdoor.count("audit_logs").await, backdoor.count("login_sessions").await);
        assert_eq!(after, before);
        let page = bob.on(hub.request("POST", "/account/logout")).form(&[("", ""); 0]);
        is_page(&expect(page.header("sec-fetch-site", "cross-site"), 403).await);
        // One's own site may.
        let own = bob.on(hub.request("POST", "/account/logout")).form(&[("", ""); 0]);
        leads_to(&send(own.header("sec-fetch-site", "same-origin")).await, "/login");
    })
    .await;
}

#[tokio::test]
async fn assets_are_files_that_browsers_keep() {
    on_each_engine(async |hub| {
        for (name, kind) in [
            ("app.css", "text/css; charset=utf-8"),
            ("tokens.css", "text/css; charset=utf-8"),
            ("icon.svg", "image/svg+xml"),
        ] {
            let file = expect(hub.request("GET", &format!("/assets/{name}")), 200).await;
            assert_eq!(file.header("content-type"), Some(kind));
            // Without its version a file is asked about each time; `dashboard::frame` looks at the other way.
            assert_eq!(file.header("cache-control"), Some("no-cache"));
        }
        for path in ["/assets/nope.css", "/assets/..%2fCargo.toml", "/assets/"] {
            refused(hub.request("GET", path), 404, "NOT_FOUND").await;
        }
    })
    .await;
}
