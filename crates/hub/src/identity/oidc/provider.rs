//! The provider: what is known about it, kept for a while, and what it is asked.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use domain::canonical::sha256;
use domain::id_tokens::{Claims, Expected, check};
use domain::oidc_flows::OidcFlow;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use tokio::sync::Mutex;

use super::fetch::{Http, Trouble};
use super::jws::{JwsRefusal, Keys, Verified};
use super::metadata::{ClientProof, Metadata};
use super::{ClientSecret, Settings};
use crate::clock::Clock;

/// How long what the provider publishes is believed. A key it withdraws opens nothing after this.
const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// How soon a provider that could not be reached is asked again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How often keys are fetched anew because of one that is not known.
const KEYS_RENEWED_AFTER: Duration = Duration::from_secs(60);

/// The provider of logins.
pub struct Provider {
    settings: Settings,
    http: Http,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    found: Option<Found>,
    failed_at: Option<Timestamp>,
    renewed_at: Option<Timestamp>,
}

/// What the provider published, and when that was read.
#[derive(Clone)]
pub(crate) struct Found {
    metadata: Arc<Metadata>,
    keys: Arc<Keys>,
    at: Timestamp,
}

/// What a browser takes to the provider.
pub(crate) struct Asking<'a> {
    pub(crate) state: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) verifier: &'a str,
    pub(crate) redirect_uri: &'a str,
}

/// What a browser brings back.
pub(crate) struct Coming<'a> {
    pub(crate) code: &'a str,
    /// Who the answer says the provider is.
    pub(crate) issuer: Option<&'a str>,
    pub(crate) redirect_uri: &'a str,
}

/// Why nobody was proven to be anybody.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unproven {
    /// The provider is of no use at the moment.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// What came back cannot be trusted; the words hold nothing of it.
    #[error("{0}")]
    Refused(String),
}

impl From<JwsRefusal> for Unproven {
    fn from(refusal: JwsRefusal) -> Self {
        Self::Refused(refusal.to_string())
    }
}

/// Tells the operator what people cannot mend.
fn note(unproven: &Unproven) {
    if let Unproven::Trouble(trouble) = unproven {
        tracing::warn!("the provider of logins is of no use: {trouble}");
    }
}

fn refused(why: &str) -> Unproven {
    Unproven::Refused(why.to_owned())
}

impl Provider {
    /// The provider the operator named; nobody has asked it anything yet.
    ///
    /// # Errors
    /// This system cannot speak HTTP over TLS.
    pub fn new(settings: Settings) -> Result<Self, Trouble> {
        Ok(Self { http: Http::new(&settings.issuer)?, settings, known: Mutex::default() })
    }

    /// What the operator said about it.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What it publishes, from memory if that is fresh. One asks, others wait for the answer.
    pub(crate) async fn find(&self, clock: &dyn Clock) -> Result<Found, Trouble> {
        let mut known = self.known.lock().await;
        let now = clock.now();
        if let Some(found) = known.found.as_ref().filter(|found| now.since(found.at) < KNOWN_FOR) {
            return Ok(found.clone());
        }
        if known.failed_at.is_some_and(|at| now.since(at) < ASKED_AGAIN_AFTER) {
            return Err(Trouble("it could not be reached a moment ago".to_owned()));
        }
        match self.published(now).await {
            Ok(found) => {
                *known = Known { found: Some(found.clone()), ..Known::default() };
                Ok(found)
            }
            Err(trouble) => {
                // Not when it was asked: it may have taken long to say nothing.
                known.failed_at = Some(clock.now());
                note(&trouble.clone().into());
                Err(trouble)
            }
        }
    }

    async fn published(&self, at: Timestamp) -> Result<Found, Trouble> {
        let url = self.settings.issuer.discovery().map_err(Trouble)?;
        let document = self.http.document(&url).await?;
        let metadata = Metadata::read(&document, &self.settings.issuer);
        let metadata = metadata.map_err(|why| Trouble(format!("{url}: {why}")))?;
        let keys = self.keys(&metadata).await?;
        Ok(Found { metadata: Arc::new(metadata), keys: Arc::new(keys), at })
    }

    async fn keys(&self, metadata: &Metadata) -> Result<Keys, Trouble> {
        let document = self.http.document(&metadata.jwks_uri).await?;
        let keys = Keys::read(&document);
        keys.ok_or_else(|| Trouble(format!("{} publishes no set of keys", metadata.jwks_uri)))
    }

