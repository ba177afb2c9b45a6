//! What must not work: being somebody else by way of the provider.

use std::time::Duration;

use futures_util::future::join_all;
use testkit::oidc::{Person, with_provider};

use crate::backdoor::Backdoor;
use crate::oidc::is_refusal;
use crate::support::{enrolled, expect, send};
use crate::visitor::{Browser, answered, invited};

const ANOTHER_BROWSER: &str = "began in another browser";

/// Login CSRF: whoever follows a stranger's link would work in the stranger's account.
#[tokio::test]
async fn nobody_is_logged_in_by_another_browsers_answer() {
    with_provider(async |hub, provider| {
        let eves = invited(&hub, &provider, "eve").await;
        let eve = Browser::new(&hub);
        let there = eve.leave("/login/oidc", &[]).await;
        let link = answered(&hub, &there).await;
        let (fresh, busy, logged_in) = (Browser::new(&hub), Browser::new(&hub), Browser::new(&hub));
        busy.leave("/login/oidc", &[]).await;
        logged_in.log_in(&enrolled(&hub, "bob").await).await;
        for victim in [&fresh, &busy, &logged_in] {
            let had = (victim.cookie("cs"), victim.cookie("cs-oidc"));
            is_refusal(&victim.get(&link).await, 410, ANOTHER_BROWSER);
            assert_eq!((victim.cookie("cs"), victim.cookie("cs-oidc")), had, "nothing of theirs is gone");
        }
        assert_eq!(Backdoor::open(&hub).await.count("external_identities").await, 0);
        // It was not used up either.
        assert_eq!(eve.get(&link).await.status.as_u16(), 303);
        assert_eq!(eve.email().await, eves);
    })
    .await;
}

#[tokio::test]
async fn an_answer_works_once() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let browser = Browser::new(&hub);
        let link = answered(&hub, &browser.leave("/login/oidc", &[]).await).await;
        let flow = format!("cs-oidc={}", browser.cookie("cs-oidc").unwrap());
        let come = || send(hub.request("GET", &link).header("cookie", &flow));
        let answers = join_all((0..8).map(|_| come())).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 410, 410, 410, 410, 410, 410, 410]);
        is_refusal(&come().await, 410, "finished already");
        assert_eq!(Backdoor::open(&hub).await.count("login_sessions").await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_answer_comes_within_ten_minutes() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let browser = Browser::new(&hub);
        let there = browser.leave("/login/oidc", &[]).await;
        hub.clock.advance(Duration::from_secs(10 * 60));
        is_refusal(&browser.get(&answered(&hub, &there).await).await, 410, "longer than 10 minutes");
        for path in ["/login/oidc/callback", "/login/oidc/callback?state=cst_nope&code=x"] {
            is_refusal(&browser.get(path).await, 410, ANOTHER_BROWSER);
        }
        let twice = format!("/login/oidc/callback?state=a&state=b&code={}", "x".repeat(10));
        assert_eq!(browser.get(&twice).await.status.as_u16(), 422);
        let long = format!("/login/oidc/callback?state=a&code={}", "x".repeat(5000));
        assert_eq!(browser.get(&long).await.status.as_u16(), 422);
    })
    .await;
}

/// Code injection: a code that was stolen from somebody is of no use in one's own flow.
#[tokio::test]
async fn a_stolen_code_proves_nothing() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let code_of = |path: &str| {
            let (_, code) = path.split_once("&code=").unwrap();
            code.split('&').next().unwrap().to_owned()
        };
        // First the provider notices, by PKCE; then it does not, and the nonce tells.
        for trusting in [false, true] {
            if trusting {
                provider.trust_everybody();
            }
            let (ada, eve) = (Browser::new(&hub), Browser::new(&hub));
            let adas = answered(&hub, &ada.leave("/login/oidc", &[]).await).await;
            let eves = answered(&hub, &eve.leave("/login/oidc", &[]).await).await;
            let injected = eves.replace(&code_of(&eves), &code_of(&adas));
            assert_ne!(injected, eves);
            is_refusal(&eve.get(&injected).await, 401, "cannot be trusted");
            assert_eq!((eve.cookie("cs"), eve.who().await), (None, 401));
        }
    })
    .await;
}

