//! Errors as clients see them: one match from what the hub says to problem+json.
//!
//! A [`Problem`] travels to `frame` as an extension of the response; there it gets its request id and is rendered.

use std::any::Any;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use domain::json::{JsonError, JsonErrorKind};
use hub::{HubError, RecordsError};
use wire::Code;

/// Seconds after which trying again makes sense.
const RETRY_AFTER_SECONDS: u32 = 1;
const RETRY_AFTER_DISK_FULL_SECONDS: u32 = 30;
/// Sockets stay open for long.
const RETRY_AFTER_TOO_MANY_FOLLOWERS_SECONDS: u32 = 30;
/// Tasks end when people have decided.
const RETRY_AFTER_TOO_MANY_OPEN_SECONDS: u32 = 60;
/// A provider of logins that is away is not asked before.
pub(crate) const RETRY_AFTER_PROVIDER_SECONDS: u32 = 5;

/// An answer that is not a success.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) code: Code,
    pub(crate) body: Box<wire::Problem>,
    pub(crate) headers: HeaderMap,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let headers = HeaderMap::new();
        Self { code, body: Box::new(wire::Problem::new(code, detail)), headers }
    }

    /// 422 about one place of the input.
    pub(crate) fn field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Code::ValidationFailed, "1 field is not valid").naming(pointer, detail)
    }

    /// Names a place of the input, and what is wrong there.
    pub(crate) fn naming(mut self, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        self.body = Box::new(self.body.with_error(pointer, detail));
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl ToString) -> Self {
        if let Ok(value) = HeaderValue::try_from(value.to_string()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.with_header("retry-after", seconds)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.body = Box::new(self.body.with(name, value));
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self);
        response
    }
}

impl From<HubError> for Problem {
    fn from(error: HubError) -> Self {
        let detail = error.to_string();
        match error {
            HubError::Records(error) => error.into(),
            HubError::Unauthenticated(_) => {
                Self::new(Code::Unauthenticated, detail).with_header("www-authenticate", "Bearer")
            }
            HubError::Forbidden(_) => Self::new(Code::Forbidden, detail),
            HubError::NotFound(_) => Self::new(Code::NotFound, detail),
            HubError::Invalid(errors) => errors.into(),
            HubError::InvalidState { state, .. } => {
                Self::new(Code::InvalidState, detail).with("state", state)
            }
            HubError::NotYourReview(_) => Self::new(Code::NotYourReview, detail),
            HubError::SelfApproval(_) => Self::new(Code::SelfApproval, detail),
            HubError::AlreadyResolved { resolution, .. } => {
                Self::new(Code::AlreadyResolved, detail).with("resolution", resolution)
            }
            HubError::StaleContent { content_hash, review_hash } => Self::new(Code::StaleContent, detail)
                .with("content_hash", content_hash)
                .with("review_hash", review_hash),
            HubError::Batch { failed, .. } => of_batch(failed, detail),
            HubError::Conflict(_) => Self::new(Code::Conflict, detail),
            HubError::PreconditionFailed => Self::new(Code::PreconditionFailed, detail),
            HubError::IdempotencyMismatch => Self::new(Code::IdempotencyMismatch, detail),
            HubError::IdempotencyInFlight => {
                Self::new(Code::IdempotencyInFlight, detail).retry_after(RETRY_AFTER_SECONDS)
            }
            HubError::TooManyWaiting => Self::new(Code::RateLimited, detail).retry_after(RETRY_AFTER_SECONDS),
            HubError::AddressNotAllowed(_) => {
                Self::new(Code::AddressNotAllowed, "1 field is not valid").naming("/url", detail)
            }
            HubError::TooManyFollowers => {
                Self::new(Code::Overloaded, detail).retry_after(RETRY_AFTER_TOO_MANY_FOLLOWERS_SECONDS)
            }
            HubError::TooMany { retry_after_seconds, .. } => {
                Self::new(Code::RateLimited, detail).retry_after(retry_after_seconds)
            }
            HubError::TooManyOpen { .. } => {
                Self::new(Code::TooManyOpen, detail).retry_after(RETRY_AFTER_TOO_MANY_OPEN_SECONDS)
            }
            HubError::ExecutorDisabled(_) => {
                Self::new(Code::ExecutorDisabled, detail).naming("/config/action/kind", "must be external")
            }
            HubError::NotBegun(why) => crate::api::executions::not_begun(&why, detail),
            HubError::AttemptEnded(ended) => Self::new(Code::AttemptEnded, detail)
                .with("result", ended.result)
                .with("outcome", ended.outcome)
                .with("error", ended.error),
            HubError::AuthorizationPending => Self::new(Code::AuthorizationPending, detail),
            HubError::AccessDenied(_) => Self::new(Code::AccessDenied, detail),
            HubError::Expired(_) => Self::new(Code::Expired, detail),
            HubError::ProviderUnavailable(_) => {
                Self::new(Code::ProviderUnavailable, detail).retry_after(RETRY_AFTER_PROVIDER_SECONDS)
            }
            HubError::EventsGone { oldest_seq } => {
                Self::new(Code::EventsGone, detail).with("oldest_seq", oldest_seq)
            }
            HubError::TaskArchived { archive_id, archived_at } => Self::new(Code::TaskArchived, detail)
                .with("archive_id", archive_id)
                .with("archived_at", archived_at),
            HubError::Grant(refusal) => crate::api::standalone_grants::refused(&refusal, detail),
            HubError::GrantStore(_) => {
                tracing::error!("{detail}");
                let told = "the store of grants does not answer, or refuses; try again";
                Self::new(Code::CoordinationUnavailable, told).retry_after(RETRY_AFTER_SECONDS)
            }
            HubError::Lock(refusal) => crate::api::locks::refused(&refusal, detail),
            HubError::NoRandomness(_) | HubError::Keys(_) => internal(&detail),
        }
    }
}

