//! What only browsers need: the login's cookie, and the rule that other sites change nothing.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Response, Uri};
use axum::middleware::Next;
use axum::response::IntoResponse;
use domain::login_sessions::LOGIN_LASTS;
use wire::Code;

use crate::problem::Problem;
use crate::{App, Options};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// With the prefix a browser takes the cookie only over TLS, for this host alone, for all paths.
const SECURE_NAME: &str = "__Host-cs";
const PLAIN_NAME: &str = "cs";

/// The name of the login's cookie.
fn name(options: &Options) -> &'static str {
    if options.secure_cookies { SECURE_NAME } else { PLAIN_NAME }
}

/// The login's token, if the browser sent one.
pub(crate) fn login<'h>(options: &Options, headers: &'h HeaderMap) -> Option<&'h str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    pairs.flat_map(|pairs| pairs.split(';')).find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name(options)).then_some(value)
    })
}

/// Has the browser keep the login.
pub(crate) fn keep(options: &Options, token: &str) -> HeaderValue {
    cookie(options, token, LOGIN_LASTS.as_secs())
}

/// Has the browser forget it.
pub(crate) fn forget(options: &Options) -> HeaderValue {
    cookie(options, "", 0)
}

fn cookie(options: &Options, token: &str, seconds: u64) -> HeaderValue {
    let secure = if options.secure_cookies { "; Secure" } else { "" };
    let text =
        format!("{}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}", name(options));
    let mut value = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// Refuses what a page of another site has a browser send; whoever is no browser is not asked.
pub(crate) async fn same_origin(State(app): State<App>, request: Request, next: Next) -> Response<Body> {
    if is_own(request.method(), request.uri(), request.headers(), &app.options.public_url) {
        return next.run(request).await;
    }
    let detail = "this was sent by a page of another site; open the hub itself and try there";
    Problem::new(Code::Forbidden, detail).into_response()
}

/// Whether a request changes nothing, comes from a page of ours, or from no page at all. Browsers say where a page is
/// from in `Sec-Fetch-Site`, older ones in `Origin`; no page can change either.
fn is_own(method: &Method, uri: &Uri, headers: &HeaderMap, public_url: &str) -> bool {
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
