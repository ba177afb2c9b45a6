//! From bytes to checked input, strictly.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_TYPE, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use domain::Id;
use domain::canonical::sha256;
use domain::idempotency::{IdempotencyKey, Slot};
use domain::json::FieldError;
use garde::Validate;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hub::idempotency::Once;
use hub::{Caller, Origin};
use serde::de::DeserializeOwned;
use uuid::Uuid;
use wire::Code;

use crate::problem::{Problem, internal};

/// The largest body.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The authenticated caller; `guard` has put it there.
pub(crate) struct Who(pub(crate) Caller);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.map(Who).ok_or_else(|| internal(&"a handler asks for a caller on a route that needs none"))
    }
}

/// Where a request comes from that needs no credentials; `guard` has put it there.
pub(crate) struct Stranger(pub(crate) Origin);

impl<S: Sync> FromRequestParts<S> for Stranger {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let origin = parts.extensions.get::<Origin>().cloned();
        origin
            .map(Stranger)
            .ok_or_else(|| internal(&"a handler asks for a stranger on a route that has none"))
    }
}

/// The id in the path. What is not an id names nothing.
pub(crate) struct PathId(pub(crate) Uuid);

impl PathId {
    pub(crate) fn id<T>(&self) -> Id<T> {
        Id::new(self.0)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let nothing = || Problem::new(Code::NotFound, "there is nothing with that id");
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| nothing())?;
        Uuid::parse_str(&text).map(PathId).map_err(|_| nothing())
    }
}

/// Two ids in the path: of a thing, and of something in it.
pub(crate) struct PathIds(pub(crate) Uuid, pub(crate) Uuid);

impl PathIds {
    pub(crate) fn ids<A, B>(&self) -> (Id<A>, Id<B>) {
        (Id::new(self.0), Id::new(self.1))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let nothing = || Problem::new(Code::NotFound, "there is nothing with that id");
        let Path((outer, inner)) =
            Path::<(String, String)>::from_request_parts(parts, state).await.map_err(|_| nothing())?;
        let id = |text: &str| Uuid::parse_str(text).map_err(|_| nothing());
        Ok(Self(id(&outer)?, id(&inner)?))
    }
}

/// The query string, with unknown and repeated names refused.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned + Validate<Context = ()>, S: Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query =
            axum::extract::Query::<T>::try_from_uri(&parts.uri).map_err(|error| wrong_query(&error))?;
        query.0.validate().map_err(|report| invalid(&report))?;
        Ok(Self(query.0))
    }
}

/// What axum says about a query string, with the parameter it is about, which it keeps deep inside.
fn wrong_query(error: &QueryRejection) -> Problem {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<serde_path_to_error::Error<serde::de::value::Error>>() {
            return Problem::field(pointer(found.path()), found.inner().to_string());
        }
        cause = error.source();
    }
    Problem::field("", "the query string is not valid")
}

fn invalid(report: &garde::Report) -> Problem {
    let body = wire::Problem::invalid(report);
    Problem { code: Code::ValidationFailed, body: Box::new(body), headers: HeaderMap::new() }
}

/// A JSON body, parsed once, strictly, and checked; with the hash of its bytes.
pub(crate) struct Input<T> {
    pub(crate) value: T,
    pub(crate) body_hash: [u8; 32],
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        require_json(request.headers())?;
        let bytes = whole_body(request).await?;
        let value = domain::json::parse(&bytes)?;
        // serde would also fill a struct's fields from an array, in the order of their declaration.
        if !value.is_object() {
            return Err(Problem::field("", "the body must be an object"));
        }
        let value = serde_path_to_error::deserialize(value).map_err(|error| mismatch(&error))?;
        Ok(Self { value, body_hash: sha256(&bytes) })
    }
}

/// A JSON body that is a list, parsed strictly; whoever knows what is in it checks it.
pub(crate) struct ListInput(pub(crate) serde_json::Value);

impl<S: Send + Sync> FromRequest<S> for ListInput {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        require_json(request.headers())?;
        let value = domain::json::parse(&whole_body(request).await?)?;
        if value.is_array() { Ok(Self(value)) } else { Err(Problem::field("", "the body must be a list")) }
    }
}

impl<T: Validate<Context = ()>> Input<T> {
    pub(crate) fn checked(self) -> Result<Self, Problem> {
        self.value.validate().map_err(|report| invalid(&report))?;
        Ok(self)
    }
}

/// A body that has nothing to say: none, or `{}`.
pub(crate) struct NoInput {
    pub(crate) body_hash: [u8; 32],
}

impl<S: Send + Sync> FromRequest<S> for NoInput {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let called_json = require_json(request.headers());
        let bytes = whole_body(request).await?;
        if !bytes.is_empty() {
            called_json?;
            match domain::json::parse(&bytes)?.as_object().map(|members| members.keys().next().cloned()) {
                Some(None) => {}
                Some(Some(name)) => {
                    let error = FieldError::on_member(&name, "this route takes no fields");
                    return Err(vec![error].into());
                }
                None => return Err(Problem::field("", "this route takes no body, or {}")),
            }
        }
        Ok(Self { body_hash: sha256(&bytes) })
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send the body as `Content-Type: application/json`"))
}

pub(crate) async fn whole_body(request: Request) -> Result<bytes::Bytes, Problem> {
    match Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Problem::new(Code::BodyTooLarge, format!("the body is larger than {BODY_BYTES_MAX} bytes")))
        }
        Err(_) => Err(Problem::new(Code::BadRequest, "the body broke off")),
    }
}

fn mismatch(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    Problem::field(pointer(error.path()), error.inner().to_string())
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            serde_path_to_error::Segment::Seq { index } => {
                domain::json::pointer_push(&mut pointer, &index.to_string());
            }
            serde_path_to_error::Segment::Map { key } => domain::json::pointer_push(&mut pointer, key),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => {}
        }
    }
    pointer
}

/// The headers that change how a request is carried out.
pub(crate) struct Terms {
    key: Option<IdempotencyKey>,
    method: Method,
    path: String,
    pub(crate) if_match: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Terms {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let header = |name: &str| -> Result<Option<String>, Problem> {
            let mut values = parts.headers.get_all(name).iter();
            let first = values.next();
            if values.next().is_some() {
                return Err(Problem::new(Code::BadRequest, format!("{name} occurs twice")));
            }
            first
                .map(|value| value.to_str().map(str::to_owned))
                .transpose()
                .map_err(|_| Problem::new(Code::BadRequest, format!("{name} is not plain text")))
        };
        let key = header("idempotency-key")?
            .map(|text| text.parse::<IdempotencyKey>())
            .transpose()
            .map_err(|error| Problem::new(Code::BadRequest, format!("Idempotency-Key: {error}")))?;
        // `*` asks for any version, and there always is one.
        let if_match = header(IF_MATCH.as_str())?.filter(|tag| tag != "*");
        Ok(Self { key, method: parts.method.clone(), path: parts.uri.path().to_owned(), if_match })
    }
}

impl Terms {
    /// The request as one that happens once, if it asks for that.
    pub(crate) fn once<T>(
        self,
        caller: &Caller,
        body_hash: [u8; 32],
        render: fn(&T) -> hub::idempotency::Answer,
    ) -> Option<Once<T>> {
        let credential = &caller.credential;
        let slot = Slot {
            org_id: credential.organization.id,
            account_id: credential.account.id,
            method: self.method.to_string(),
            path: self.path,
            key: self.key?,
        };
        Some(Once { slot, body_hash, render })
    }
}
