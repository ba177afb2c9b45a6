//! Forms of pages, read as strictly as bodies of the API.

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use domain::Timestamp;
use domain::json::FieldError;
use serde::de::DeserializeOwned;
use wire::Code;

use super::wrong::wrong;
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

/// What is typed, where something is.
pub(super) fn some(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Words between commas, or on lines of their own.
pub(super) fn several(text: &str) -> Vec<String> {
    text.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A time of a browser, which sends no zone and mostly no seconds; what it is not is said of this place.
pub(super) fn moment(pointer: &str, text: &str, errors: &mut Vec<FieldError>) -> Option<Timestamp> {
    const TO_THE_MINUTE: usize = "2026-03-18T15:30".len();
    let mut text = some(text)?;
    if text.len() == TO_THE_MINUTE {
        text.push_str(":00");
    }
    if !text.ends_with('Z') {
        text.push('Z');
    }
    let read = text.parse::<Timestamp>();
    read.map_err(|_| errors.push(wrong(pointer, "must be a date and a time of day"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_between_commas_or_on_lines() {
        assert_eq!(several(" a, b\r\n,c "), ["a", "b", "c"]);
        assert_eq!((some(" "), some(" a ")), (None, Some("a".to_owned())));
    }

    #[test]
    fn a_time_is_as_browsers_send_it() {
        let mut errors = Vec::new();
        let mut read = |text| moment("/at", text, &mut errors).map(|at| at.to_string());
        let at = Some("2026-03-18T15:30:00.000000Z".to_owned());
        for text in ["2026-03-18T15:30", "2026-03-18T15:30:00", "2026-03-18T15:30:00Z"] {
            assert_eq!(read(text), at, "{text}");
        }
        assert_eq!((read(""), read("tomorrow")), (None, None));
        assert_eq!(errors, [wrong("/at", "must be a date and a time of day")]);
    }
}
