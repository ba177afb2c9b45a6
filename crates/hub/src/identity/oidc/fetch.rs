//! HTTP to the provider: to the address that was named and to no other, for a bounded time, with a bounded answer.

use std::error::Error;
use std::time::Duration;

use domain::json;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use super::Issuer;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// A whole answer. A login asks for at most four of them and has 30 s.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// The documents and tokens of large providers have a few ten thousand bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Why the provider was of no use, for the operator.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub(super) String);

/// The client, which keeps connections.
pub(super) struct Http(Client);

impl Http {
    pub(super) fn new(issuer: &Issuer) -> Result<Self, Trouble> {
        // It fails when a provider of cryptography is installed already, which serves just as well.
        rustls::crypto::ring::default_provider().install_default().ok();
        let builder = Client::builder()
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIME_MAX)
            .timeout(ANSWER_TIME_MAX)
            // Codes and the client's secret go to whom the operator named, not where an answer or the environment
            // points.
            .redirect(Policy::none())
            .no_proxy();
        // reqwest refuses to build on a system without root certificates, which plain HTTP does not need.
        let builder = if issuer.url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
        builder.build().map(Self).map_err(|error| Trouble(format!("no HTTP client: {}", explained(&error))))
    }

    /// A document that the provider publishes.
    pub(super) async fn document(&self, url: &Url) -> Result<Value, Trouble> {
        let (status, body) = answer(self.0.get(url.clone()), url).await?;
        match status {
            StatusCode::OK => body.map_err(|why| Trouble(format!("{url}: {why}"))),
            other => Err(Trouble(format!("{url} answered {other}"))),
        }
    }

    /// A request to the token endpoint; its builder adds what the request is about.
    pub(super) async fn token(
        &self,
        url: &Url,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<(StatusCode, Value), Trouble> {
        let (status, body) = answer(fill(self.0.post(url.clone())), url).await?;
        body.map(|body| (status, body)).map_err(|why| Trouble(format!("{url} answered {status}, and {why}")))
    }
}

type Answered = (StatusCode, Result<Value, String>);

async fn answer(request: RequestBuilder, url: &Url) -> Result<Answered, Trouble> {
    let lost = |error: reqwest::Error| Trouble(format!("{url}: {}", explained(&error.without_url())));
    let request = request.header("accept", "application/json");
    let response = request.send().await.map_err(lost)?;
    let status = response.status();
    Ok((
        status,
        match bounded(response).await.map_err(lost)? {
            Some(bytes) => json::parse(&bytes).map_err(|error| format!("the answer is no JSON: {error}")),
            None => Err(format!("the answer has more than {ANSWER_BYTES_MAX} bytes")),
        },
    ))
}

/// The body, unless it is too large, whatever the answer says about its length.
async fn bounded(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// The error with its causes: the outermost says no more than that sending failed.
fn explained(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
