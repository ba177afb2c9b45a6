//! Answers as JSON.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use serde::Serialize;

use crate::problem::internal;

/// Most answers fit, so most are written without moving what is written already.
const ANSWER_BYTES: usize = 2048;

/// A value on its way out. Not axum's: that one writes into a shared buffer, which it asks for space word by word.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response<Body> {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        if let Err(error) = serde_json::to_writer(&mut bytes, &self.0) {
            return internal(&error).into_response();
        }
        let mut response = Response::new(Body::from(bytes));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
