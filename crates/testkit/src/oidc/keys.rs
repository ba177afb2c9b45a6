//! How the provider signs: well, badly, or not at all.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::canonical::sha256;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPairComponents, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use super::base64url;

/// How a token is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signing {
    /// RSA, as nearly every provider does.
    Rs256,
    /// RSA with PSS.
    Ps256,
    /// On the curve P-256.
    Es256,
    /// On the curve P-384.
    Es384,
    /// On Edwards' curve.
    EdDsa,
    /// Not at all, and the token says so.
    Unsigned,
    /// With the public key as if it were a secret.
    PublicKeyAsSecret,
    /// With a key that nobody published, under the name of one that was.
    ForgedKey,
    /// Rightly, over another text.
    AnotherText,
}

/// The key of RFC 7515, A.2. Everybody knows it; making one takes longer than the tests.
const RSA: [(&str, &[&str]); 7] = [
    (
        "n",
        &[
            "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR",
            "T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXB",
            "dQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9ia",
            "GNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        ],
    ),
    (
        "d",
        &[
            "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46su",
            "i395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4",
            "qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB",
            "4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
        ],
    ),
    (
        "p",
        &[
            "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8",
            "cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
        ],
    ),
    (
        "q",
        &[
            "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t",
            "62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
        ],
    ),
    (
        "dp",
        &[
            "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCj",
            "n12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
        ],
    ),
    (
        "dq",
        &[
            "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnw",
            "gjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
        ],
    ),
    (
        "qi",
        &[
            "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93",
            "IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U",
        ],
    ),
];

/// The provider's keys. Those on curves are made anew, the one for RSA is always the same.
pub(super) struct Keys {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    edwards: Ed25519KeyPair,
    forged: EcdsaKeyPair,
    generation: u32,
}

impl Keys {
    pub(super) fn make(generation: u32) -> Self {
        let random = SystemRandom::new();
        let edwards = Ed25519KeyPair::generate_pkcs8(&random).expect("randomness");
        Self {
            rsa: rsa(),
            p256: curve(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: curve(&ECDSA_P384_SHA384_FIXED_SIGNING),
            edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).expect("a key"),
            forged: curve(&ECDSA_P256_SHA256_FIXED_SIGNING),
            generation,
        }
    }

    pub(super) fn next(&self) -> Self {
        Self::make(self.generation + 1)
    }

    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}", self.generation)
    }

    /// What the provider publishes.
    pub(super) fn published(&self) -> Value {
        let point = |key: &EcdsaKeyPair, curve: &str, kind: &str| {
            let point = key.public_key().as_ref().get(1..).expect("a point");
            let (x, y) = point.split_at(point.len() / 2);
            json!({"kty": "EC", "crv": curve, "kid": self.name(kind), "use": "sig", "x": base64url(x), "y": base64url(y)})
        };
        json!({"keys": [
            {"kty": "RSA", "kid": self.name("rsa"), "use": "sig", "n": part("n"), "e": "AQAB"},
            point(&self.p256, "P-256", "p256"),
            point(&self.p384, "P-384", "p384"),
            {"kty": "OKP", "crv": "Ed25519", "kid": self.name("edwards"), "x": base64url(self.edwards.public_key().as_ref())},
            {"kty": "oct", "kid": "not-ours", "k": "c2VjcmV0"},
        ]})
    }

    /// A token with these claims.
    pub(super) fn token(&self, signing: Signing, claims: &Value) -> String {
        let (algorithm, kind) = match signing {
            Signing::Rs256 | Signing::AnotherText => ("RS256", "rsa"),
            Signing::Ps256 => ("PS256", "rsa"),
            Signing::Es256 | Signing::ForgedKey => ("ES256", "p256"),
            Signing::Es384 => ("ES384", "p384"),
            Signing::EdDsa => ("EdDSA", "edwards"),
            Signing::Unsigned => ("none", "rsa"),
            Signing::PublicKeyAsSecret => ("HS256", "rsa"),
        };
        let header = json!({"alg": algorithm, "kid": self.name(kind), "typ": "JWT"});
        let mut token = format!("{}.{}", base64url(header.to_string()), base64url(claims.to_string()));
        let signature = self.signature(signing, token.as_bytes());
        write!(token, ".{}", base64url(signature)).expect("a text can always grow");
        token
    }

    fn signature(&self, signing: Signing, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let by_rsa = |padding: &'static dyn RsaEncoding, text: &[u8]| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(padding, &random, text, &mut signature).expect("a signature");
            signature
        };
        let by_curve = |key: &EcdsaKeyPair| key.sign(&random, text).expect("a signature").as_ref().to_vec();
        match signing {
            Signing::Rs256 => by_rsa(&RSA_PKCS1_SHA256, text),
            Signing::AnotherText => by_rsa(&RSA_PKCS1_SHA256, &sha256(text)),
            Signing::Ps256 => by_rsa(&RSA_PSS_SHA256, text),
            Signing::Es256 => by_curve(&self.p256),
            Signing::ForgedKey => by_curve(&self.forged),
            Signing::Es384 => by_curve(&self.p384),
            Signing::EdDsa => self.edwards.sign(text).as_ref().to_vec(),
            Signing::Unsigned => Vec::new(),
            Signing::PublicKeyAsSecret => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, self.rsa.public().as_ref());
                hmac::sign(&key, text).as_ref().to_vec()
            }
        }
    }
}

fn curve(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("randomness");
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
}

/// A part of the key of the RFC.
fn part(name: &str) -> String {
    let (_, text) = RSA.iter().find(|(known, _)| *known == name).expect("a part of the key");
    text.concat()
}

fn rsa() -> RsaKeyPair {
    let part = |name| URL_SAFE_NO_PAD.decode(part(name)).expect("base64url");
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n: part("n"), e: vec![1, 0, 1] },
        d: part("d"),
        p: part("p"),
        q: part("q"),
        dP: part("dp"),
        dQ: part("dq"),
        qInv: part("qi"),
    };
    RsaKeyPair::from_components(&components).expect("the key of the RFC")
}
