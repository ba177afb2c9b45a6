//! The provider of logins that the operator named: what it says about itself, where it sends browsers, what it answers.
//!
//! It speaks HTTP (`fetch`), reads what the provider publishes (`metadata`), verifies what it signed (`jws`), and keeps
//! both for a while (`provider`). It knows no accounts: who somebody is here, `external_identities` decides.
//!
//! **Invariant:** nothing a provider says is believed unless its signature is right, whatever the token itself claims
//! about how it is signed.

mod fetch;
mod jws;
mod metadata;
mod provider;
#[cfg(test)]
mod tests;

use std::fmt;

use reqwest::Url;

pub use fetch::Trouble;
pub use provider::Provider;
pub(super) use provider::{Asking, Coming, Unproven};

/// What the operator said about the provider, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who it is.
    pub issuer: Issuer,
    /// Who the hub is to it.
    pub client_id: String,
    /// How the hub proves that; none for a public client.
    pub client_secret: Option<ClientSecret>,
    /// What people call it.
    pub name: String,
    /// What the hub asks for, separated by spaces; `openid` is among it.
    pub scopes: String,
}

/// The name of a provider, which is also its address. Compared letter by letter, so it is kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    url: Url,
}

impl Issuer {
    /// An address that can be trusted to be the provider's: over TLS, or on this machine.
    ///
    /// # Errors
    /// The reason why not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("not a URL ({error})"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a user name or password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("it has a query or a fragment, which an issuer never has".to_owned());
        }
        match url.scheme() {
            "https" => Ok(Self { text: text.to_owned(), url }),
            "http" if is_loopback(&url) => Ok(Self { text: text.to_owned(), url }),
            "http" => Err("logins over plain http are only for a provider on this machine".to_owned()),
            other => Err(format!("the scheme is {other}, not https")),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, for people.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Where it describes itself.
    fn discovery(&self) -> Result<Url, String> {
        let text = format!("{}/.well-known/openid-configuration", self.text.trim_end_matches('/'));
        Url::parse(&text).map_err(|error| error.to_string())
    }

    /// An address that the provider names. It is no less safe than the provider's own.
    fn endpoint(&self, text: &str) -> Option<Url> {
        let url = Url::parse(text).ok()?;
        let is_plain_and_local = self.url.scheme() == "http" && url.scheme() == "http" && is_loopback(&url);
        let has_login = !url.username().is_empty() || url.password().is_some();
        ((url.scheme() == "https" || is_plain_and_local) && !has_login && url.fragment().is_none())
            .then_some(url)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The hub's password at the provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Takes it from the configuration.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}
