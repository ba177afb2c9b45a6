//! Somebody with a browser that keeps what the hub gives it, and goes to the provider and back.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use testkit::TestHub;
use testkit::oidc::{OidcProvider, Person};
use testkit::reqwest::redirect::Policy;
use testkit::reqwest::{Client, RequestBuilder};

use crate::support::{Answer, send_any};

/// A browser with cookies of its own.
pub(crate) struct Browser<'h> {
    hub: &'h TestHub,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl<'h> Browser<'h> {
    pub(crate) fn new(hub: &'h TestHub) -> Self {
        Self { hub, cookies: Mutex::default() }
    }

    fn kept(&self) -> BTreeMap<String, String> {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it keeps under this name.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.kept().get(name).cloned()
    }

    /// Sends a request with its cookies, and keeps what the answer says.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let cookies: Vec<String> =
            self.kept().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = send_any(request.header("cookie", cookies.join("; "))).await;
        let mut kept = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        for set in answer.headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value.is_empty() {
                true => kept.remove(name),
                false => kept.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.hub.request("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.send(self.hub.request("POST", path).form(form)).await
    }

    /// Logs in with everybody's password.
    pub(crate) async fn log_in(&self, email: &str) {
        let answer = self.post("/login", &[("email", email), ("password", crate::support::PASSWORD)]).await;
        assert_eq!(answer.status.as_u16(), 303, "{}", answer.text());
    }

    /// Presses the button; where the page leads.
    pub(crate) async fn leave(&self, path: &str, form: &[(&str, &str)]) -> String {
        let page = self.post(path, form).await;
        assert_eq!(page.status.as_u16(), 200, "{}", page.text());
        leads(&page)
    }

    /// From the button to the answer of the hub when the provider has sent the browser back.
    pub(crate) async fn sign_in(&self) -> Answer {
        let there = self.leave("/login/oidc", &[]).await;
        self.get(&answered(self.hub, &there).await).await
    }

    /// The same to connect the account.
    pub(crate) async fn connect(&self) -> Answer {
        let there = self.leave("/account/connect", &[]).await;
        self.get(&answered(self.hub, &there).await).await
    }

    /// The status of the question who one is.
    pub(crate) async fn who(&self) -> u16 {
        self.get("/api/v1/me").await.status.as_u16()
    }

    /// One's address.
    pub(crate) async fn email(&self) -> String {
        let me = self.get("/api/v1/me").await.json();
        me["account"]["email"].as_str().unwrap_or_else(|| panic!("{me}")).to_owned()
    }
}

/// Where a page that leads to the provider leads: by itself, and by its link.
fn leads(page: &Answer) -> String {
    let text = page.text();
    let between = |begin: &str| {
        let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
        rest.split_once('"').unwrap().0.replace("&#38;", "&")
    };
    let (itself, link) = (between("content=\"0; url="), between("btn-lg\" href=\""));
    assert_eq!(itself, link);
    link
}

/// What the provider answers to a browser that comes there: a path of the hub.
pub(crate) async fn answered(hub: &TestHub, location: &str) -> String {
    let http = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let answer = http.get(location).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 302, "{}", location.split('?').next().unwrap());
    let to = answer.headers()["location"].to_str().unwrap();
    to.strip_prefix(&hub.url()).unwrap_or_else(|| panic!("not the hub")).to_owned()
}

/// Adds an account to organization `default` that nobody has a credential for; whoever has its address at the provider
/// is logged in there.
pub(crate) async fn invited(hub: &TestHub, provider: &OidcProvider, name: &str) -> String {
    let email = format!("{name}@default.example");
    let body = serde_json::json!({"email": email, "display_name": name});
    crate::support::expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await;
    provider.log_in(Person::of(&format!("subject of {name}"), &email));
    email
}