/// Mix-up: the answer of another provider (RFC 9207).
#[tokio::test]
async fn an_answer_names_the_provider_that_was_asked() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        provider.name_itself("https://evil.example");
        is_refusal(&Browser::new(&hub).sign_in().await, 401, "cannot be trusted");
        provider.name_itself(&format!("{}/", provider.issuer()));
        is_refusal(&Browser::new(&hub).sign_in().await, 401, "cannot be trusted");
        let issuer = provider.issuer().to_owned();
        provider.name_itself(&issuer);
        assert_eq!(Browser::new(&hub).sign_in().await.status.as_u16(), 303);
        // Once it says that it always names itself, an answer without a name is another's.
        provider.behave();
        provider.alter_document(|document| {
            document["authorization_response_iss_parameter_supported"] = true.into();
        });
        hub.clock.advance(Duration::from_secs(3600));
        is_refusal(&Browser::new(&hub).sign_in().await, 401, "cannot be trusted");
        provider.name_itself(&issuer);
        assert_eq!(Browser::new(&hub).sign_in().await.status.as_u16(), 303);
    })
    .await;
}

/// Another's identity on one's account would be another's key to it.
#[tokio::test]
async fn nobody_else_connects_an_identity_to_ones_account() {
    with_provider(async |hub, provider| {
        let (bobs, eves) = (enrolled(&hub, "bob").await, enrolled(&hub, "eve").await);
        let (bob, eve) = (Browser::new(&hub), Browser::new(&hub));
        bob.log_in(&bobs).await;
        eve.log_in(&eves).await;
        let backdoor = Backdoor::open(&hub).await;
        provider.log_in(Person::of("eve there", "eve@evil.example"));
        // A page of another site cannot begin it, ...
        for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            for path in ["/account/connect", "/account/disconnect", "/login/oidc"] {
                let request = hub.request("POST", path).header(name, value).form(&[("", ""); 0]);
                assert_eq!(bob.send(request).await.status.as_u16(), 403, "{path}");
            }
        }
        assert_eq!(backdoor.count("oidc_flows").await, 0);
        // ... nor have Bob's browser end what Eve's began, ...
        let link = answered(&hub, &eve.leave("/account/connect", &[]).await).await;
        is_refusal(&bob.get(&link).await, 410, ANOTHER_BROWSER);
        // ... nor is it connected to whoever uses the browser then.
        let begun = bob.leave("/account/connect", &[]).await;
        bob.post("/account/logout", &[]).await;
        let anonymous = bob.get(&answered(&hub, &begun).await).await;
        is_refusal(&anonymous, 401, "signed out meanwhile");
        bob.log_in(&bobs).await;
        let begun = bob.leave("/account/connect", &[]).await;
        bob.log_in(&eves).await;
        is_refusal(&bob.get(&answered(&hub, &begun).await).await, 401, "signed out meanwhile");
        // Logging in, while logged in, connects nothing.
        is_refusal(&eve.sign_in().await, 403, "ask an admin");
        assert_eq!(backdoor.count("external_identities").await, 0);
        // Without a login there is nothing to connect, and a key is none.
        assert_eq!(Browser::new(&hub).post("/account/connect", &[]).await.status.as_u16(), 303);
        expect(hub.admin("POST", "/account/connect").form(&[("", ""); 0]), 409).await;
    })
    .await;
}

/// What is kept says nothing to whoever reads it.
#[tokio::test]
async fn what_is_kept_of_a_flow_opens_nothing() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let browser = Browser::new(&hub);
        let there = browser.leave("/login/oidc", &[]).await;
        let (_, state) = there.split_once("&state=").unwrap();
        let state = state.split('&').next().unwrap();
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!(backdoor.count("oidc_flows").await, 1);
        for (column, secret) in [("state_hash", state), ("browser_hash", &browser.cookie("cs-oidc").unwrap())]
        {
            let kept = backdoor.read_bytes(column, "FROM oidc_flows").await;
            assert_eq!(kept, domain::canonical::sha256(secret.as_bytes()), "{column}");
        }
        for cookie in [state, &browser.cookie("cs-oidc").unwrap()] {
            let me = hub.request("GET", "/api/v1/me").header("cookie", format!("cs={cookie}"));
            expect(me, 401).await;
        }
        hub.clock.advance(Duration::from_secs(2 * 3600));
        crate::support::eventually("the flow is forgotten", async || {
            (backdoor.count("oidc_flows").await == 0).then_some(())
        })
        .await;
    })
    .await;
}