/// Every answer that failed, by its id. What they have in common is the code.
fn of_batch(failed: Vec<hub::Failed>, detail: String) -> Problem {
    let failed: Vec<(usize, String, Problem)> =
        failed.into_iter().map(|one| (one.place, one.approval_id.to_string(), one.error.into())).collect();
    let first = failed.first().map_or(Code::BatchRefused, |(_, _, problem)| problem.code);
    let is_one = failed.iter().all(|(_, _, problem)| problem.code == first);
    let mut problem = Problem::new(if is_one { first } else { Code::BatchRefused }, detail);
    for (place, id, why) in failed {
        let detail = format!("{id}: {}: {}", why.code, why.body.detail);
        problem = problem.naming(format!("/approval_ids/{place}"), detail);
    }
    problem
}

impl From<RecordsError> for Problem {
    fn from(error: RecordsError) -> Self {
        let known = |code: Code, detail: &str| Self::new(code, detail).retry_after(RETRY_AFTER_SECONDS);
        match &error {
            RecordsError::Duplicate { .. } => {
                Self::new(Code::Conflict, "something with that name exists already")
            }
            RecordsError::LostRace { .. } => known(
                Code::Overloaded,
                "others change the same thing faster than this request could; try again",
            ),
            RecordsError::Overloaded => {
                known(Code::Overloaded, "the hub has more to do than it can; try again")
            }
            RecordsError::OutcomeUnknown(_) => {
                tracing::error!("{error}");
                known(
                    Code::OutcomeUnknown,
                    "the change may or may not have been saved; read before trying again",
                )
            }
            RecordsError::DiskFull => Self::new(Code::DiskFull, "the disk is full; nothing was changed")
                .retry_after(RETRY_AFTER_DISK_FULL_SECONDS),
            RecordsError::Unavailable(_) => {
                tracing::warn!("{error}");
                known(Code::RecordsUnavailable, "the database cannot be reached; nothing was changed")
            }
            RecordsError::Constraint { .. }
            | RecordsError::BadRow { .. }
            | RecordsError::Misbehaved(_)
            | RecordsError::Refused(_)
            | RecordsError::Engine(_) => internal(&error),
        }
    }
}

impl From<Vec<domain::json::FieldError>> for Problem {
    fn from(errors: Vec<domain::json::FieldError>) -> Self {
        let detail = match errors.len() {
            1 => "1 field is not valid".to_owned(),
            count => format!("{count} fields are not valid"),
        };
        let mut body = wire::Problem::new(Code::ValidationFailed, detail);
        for error in errors {
            body = body.with_error(error.pointer, error.detail);
        }
        Self { code: Code::ValidationFailed, body: Box::new(body), headers: HeaderMap::new() }
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        match error.kind {
            JsonErrorKind::Malformed => Self::new(Code::MalformedBody, error.to_string()),
            JsonErrorKind::DuplicateKey => Self::new(Code::DuplicateKey, error.to_string()),
            JsonErrorKind::Unacceptable => Self::field(error.pointer, error.detail),
        }
    }
}

/// A bug: the log gets the cause, the client only that it happened.
pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Problem {
    tracing::error!("a request failed by a bug of the hub: {cause}");
    Problem::new(Code::Internal, "the hub made a mistake; its log says more under this request id")
}

/// A panic ends one request, never the process.
pub(crate) fn of_panic(panic: Box<dyn Any + Send + 'static>) -> Response<Body> {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    internal(&message).into_response()
}
