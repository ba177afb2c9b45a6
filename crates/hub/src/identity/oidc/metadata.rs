//! What a provider says about itself (OpenID Connect Discovery 1.0).

use reqwest::Url;
use serde_json::Value;

use super::Issuer;

/// How the hub proves who it is when it exchanges a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientProof {
    /// `client_secret_basic`, which every provider takes unless it says otherwise.
    Basic,
    /// `client_secret_post`.
    Post,
}

/// The part of it that the hub needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Metadata {
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) jwks_uri: Url,
    pub(super) client_proof: ClientProof,
    /// Whether every answer to a browser names the provider (RFC 9207).
    pub(super) answers_name_issuer: bool,
}

impl Metadata {
    /// Reads the document of this provider.
    pub(super) fn read(document: &Value, issuer: &Issuer) -> Result<Self, String> {
        match document["issuer"].as_str() {
            Some(found) if found == issuer.as_str() => {}
            Some(found) => {
                return Err(format!(
                    "the provider calls itself {found:?}, not {:?}; the setting oidc_issuer must be exactly that",
                    issuer.as_str()
                ));
            }
            None => return Err("it does not say who it is".to_owned()),
        }
        let endpoint = |name: &str| {
            let url = document[name].as_str().and_then(|text| issuer.endpoint(text));
            url.ok_or_else(|| format!("its {name} is missing, or no https address"))
        };
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint: endpoint("token_endpoint")?,
            jwks_uri: endpoint("jwks_uri")?,
            client_proof: client_proof(&document["token_endpoint_auth_methods_supported"])?,
            answers_name_issuer: document["authorization_response_iss_parameter_supported"] == true,
        })
    }
}

fn client_proof(methods: &Value) -> Result<ClientProof, String> {
    let Some(methods) = methods.as_array() else { return Ok(ClientProof::Basic) };
    let takes = |method: &str| methods.iter().any(|found| found == method);
    match (takes("client_secret_basic"), takes("client_secret_post")) {
        (true, _) => Ok(ClientProof::Basic),
        (false, true) => Ok(ClientProof::Post),
        // A public client proves nothing, so it does not matter how.
        (false, false) if takes("none") => Ok(ClientProof::Basic),
        (false, false) => Err("it takes neither client_secret_basic nor client_secret_post".to_owned()),
    }
}
