//! A provider that lies, changes its keys, or is not there.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::oidc::{CLIENT_ID, Conduct, Endpoint, OidcProvider, Person, Signing, with_provider};
use testkit::{Setup, TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::oidc::is_refusal;
use crate::support::{Answer, PASSWORD, enrolled, expect};
use crate::visitor::{Browser, answered, invited};

/// Failures close an address for a while; here that is not the question.
async fn later(hub: &TestHub) {
    hub.clock.advance(Duration::from_secs(15 * 60));
}

fn is_let_in(answer: &Answer) {
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some("/")), "{}", answer.text());
}

#[tokio::test]
async fn signatures_of_every_good_kind_are_believed_and_no_others() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        use Signing::{
            AnotherText, EdDsa, Es256, Es384, ForgedKey, Ps256, PublicKeyAsSecret, Rs256, Unsigned,
        };
        for good in [Rs256, Ps256, Es256, Es384, EdDsa] {
            provider.sign(good);
            is_let_in(&Browser::new(&hub).sign_in().await);
        }
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("login_sessions").await;
        for bad in [Unsigned, PublicKeyAsSecret, ForgedKey, AnotherText] {
            provider.sign(bad);
            let browser = Browser::new(&hub);
            is_refusal(&browser.sign_in().await, 401, "cannot be trusted");
            assert_eq!(browser.cookie("cs"), None, "{bad:?}");
        }
        assert_eq!(backdoor.count("login_sessions").await, before);
    })
    .await;
}

/// One change each to a token that is otherwise right and rightly signed.
fn lies() -> Vec<(&'static str, Value)> {
    vec![
        ("iss", json!("https://evil.example")),
        ("iss", json!(null)),
        ("aud", json!("another client")),
        ("aud", json!([CLIENT_ID, "another client"])),
        ("azp", json!("another client")),
        ("nonce", json!("another login's")),
        ("nonce", json!(null)),
        ("exp", json!(1)),
        ("exp", json!(null)),
        ("iat", json!(99_999_999_999_i64)),
        ("nbf", json!(99_999_999_999_i64)),
        ("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
        ("sub", json!("")),
        ("sub", json!(null)),
    ]
}

#[tokio::test]
async fn a_token_that_is_not_for_this_login_is_not_believed() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let backdoor = Backdoor::open(&hub).await;
        for (claim, value) in lies() {
            let said = value.clone();
            provider.alter_claims(move |claims| claims[claim] = said.clone());
            let answer = Browser::new(&hub).sign_in().await;
            assert_eq!(answer.status.as_u16(), 401, "{claim} {value}: {}", answer.text());
            is_refusal(&answer, 401, "cannot be trusted");
            later(&hub).await;
        }
        assert_eq!(backdoor.count("login_sessions").await, 0);
        assert_eq!(backdoor.count("external_identities").await, 0);
        provider.alter_claims(|claims| claims["aud"] = json!([CLIENT_ID]));
        is_let_in(&Browser::new(&hub).sign_in().await);
    })
    .await;
}

#[tokio::test]
async fn new_keys_are_fetched_once_a_minute_at_most() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        is_let_in(&Browser::new(&hub).sign_in().await);
        is_let_in(&Browser::new(&hub).sign_in().await);
        assert_eq!((provider.asked(Endpoint::Discovery), provider.asked(Endpoint::Keys)), (1, 1), "kept");
        provider.rotate_keys();
        is_let_in(&Browser::new(&hub).sign_in().await);
        assert_eq!(provider.asked(Endpoint::Keys), 2);
        provider.rotate_keys();
        is_refusal(&Browser::new(&hub).sign_in().await, 401, "cannot be trusted");
        assert_eq!(provider.asked(Endpoint::Keys), 2);
        hub.clock.advance(Duration::from_secs(60));
        is_let_in(&Browser::new(&hub).sign_in().await);
        assert_eq!((provider.asked(Endpoint::Discovery), provider.asked(Endpoint::Keys)), (1, 3));
        hub.clock.advance(Duration::from_secs(3600));
        is_let_in(&Browser::new(&hub).sign_in().await);
        assert_eq!(provider.asked(Endpoint::Discovery), 2, "an hour is long enough");
    })
    .await;
}

