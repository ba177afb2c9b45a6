//! The provider of logins, from the operator's variables to somebody who is logged in.

use testkit::oidc::{CLIENT_ID, OidcProvider, Person};
use testkit::reqwest::redirect::Policy;
use testkit::reqwest::{Client, Response};

use crate::support::{Home, Kind, Served};

const USAGE: i32 = 2;

fn configured(kind: Kind, provider: &OidcProvider) -> Home {
    Home::on(kind)
        .env("COUNTERSIGN_OIDC_ISSUER", provider.issuer())
        .env("COUNTERSIGN_OIDC_CLIENT_ID", CLIENT_ID)
        .env("COUNTERSIGN_OIDC_CLIENT_SECRET", provider.client_secret().unwrap())
        .env("COUNTERSIGN_OIDC_NAME", "Example <ID>")
}

fn http() -> Client {
    Client::builder().no_proxy().tls_certs_only([]).redirect(Policy::none()).build().unwrap()
}

fn kept(answer: &Response, name: &str) -> Option<String> {
    let set = answer.headers().get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    let pairs = set.filter_map(|set| set.split(';').next()?.split_once('='));
    pairs
        .filter(|(known, value)| *known == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
        .next()
}

/// From the button to a login; its token.
async fn signed_in(served: &Served) -> String {
    let start = http().post(format!("{}/login/oidc", served.url)).form(&[("", ""); 0]).send().await.unwrap();
    let flow = kept(&start, "cs-oidc").expect("a cookie for the way");
    let page = start.text().await.unwrap();
    let (_, rest) = page.split_once("content=\"0; url=").expect("a way on");
    let there = rest.split_once('"').unwrap().0.replace("&#38;", "&");
    let back = http().get(there).send().await.unwrap();
    let back = back.headers()["location"].to_str().unwrap().to_owned();
    let arrived = http().get(back).header("cookie", format!("cs-oidc={flow}")).send().await.unwrap();
    assert_eq!(arrived.status().as_u16(), 303);
    kept(&arrived, "cs").expect("a login")
}

#[tokio::test]
async fn a_program_with_a_provider_lets_people_in_and_says_no_secret() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let provider = OidcProvider::start();
        let home = configured(kind, &provider);
        let served = home.serve().await;
        home.as_admin(&served, &["account", "create", "ada@example.org", "--name", "Ada"]).done();
        provider.log_in(Person::of("ada there", "ada@example.org"));
        let page = http().get(format!("{}/login", served.url)).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("Sign in with Example &#60;ID&#62;"), "{page}");
        let token = signed_in(&served).await;
        let me = served.client(&token).me().await.unwrap();
        assert_eq!(me.account.email, "ada@example.org");
        let secret = provider.client_secret().unwrap();
        let shown = home.run_on_data(&["config", "check"]).done();
        assert!(shown.contains("oidc_client_secret") && !shown.contains(secret), "{shown}");
        let ran = served.stop();
        assert!(
            !ran.err.contains(secret) && !ran.err.contains(&token) && !ran.err.contains("code="),
            "{}",
            ran.err
        );
    }
}

#[tokio::test]
async fn a_provider_that_is_away_is_told_and_half_of_one_is_refused() {
    let provider = OidcProvider::start();
    let home = configured(Kind::Sqlite, &provider);
    drop(provider);
    let served = home.serve().await;
    let said = served.process.err_until("what is wrong", |text| text.contains("provider of logins"));
    assert!(said.contains("openid-configuration"), "{said}");
    let start = http().post(format!("{}/login/oidc", served.url)).form(&[("", ""); 0]).send().await.unwrap();
    assert_eq!(start.status().as_u16(), 503);
    assert!(start.text().await.unwrap().contains("could not be reached"));
    served.stop();
    let half = Home::on(Kind::Sqlite).env("COUNTERSIGN_OIDC_CLIENT_ID", "hub");
    half.refused().assert_refused(USAGE, &["oidc_issuer", "required", "oidc_client_id"]);
}
