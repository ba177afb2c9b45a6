//! What the provider answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Form, Query, State};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::canonical::sha256;
use futures_util::stream;
use reqwest::Url;
use serde_json::{Value, json};

use crate::watch;

use super::{CLIENT_ID, CLIENT_SECRET, Conduct, Endpoint, Person, Shared, State as Doing, base64url};

/// How long a token lives.
const LASTS_SECONDS: i64 = 300;

/// What a code stands for.
pub(super) struct Grant {
    person: Person,
    redirect_uri: String,
    challenge: String,
    nonce: String,
}

type Fields = HashMap<String, String>;
type Provider = State<Arc<Shared>>;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/id/.well-known/openid-configuration", get(discovery))
        .route("/id/keys", get(keys))
        .route("/id/authorize", get(authorize))
        .route("/id/token", post(token))
        .with_state(shared)
}

/// Counts the question, and misbehaves if it is to.
async fn misbehaved(shared: &Shared, endpoint: Endpoint) -> Option<Response> {
    let conduct = {
        let mut state = shared.state();
        *state.asked.entry(endpoint).or_default() += 1;
        state.conduct.get(&endpoint).copied()?
    };
    Some(match conduct {
        Conduct::Status(status) => {
            let status = StatusCode::from_u16(status).expect("a status");
            (status, Json(json!({"error": "server_error"}))).into_response()
        }
        Conduct::Redirect => {
            (StatusCode::FOUND, [(LOCATION, format!("{}/keys", shared.url))]).into_response()
        }
        Conduct::Huge => {
            let chunk = Bytes::from(vec![b' '; 64 * 1024]);
            let endless = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
            Body::from_stream(endless).into_response()
        }
        Conduct::Silent => std::future::pending().await,
        Conduct::Prose => "I am a provider, believe me.".into_response(),
    })
}

async fn discovery(State(shared): Provider) -> Response {
    if let Some(response) = misbehaved(&shared, Endpoint::Discovery).await {
        return response;
    }
    let url = &shared.url;
    let mut document = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "code_challenge_methods_supported": ["S256"],
    });
    if let Some(alter) = &shared.state().document {
        alter(&mut document);
    }
    Json(document).into_response()
}

async fn keys(State(shared): Provider) -> Response {
    match misbehaved(&shared, Endpoint::Keys).await {
        Some(response) => response,
        None => Json(shared.state().keys.published()).into_response(),
    }
}

/// Whoever is logged in here goes back with a code; whoever is not, without.
async fn authorize(State(shared): Provider, Query(asked): Query<Fields>) -> Response {
    let field = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let is_right = field("response_type") == "code"
        && field("client_id") == CLIENT_ID
        && field("scope").split(' ').any(|scope| scope == "openid")
        && field("code_challenge_method") == "S256"
        && field("code_challenge").len() == 43
        && field("nonce").len() >= 32;
    let Some(mut back) = Url::parse(&field("redirect_uri")).ok().filter(|_| is_right) else {
        return (StatusCode::BAD_REQUEST, format!("not a request of this hub: {:?}", asked.keys()))
            .into_response();
    };
    let mut state = shared.state();
    back.query_pairs_mut()
        .append_pair("state", &field("state"))
        .append_pair("session_state", "of-the-provider");
    if let Some(issuer) = &state.names_itself {
        back.query_pairs_mut().append_pair("iss", issuer);
    }
    match state.person.clone() {
        None => drop(back.query_pairs_mut().append_pair("error", "access_denied")),
        Some(person) => {
            let code = base64url(hub::ids::random::<32>().expect("randomness"));
            watch::secret(&code);
            back.query_pairs_mut().append_pair("code", &code);
            let (challenge, nonce) = (field("code_challenge"), field("nonce"));
            let grant = Grant { person, redirect_uri: field("redirect_uri"), challenge, nonce };
            state.codes.insert(code, grant);
        }
    }
    (StatusCode::FOUND, [(LOCATION, back.to_string())]).into_response()
}

async fn token(State(shared): Provider, headers: HeaderMap, Form(form): Form<Fields>) -> Response {
    if let Some(response) = misbehaved(&shared, Endpoint::Token).await {
        return response;
    }
    let no = |status, error: &str| (status, Json(json!({"error": error}))).into_response();
    if !is_the_hub(&shared, &headers, &form) {
        return no(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    watch::secret(field("code_verifier"));
    let mut state = shared.state();
    let checks_verifier = state.checks_verifier;
    let grant = state.codes.remove(field("code")).filter(|grant| {
        let challenge = base64url(sha256(field("code_verifier").as_bytes()));
        field("grant_type") == "authorization_code"
            && grant.redirect_uri == field("redirect_uri")
            && (grant.challenge == challenge || !checks_verifier)
    });
    match grant {
        Some(grant) => Json(answer(&shared.url, &mut state, &grant)).into_response(),
        None => no(StatusCode::BAD_REQUEST, "invalid_grant"),
    }
}

/// The hub proves who it is in one way, and only in one.
fn is_the_hub(shared: &Shared, headers: &HeaderMap, form: &Fields) -> bool {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let posted = (form.get("client_id").map(String::as_str), form.get("client_secret").map(String::as_str));
    match (shared.has_secret, header, posted) {
        (false, None, (Some(id), None)) => id == CLIENT_ID,
        (true, None, (Some(id), Some(secret))) => (id, secret) == (CLIENT_ID, CLIENT_SECRET),
        (true, Some(header), (None, None)) => {
            let encoded = |text: &str| Url::parse_with_params("http://x", [(text, "")]).expect("a URL");
            let half = |text: &str| {
                encoded(text).query().expect("a query").trim_end_matches('=').replace('+', "%20")
            };
            let expected = format!("{}:{}", half(CLIENT_ID), half(CLIENT_SECRET));
            header == format!("Basic {}", STANDARD.encode(expected))
        }
        _ => false,
    }
}

fn answer(url: &str, state: &mut Doing, grant: &Grant) -> Value {
    let now = state.clock.now().micros() / 1_000_000;
    let access = base64url(hub::ids::random::<32>().expect("randomness"));
    watch::secret(&access);
    let hash = sha256(access.as_bytes());
    let mut claims = json!({
        "iss": url,
        "aud": CLIENT_ID,
        "sub": grant.person.subject,
        "nonce": grant.nonce,
        "iat": now,
        "exp": now + LASTS_SECONDS,
        "email": grant.person.email,
        "email_verified": grant.person.email_verified,
    });
    use super::Signing::{EdDsa, Es384};
    if ![Es384, EdDsa].contains(&state.signing) {
        claims["at_hash"] = base64url(&hash[..16]).into();
    }
    if let Some(alter) = &state.claims {
        alter(&mut claims);
    }
    let token = state.keys.token(state.signing, &claims);
    watch::secret(&token);
    json!({"access_token": access, "token_type": "Bearer", "expires_in": LASTS_SECONDS, "id_token": token})
}