/// The hub's other doors stay open, and so do its eyes: what is wrong is told.
async fn others_come_in(hub: &TestHub, email: &str) {
    let form = [("email", email), ("password", PASSWORD)];
    expect(hub.request("POST", "/login").form(&form), 303).await;
}

fn is_away(answer: &Answer) {
    is_refusal(answer, 503, "Test ID could not be reached");
    assert_eq!(answer.header("retry-after"), Some("5"));
}

#[tokio::test]
async fn a_provider_that_does_not_answer_as_it_must_is_away() {
    with_provider(async |hub, provider| {
        invited(&hub, &provider, "ada").await;
        let bob = enrolled(&hub, "bob").await;
        let conducts =
            [Conduct::Status(500), Conduct::Redirect, Conduct::Huge, Conduct::Prose, Conduct::Silent];
        for conduct in conducts {
            // What is known ends, so that all of it is asked for again.
            for endpoint in [Endpoint::Discovery, Endpoint::Keys] {
                hub.clock.advance(Duration::from_secs(3600));
                provider.misbehave(endpoint, conduct);
                let page = Browser::new(&hub).post("/login/oidc", &[("next", "/account")]).await;
                is_away(&page);
                assert!(page.text().contains("name=\"password\""), "the page to log in, again");
                let asked = provider.asked(endpoint);
                is_away(&Browser::new(&hub).post("/login/oidc", &[]).await);
                assert_eq!(provider.asked(endpoint), asked, "not asked again at once");
                others_come_in(&hub, &bob).await;
                provider.behave();
                if conduct == Conduct::Silent {
                    break;
                }
            }
            hub.clock.advance(Duration::from_secs(5));
            let browser = Browser::new(&hub);
            let there = browser.leave("/login/oidc", &[]).await;
            provider.misbehave(Endpoint::Token, conduct);
            is_away(&browser.get(&answered(&hub, &there).await).await);
            provider.behave();
            is_let_in(&Browser::new(&hub).sign_in().await);
        }
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_another_or_leads_elsewhere_is_away() {
    with_provider(async |hub, provider| {
        let wrong = [
            ("issuer", json!("https://another.example")),
            ("issuer", json!(null)),
            ("authorization_endpoint", json!("javascript:alert(1)")),
            ("token_endpoint", json!("http://192.0.2.1/token")),
            ("jwks_uri", json!(null)),
            ("token_endpoint_auth_methods_supported", json!(["private_key_jwt"])),
        ];
        for (name, value) in wrong {
            hub.clock.advance(Duration::from_secs(3600));
            provider.alter_document(move |document| document[name] = value.clone());
            is_away(&Browser::new(&hub).post("/login/oidc", &[]).await);
        }
    })
    .await;
}

#[tokio::test]
async fn a_hub_starts_without_its_provider() {
    on_each_engine(async |plain| {
        let provider = OidcProvider::start();
        let mut setup = Setup::on(plain.hub.records.engine());
        setup.provider = Some(provider.clone());
        provider.misbehave(Endpoint::Discovery, Conduct::Status(503));
        let hub = TestHub::start(setup).await;
        let bob = enrolled(&hub, "bob").await;
        assert!(Browser::new(&hub).get("/login").await.text().contains("Sign in with Test ID"));
        is_away(&Browser::new(&hub).post("/login/oidc", &[]).await);
        let connecting = Browser::new(&hub);
        connecting.log_in(&bob).await;
        is_away(&connecting.post("/account/connect", &[]).await);
        provider.behave();
        provider.log_in(Person::of("bob there", "b@b.example"));
        hub.clock.advance(Duration::from_secs(5));
        assert_eq!(connecting.connect().await.header("location"), Some("/account?done=connected"));
    })
    .await;
}

/// By a header, in the form, or not at all: as the provider says.
#[tokio::test]
async fn the_hub_proves_itself_as_the_provider_asks() {
    on_each_engine(async |plain| {
        let engine = plain.hub.records.engine();
        let with_post = OidcProvider::start();
        with_post.alter_document(|document| {
            document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
        });
        for provider in [with_post, OidcProvider::start_public()] {
            let hub = TestHub::start(Setup { provider: Some(provider.clone()), ..Setup::on(engine) }).await;
            invited(&hub, &provider, "ada").await;
            is_let_in(&Browser::new(&hub).sign_in().await);
        }
    })
    .await;
}
