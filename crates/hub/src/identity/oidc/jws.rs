//! Signatures of tokens: compact JWS (RFC 7515) against the keys a provider publishes (RFC 7517).
//!
//! The token says which algorithm and key it means; it never says what is good enough. Only signatures of key pairs are
//! taken, never `none` and nothing that is verified with a secret, and a key is used only with algorithms of its kind.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::json;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// Far more than any provider's token has.
const TOKEN_BYTES_MAX: usize = 32 * 1024;
/// Keys that are looked at; providers publish two or three.
const KEYS_MAX: usize = 64;

/// The algorithms that are good enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "ES384" => Some(Self::Es384),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// The public half of a key, by its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    id: Option<String>,
    /// The one algorithm it is for, where it says so.
    only: Option<String>,
    public: Public,
}

/// The keys of a provider that can verify a token.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Keys(Vec<Key>);

/// Why a token is not the provider's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum JwsRefusal {
    #[error("the token cannot be read")]
    Malformed,
    #[error("the token is signed in a way that is not good enough")]
    Algorithm,
    #[error("the token is signed with a key the provider does not publish")]
    UnknownKey,
    #[error("the token does not say which of the provider's keys it is signed with")]
    Ambiguous,
    #[error("the signature of the token is wrong")]
    Signature,
}

/// A token that the provider has signed.
pub(super) struct Verified {
    pub(super) claims: Value,
    algorithm: Algorithm,
}

impl Verified {
    /// The left half of the access token's hash, as `at_hash` has it.
    pub(super) fn half_hash(&self, text: &str) -> String {
        let hash = match self.algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 | Algorithm::Es256 => Sha256::digest(text).to_vec(),
            Algorithm::Es384 => Sha384::digest(text).to_vec(),
            Algorithm::EdDsa => Sha512::digest(text).to_vec(),
        };
        URL_SAFE_NO_PAD.encode(&hash[..hash.len() / 2])
    }
}

impl Keys {
    /// Reads a set of keys. Those of kinds we do not know, or for other uses, are not ours to judge.
    pub(super) fn read(document: &Value) -> Option<Self> {
        let keys = document["keys"].as_array()?;
        Some(Self(keys.iter().take(KEYS_MAX).filter_map(key).collect()))
    }

    /// The claims of a token, if one of these keys has signed it.
    pub(super) fn verify(&self, token: &str) -> Result<Verified, JwsRefusal> {
        let (signed, signature) = token.rsplit_once('.').ok_or(JwsRefusal::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(JwsRefusal::Malformed)?;
        if token.len() > TOKEN_BYTES_MAX || claims.contains('.') {
            return Err(JwsRefusal::Malformed);
        }
        let header = object(header)?;
        let algorithm = algorithm(&header)?;
        let key = self.meant(&header, algorithm)?;
        let signature = bytes(&Value::from(signature)).ok_or(JwsRefusal::Malformed)?;
        if !key.public.has_signed(algorithm, signed.as_bytes(), &signature) {
            return Err(JwsRefusal::Signature);
        }
        Ok(Verified { claims: object(claims)?, algorithm })
    }

    /// The one key the token means.
    fn meant(&self, header: &Value, algorithm: Algorithm) -> Result<&Key, JwsRefusal> {
        let id = match &header["kid"] {
            Value::Null => None,
            Value::String(id) => Some(id.as_str()),
            _ => return Err(JwsRefusal::Malformed),
        };
        let is_meant = |key: &&Key| {
            let is_named = id.is_none() || key.id.as_deref() == id;
            let is_allowed = key.only.as_deref().is_none_or(|only| Algorithm::named(only) == Some(algorithm));
            is_named && is_allowed && key.public.fits(algorithm)
        };
        let mut meant = self.0.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(JwsRefusal::UnknownKey),
            (Some(_), Some(_)) => Err(JwsRefusal::Ambiguous),
        }
    }
}

fn algorithm(header: &Value) -> Result<Algorithm, JwsRefusal> {
    // What is critical and not understood must be refused, and nothing of it is.
    let is_plain = header["crit"].is_null();
    // Logout tokens and access tokens are signed with the same keys and are no answer to who somebody is.
    let is_id_token = match &header["typ"] {
        Value::Null => true,
        Value::String(kind) => kind.eq_ignore_ascii_case("jwt"),
        _ => false,
    };
    if !is_plain || !is_id_token {
        return Err(JwsRefusal::Malformed);
    }
    header["alg"].as_str().and_then(Algorithm::named).ok_or(JwsRefusal::Algorithm)
}

fn object(part: &str) -> Result<Value, JwsRefusal> {
    let bytes = bytes(&Value::from(part)).ok_or(JwsRefusal::Malformed)?;
    json::parse(&bytes).ok().filter(Value::is_object).ok_or(JwsRefusal::Malformed)
}

/// Bytes in base64url without padding, of which there is one spelling.
fn bytes(text: &Value) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.as_str()?).ok()
}

fn key(jwk: &Value) -> Option<Key> {
    let is_for_signatures = jwk["use"].is_null() || jwk["use"] == "sig";
    let may_verify = match &jwk["key_ops"] {
        Value::Null => true,
        operations => operations.as_array()?.iter().any(|operation| operation == "verify"),
    };
    let public = match (jwk["kty"].as_str()?, jwk["crv"].as_str()) {
        ("RSA", None) => Public::Rsa { n: bytes(&jwk["n"])?, e: bytes(&jwk["e"])? },
        ("EC", Some("P-256")) => Public::P256(point(jwk, 32)?),
        ("EC", Some("P-384")) => Public::P384(point(jwk, 48)?),
        ("OKP", Some("Ed25519")) => Public::Ed25519(bytes(&jwk["x"])?),
        _ => return None,
    };
    let text = |name: &str| jwk[name].as_str().map(str::to_owned);
    let key = Key { id: text("kid"), only: text("alg"), public };
    (is_for_signatures && may_verify).then_some(key)
}

/// A point of a curve as ring reads it: uncompressed.
fn point(jwk: &Value, coordinate_bytes: usize) -> Option<Vec<u8>> {
    let (x, y) = (bytes(&jwk["x"])?, bytes(&jwk["y"])?);
    let fits = x.len() == coordinate_bytes && y.len() == coordinate_bytes;
    fits.then(|| [&[4], x.as_slice(), y.as_slice()].concat())
}

impl Public {
    fn fits(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }

    fn has_signed(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let rsa = |how: &RsaParameters, n, e| RsaPublicKeyComponents { n, e }.verify(how, signed, signature);
        let other = |how: &'static dyn VerificationAlgorithm, key: &Vec<u8>| {
            UnparsedPublicKey::new(how, key).verify(signed, signature)
        };
        let verified = match (self, algorithm) {
            (Self::Rsa { n, e }, Algorithm::Rs256) => rsa(&RSA_PKCS1_2048_8192_SHA256, n, e),
            (Self::Rsa { n, e }, Algorithm::Ps256) => rsa(&RSA_PSS_2048_8192_SHA256, n, e),
            (Self::P256(key), Algorithm::Es256) => other(&ECDSA_P256_SHA256_FIXED, key),
            (Self::P384(key), Algorithm::Es384) => other(&ECDSA_P384_SHA384_FIXED, key),
            (Self::Ed25519(key), Algorithm::EdDsa) => other(&ED25519, key),
            _ => return false,
        };
        verified.is_ok()
    }
}
