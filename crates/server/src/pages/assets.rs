//! What pages look like.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use domain::canonical::sha256;
use wire::Code;

use crate::problem::Problem;

/// For addresses that name the version: what is there never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// For all others: kept, and asked about each time.
const ASKED: HeaderValue = HeaderValue::from_static("no-cache");
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const VERSION_DIGITS: usize = 12;

const FILES: &[(&str, &str, &str)] = &[
    ("app.css", CSS, include_str!("../../assets/app.css")),
    ("app.js", JS, include_str!("../../assets/app.js")),
    ("icon.svg", SVG, include_str!("../../assets/icon.svg")),
    ("icons.svg", SVG, include_str!("../../assets/icons.svg")),
    ("tokens.css", CSS, include_str!("../../assets/tokens.css")),
];

/// All files together have one version, so that a release is seen at once and as a whole.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = FILES.iter().map(|(name, _, text)| format!("{name}\n{text}\n")).collect();
    hex::encode(sha256(all.as_bytes())).chars().take(VERSION_DIGITS).collect()
});

/// The address of a file, with the version of all.
pub(super) fn address(name: &str) -> String {
    format!("/assets/{name}?v={}", *VERSION)
}

/// One of the files.
pub(crate) async fn get(
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let file = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, kind, text) = file.ok_or_else(|| Problem::new(Code::NotFound, "there is no such file"))?;
    let names_version = query.and_then(|query| query.strip_prefix("v=").map(|version| version == *VERSION));
    let kept = if names_version == Some(true) { FOR_EVER } else { ASKED };
    let tag = HeaderValue::try_from(format!("\"{}\"", *VERSION)).unwrap_or(HeaderValue::from_static("\"\""));
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| *known == tag);
    let about = [(CACHE_CONTROL, kept), (ETAG, tag)];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, HeaderValue::from_static(kind))], *text).into_response())
}
