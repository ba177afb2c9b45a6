//! The answer to a request that was not carried out (RFC 9457, `application/problem+json`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Code;

/// What went wrong, for programs (`code`, `errors`) and for people (`title`, `detail`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where the page about this code is, relative to the hub.
    #[serde(rename = "type")]
    #[schema(example = "/errors/NOT_FOUND")]
    pub type_uri: String,
    /// The code in a few words; the same for every occurrence.
    pub title: String,
    /// The HTTP status, repeated.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The path that was asked for, without its query.
    pub instance: String,
    /// Stable name to branch on.
    // Text, because a newer hub may send codes this version does not know.
    #[schema(example = "NOT_FOUND", pattern = "^[A-Z][A-Z_]*$")]
    pub code: String,
    /// Finds this request in the hub's log; also in the header `x-request-id`.
    pub request_id: String,
    /// The places in the input that are not valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Members that only some codes have, such as `state` or `oldest_seq`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One place in the input that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) into the body; for a query parameter `/name`.
    #[schema(example = "/name")]
    pub pointer: String,
    /// What is wrong there, and what would be right.
    pub detail: String,
}

impl Problem {
    /// A problem with this code. `instance` and `request_id` are empty until the edge, which knows them, fills them in.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            type_uri: format!("/errors/{code}"),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            instance: String::new(),
            code: code.as_str().to_owned(),
            request_id: String::new(),
            errors: Vec::new(),
            extra: Map::new(),
        }
    }

    /// What a request is told that does not keep to its form: every place at once.
    #[must_use]
    pub fn invalid(report: &garde::Report) -> Self {
        let errors: Vec<FieldError> = report
            .iter()
            .map(|(path, error)| FieldError { pointer: pointer(path), detail: error.to_string() })
            .collect();
        let detail = match errors.len() {
            1 => "1 field is not valid".to_owned(),
            count => format!("{count} fields are not valid"),
        };
        Self { errors, ..Self::new(Code::ValidationFailed, detail) }
    }

    /// The same with one more place in the input that is not valid.
    #[must_use]
    pub fn with_error(mut self, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        self.errors.push(FieldError { pointer: pointer.into(), detail: detail.into() });
        self
    }

    /// The same with a member of its own, such as `state`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// The code, if this version knows it.
    #[must_use]
    pub fn known_code(&self) -> Option<Code> {
        self.code.parse().ok()
    }
}

/// `scopes[0]` as a JSON pointer. Our field names hold none of the characters that a pointer must escape.
fn pointer(path: &garde::Path) -> String {
    let parts = path.to_string().replace('[', ".").replace(']', "");
    format!("/{}", parts.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use garde::Validate as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_every_place_that_is_not_valid() {
        let request = crate::CreateApiKey { scopes: Some(vec![String::new()]), ..Default::default() };
        let problem = Problem::invalid(&request.validate().unwrap_err());
        let pointers: Vec<&str> = problem.errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/name", "/scopes/0"]);
        assert_eq!((problem.status, problem.detail.as_str()), (422, "2 fields are not valid"));
    }

    #[test]
    fn travels_as_rfc_9457() {
        let mut problem = Problem::new(Code::InvalidState, "a revoked key cannot be rotated")
            .with("state", "revoked")
            .with_error("/id", "is revoked");
        problem.instance = "/api/v1/api-keys/7/rotate".to_owned();
        problem.request_id = "r-1".to_owned();
        let sent = json!({
            "type": "/errors/INVALID_STATE", "title": "Its state does not allow this", "status": 409,
            "detail": "a revoked key cannot be rotated", "instance": "/api/v1/api-keys/7/rotate",
            "code": "INVALID_STATE", "request_id": "r-1",
            "errors": [{"pointer": "/id", "detail": "is revoked"}], "state": "revoked",
        });
        assert_eq!(serde_json::to_value(&problem).unwrap(), sent);
        assert_eq!(serde_json::from_value::<Problem>(sent).unwrap(), problem);
    }

    #[test]
    fn has_no_empty_list_of_errors() {
        let sent = serde_json::to_value(Problem::new(Code::NotFound, "no")).unwrap();
        assert_eq!(sent.get("errors"), None);
    }

    #[test]
    fn a_code_from_the_future_is_kept_as_text() {
        let mut problem = Problem::new(Code::Conflict, "no");
        assert_eq!(problem.known_code(), Some(Code::Conflict));
        problem.code = "MERCURY_RETROGRADE".to_owned();
        assert_eq!(problem.known_code(), None);
    }
}
