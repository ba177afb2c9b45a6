//! Sends requests and judges answers.

use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::Problem;

use crate::ClientError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a whole answer may take, unless the request was asked to wait.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest silence within an answer, or before one that was asked to wait.
const SILENCE_TIMEOUT: Duration =
    Duration::from_secs(ANSWER_TIMEOUT.as_secs() + wire::events::WAIT_SECONDS_MAX as u64);

const API: &str = "/api/v1";

/// Speaks to one hub as one account. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the hub at `base_url`, such as `http://127.0.0.1:8000`, acting with `api_key`.
    pub fn new(base_url: &str, api_key: Option<&str>) -> Result<Self, ClientError> {
        let base = origin(base_url)?;
        let authorization = api_key.map(bearer).transpose()?;
        let http = http(base.scheme())?;
        Ok(Self { http, base, authorization })
    }

    /// Where the hub is.
    #[must_use]
    pub fn base_url(&self) -> &Url {
        &self.base
    }

    /// A request to a path of the API, below its base.
    pub(crate) fn api(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, &format!("{API}{path}"))
    }

    /// A request to a path of the hub.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(path);
        let request = self.http.request(method, url);
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value.clone()),
            None => request,
        }
    }

    /// Reads a thing of the API.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.answer(self.api(Method::GET, path)).await
    }

    /// Reads a thing of the API, with a query.
    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.answer(self.api(Method::GET, path).query(query)).await
    }

    /// Sends a request and reads the JSON of a successful answer.
    pub(crate) async fn answer<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        let response = self.send(request).await?;
        self.body(response).await
    }

    /// Reads the JSON of a successful answer.
    pub(crate) async fn body<T: DeserializeOwned>(&self, response: Response) -> Result<T, ClientError> {
        let body = response.bytes().await.map_err(|error| self.unreachable(error))?;
        serde_json::from_slice(&body).map_err(|error| {
            ClientError::Protocol(format!(
                "the answer of {} is not what this version expects ({error}); check COUNTERSIGN_URL, and that hub \
                 and command line have the same version",
                self.base
            ))
        })
    }

    /// Sends a request; `Ok` means that the hub did it.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refusal(response).await) }
    }

    pub(crate) fn unreachable(&self, error: reqwest::Error) -> ClientError {
        // The URL is in our own text already, and without its query.
        ClientError::Unreachable { url: self.base.to_string(), source: error.without_url().into() }
    }

    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        if is_problem(&response) {
            return match response.bytes().await.map(|body| serde_json::from_slice::<Problem>(&body)) {
                Ok(Ok(problem)) => ClientError::Problem(Box::new(problem)),
                Ok(Err(error)) => self.strange(status, &format!("a problem that cannot be read ({error})")),
                Err(error) => self.unreachable(error),
            };
        }
        // A hub always explains itself, so this came from a gateway in front of one that is away.
        if [StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT]
            .contains(&status)
        {
            let source = format!("something in front of it answered {status}").into();
            return ClientError::Unreachable { url: self.base.to_string(), source };
        }
        match response.headers().get(LOCATION).and_then(|to| to.to_str().ok()) {
            Some(to) => self.strange(status, &format!("a redirect to {to}, which is not followed")),
            None => self.strange(status, "no explanation"),
        }
    }

    fn strange(&self, status: StatusCode, what: &str) -> ClientError {
        ClientError::Protocol(format!(
            "{} answered {status} with {what}; check that COUNTERSIGN_URL is the address of a hub",
            self.base
        ))
    }
}

fn is_problem(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.starts_with("application/problem+json"))
}

/// Only scheme, host and port: the hub lives at the root, and a password here would end up in error texts.
fn origin(text: &str) -> Result<Url, ClientError> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    // The text is not repeated: it may hold a password.
    url.ok_or_else(|| {
        ClientError::Setup(
            "the address of the hub must be http:// or https:// with a host and nothing after it, such as \
             http://127.0.0.1:8000; correct COUNTERSIGN_URL"
                .to_owned(),
        )
    })
}

fn bearer(key: &str) -> Result<HeaderValue, ClientError> {
    let value = HeaderValue::try_from(format!("Bearer {key}")).ok().filter(|_| is_token(key));
    let mut value = value.ok_or_else(|| {
        ClientError::Setup(
            "the API key holds characters a key never has, or is empty; correct COUNTERSIGN_API_KEY"
                .to_owned(),
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_token(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}

fn http(scheme: &str) -> Result<reqwest::Client, ClientError> {
    // It fails when a provider is installed already, which serves just as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("countersign-client/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT)
        .read_timeout(SILENCE_TIMEOUT)
        // The key goes to the hub that was named and to nobody else: not where an answer or the environment points.
        .redirect(Policy::none())
        .no_proxy();
    // reqwest refuses to build on a system without root certificates, which plain HTTP does not need.
    let builder = if scheme == "http" { builder.tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| {
        ClientError::Setup(format!(
            "cannot prepare TLS ({error:?}); install the system's root certificates (package ca-certificates)"
        ))
    })
}
