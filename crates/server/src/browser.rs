//! What only browsers need: the login's cookie, and the rule that other sites change nothing.

use axum::body::Body;
use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::response::IntoResponse;
use domain::login_sessions::LOGIN_LASTS;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use wire::Code;

use crate::Options;
use crate::problem::Problem;

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
pub(crate) fn same_origin(public_url: &str) -> CsrfLayer<fn(ProtectionError) -> Response<Body>> {
    let refuse: fn(ProtectionError) -> Response<Body> = |_| {
        let detail = "this was sent by a page of another site; open the hub itself and try there";
        Problem::new(Code::Forbidden, detail).into_response()
    };
    // The hub's own address passes without being named; this is for a proxy that does not pass on `Host`.
    let layer = CsrfLayer::new();
    let layer = layer.clone().add_trusted_origin(public_url).unwrap_or(layer);
    layer.with_rejection_response(refuse)
}
