//! What only browsers need: cookies, and the rule that other sites change nothing.

use std::time::Duration;

use axum::http::header::{COOKIE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use domain::login_sessions::LOGIN_LASTS;
use domain::oidc_flows::FLOW_LASTS;

use crate::Options;

/// A year.
const THEME_LASTS: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a browser keeps for the hub. With the prefix `__Host-` it takes the cookie only over TLS, for this host alone, for
/// all paths.
#[derive(Clone, Copy)]
pub(crate) enum Cookie {
    /// The token of a login.
    Login,
    /// That this browser is the one that was sent to the provider of logins.
    Flow,
    /// How pages look in it.
    Theme,
}

/// How pages look, where the person has decided and not the system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// As the cookie and the page have it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// What this browser keeps; none where the system decides.
    pub(crate) fn chosen(options: &Options, headers: &HeaderMap) -> Option<Self> {
        Cookie::Theme.read(options, headers).and_then(|word| word.parse().ok())
    }
}

impl std::str::FromStr for Theme {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Light, Self::Dark].into_iter().find(|theme| theme.as_str() == text).ok_or(())
    }
}

impl Cookie {
    fn name(self, options: &Options) -> &'static str {
        match (self, options.secure_cookies) {
            (Self::Login, true) => "__Host-cs",
            (Self::Login, false) => "cs",
            (Self::Flow, true) => "__Host-cs-oidc",
            (Self::Flow, false) => "cs-oidc",
            (Self::Theme, _) => "theme",
        }
    }

    fn lasts(self) -> Duration {
        match self {
            Self::Login => LOGIN_LASTS,
            Self::Flow => FLOW_LASTS,
            Self::Theme => THEME_LASTS,
        }
    }

    /// What the browser sent.
    pub(crate) fn read<'h>(self, options: &Options, headers: &'h HeaderMap) -> Option<&'h str> {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        pairs.flat_map(|pairs| pairs.split(';')).find_map(|pair| {
            let (found, value) = pair.trim().split_once('=')?;
            (found == self.name(options)).then_some(value)
        })
    }

    /// Has the browser keep it.
    pub(crate) fn keep(self, options: &Options, secret: &str) -> HeaderValue {
        self.set(options, secret, self.lasts().as_secs())
    }

    /// Has the browser forget it.
    pub(crate) fn forget(self, options: &Options) -> HeaderValue {
        self.set(options, "", 0)
    }

    fn set(self, options: &Options, value: &str, seconds: u64) -> HeaderValue {
        let secure = if options.secure_cookies { "; Secure" } else { "" };
        let name = self.name(options);
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        let mut value = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// Whether a request changes nothing, comes from a page of ours, or from no page at all; others are refused. Browsers
/// say where a page is from in `Sec-Fetch-Site`, older ones in `Origin`; no page can change either.
pub(crate) fn is_own(method: &Method, uri: &Uri, headers: &HeaderMap, public_url: &str) -> bool {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return true;
    }
    let header = |name| headers.get(name).map(HeaderValue::as_bytes).filter(|value| !value.is_empty());
    let origin = header(ORIGIN);
    // For a proxy that does not pass on `Host`.
    let is_public = origin == Some(public_url.trim_end_matches('/').as_bytes());
    match (header(SEC_FETCH_SITE), origin) {
        (Some(b"same-origin" | b"none"), _) => true,
        (Some(_), _) => is_public,
        (None, None) => true,
        (None, Some(origin)) => is_public || (is_host(origin, uri, header(HOST))),
    }
}

/// Whether the origin is the host that the request was sent to.
fn is_host(origin: &[u8], uri: &Uri, host: Option<&[u8]>) -> bool {
    let origin = Uri::try_from(origin).ok().filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let asked = uri.authority().map(|authority| authority.as_str().as_bytes()).or(host);
    let from = origin.as_ref().and_then(Uri::authority).map(|authority| authority.as_str().as_bytes());
    from.is_some() && from == asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expected: bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().chain(&[("host", "hub.internal:8000")]) {
            map.insert(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let uri = Uri::from_static("/account/logout");
        let public = "https://hub.example";
        assert_eq!(is_own(&Method::POST, &uri, &map, public), expected, "{headers:?}");
        assert!(is_own(&Method::GET, &uri, &map, public), "what changes nothing is everybody's");
    }

    #[test]
    fn only_pages_of_ours_and_programs_change_anything() {
        check(&[], true);
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "none")], true);
        check(&[("sec-fetch-site", "same-site")], false);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "nonsense")], false);
        check(&[("sec-fetch-site", "cross-site"), ("origin", "https://hub.example")], true);
        check(&[("sec-fetch-site", "cross-site"), ("origin", "http://hub.internal:8000")], false);
        check(&[("origin", "http://hub.internal:8000")], true);
        check(&[("origin", "https://hub.example")], true);
        check(&[("origin", "https://hub.example.evil")], false);
        check(&[("origin", "http://hub.internal")], false);
        check(&[("origin", "ftp://hub.internal:8000")], false);
        check(&[("origin", "null")], false);
        check(&[("origin", "")], true);
    }
}
