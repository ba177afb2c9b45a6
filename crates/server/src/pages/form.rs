//! Forms of pages, read as strictly as bodies of the API.

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use wire::Code;

use crate::extract::whole_body;
use crate::problem::Problem;

/// The fields of a form; unknown and repeated ones are refused.
pub(crate) struct Filled<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Filled<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let text = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = text.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Problem::new(Code::UnsupportedMediaType, "this page takes forms only"));
        }
        let (parts, body) = request.into_parts();
        let kept = parts.clone();
        let bytes = whole_body(Request::from_parts(parts, body)).await?;
        let whole = Request::from_parts(kept, Body::from(bytes));
        // Why exactly is not said: axum's words repeat what was typed, and that may be a password.
        let filled = Form::<T>::from_request(whole, state).await;
        filled
            .map(|Form(fields)| Self(fields))
            .map_err(|_| Problem::field("", "the form is not the one of this page"))
    }
}
