//! What pages look like.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use wire::Code;

use crate::problem::Problem;

/// An hour: a release that changes them is seen soon.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const CSS: &str = "text/css; charset=utf-8";

const FILES: &[(&str, &str, &str)] = &[
    ("app.css", CSS, include_str!("../../assets/app.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ("tokens.css", CSS, include_str!("../../assets/tokens.css")),
];

/// One of the files.
pub(crate) async fn get(Path(name): Path<String>) -> Result<Response<Body>, Problem> {
    let file = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, kind, text) = file.ok_or_else(|| Problem::new(Code::NotFound, "there is no such file"))?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(kind)), (CACHE_CONTROL, KEPT)], *text).into_response())
}