    /// The keys as they are now, because one is missing in those that were read before; seldom.
    async fn renewed(&self, before: &Found, now: Timestamp) -> Result<Arc<Keys>, Unproven> {
        let mut known = self.known.lock().await;
        if let Some(found) = known.found.as_ref().filter(|found| !Arc::ptr_eq(&found.keys, &before.keys)) {
            return Ok(Arc::clone(&found.keys));
        }
        if known.renewed_at.is_some_and(|at| now.since(at) < KEYS_RENEWED_AFTER) {
            return Err(JwsRefusal::UnknownKey.into());
        }
        let keys = Arc::new(self.keys(&before.metadata).await?);
        known.renewed_at = Some(now);
        known.found = Some(Found { keys: Arc::clone(&keys), ..before.clone() });
        Ok(keys)
    }

    /// Where the browser is sent.
    pub(crate) fn authorization(&self, found: &Found, asking: &Asking<'_>) -> Url {
        let mut url = found.metadata.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", asking.redirect_uri)
            .append_pair("scope", &self.settings.scopes)
            .append_pair("state", asking.state)
            .append_pair("nonce", asking.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(sha256(asking.verifier.as_bytes())))
            .append_pair("code_challenge_method", "S256");
        url
    }

    /// Refuses an answer of another provider (RFC 9207).
    pub(crate) fn check_issuer(&self, found: &Found, issuer: Option<&str>) -> Result<(), Unproven> {
        let is_right = match issuer {
            Some(issuer) => issuer == self.settings.issuer.as_str(),
            None => !found.metadata.answers_name_issuer,
        };
        if is_right { Ok(()) } else { Err(refused("the answer came from another provider")) }
    }

    /// Who came back: exchanges the code for a token and reads it.
    pub(crate) async fn prove(
        &self,
        found: &Found,
        coming: &Coming<'_>,
        flow: &OidcFlow,
        clock: &dyn Clock,
    ) -> Result<Claims, Unproven> {
        self.check_issuer(found, coming.issuer)?;
        let answer = self.exchange(&found.metadata, coming, &flow.verifier).await;
        let answer = answer.inspect_err(note)?;
        let token = answer["id_token"].as_str().ok_or_else(|| refused("the provider sent no ID token"))?;
        let verified = self.verified(found, token, clock.now()).await.inspect_err(note)?;
        let expected = Expected {
            issuer: self.settings.issuer.as_str(),
            client_id: &self.settings.client_id,
            nonce: &flow.nonce,
            now: clock.now(),
        };
        let claims = check(&verified.claims, &expected).map_err(|why| Unproven::Refused(why.to_string()))?;
        let hash = answer["access_token"].as_str().map(|token| verified.half_hash(token));
        match &claims.at_hash {
            Some(wanted) if hash.as_ref() != Some(wanted) => {
                Err(refused("it came with another access token"))
            }
            _ => Ok(claims),
        }
    }

    async fn verified(&self, found: &Found, token: &str, now: Timestamp) -> Result<Verified, Unproven> {
        match found.keys.verify(token) {
            Err(JwsRefusal::UnknownKey) => {
                Ok(self.renewed(found, now).await?.verify(token).map_err(Unproven::from)?)
            }
            other => Ok(other?),
        }
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        coming: &Coming<'_>,
        verifier: &str,
    ) -> Result<Value, Unproven> {
        let id = self.settings.client_id.as_str();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", coming.code),
            ("redirect_uri", coming.redirect_uri),
            ("code_verifier", verifier),
        ];
        let mut basic = None;
        match (&self.settings.client_secret, metadata.client_proof) {
            (None, _) => form.push(("client_id", id)),
            (Some(ClientSecret(secret)), ClientProof::Post) => {
                form.extend([("client_id", id), ("client_secret", secret)]);
            }
            (Some(ClientSecret(secret)), ClientProof::Basic) => basic = Some((encoded(id), encoded(secret))),
        }
        let (status, answer) = self
            .http
            .token(&metadata.token_endpoint, |request| {
                let request = request.form(&form);
                match basic {
                    Some((id, secret)) => request.basic_auth(id, Some(secret)),
                    None => request,
                }
            })
            .await?;
        match (status, answer["error"].as_str()) {
            (StatusCode::OK, None) => Ok(answer),
            (StatusCode::BAD_REQUEST, Some("invalid_grant")) => {
                Err(refused("the provider took back its code"))
            }
            (status, error) => {
                let error = error.filter(|error| is_error_code(error)).unwrap_or("no reason");
                Err(Trouble(format!("{} answered {status}: {error}", metadata.token_endpoint)).into())
            }
        }
    }
}

/// One of OAuth's words, and nothing that a stranger could have put there to be logged.
fn is_error_code(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// As forms write it, which OAuth asks for before the two are put into a header (RFC 6749, 2.3.1).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => {
                encoded.push(char::from(byte))
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}
