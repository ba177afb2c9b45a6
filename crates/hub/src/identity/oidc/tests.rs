//! The parts that need no provider: addresses, documents, and signatures of the RFCs' own examples.

use serde_json::{Value, json};

use super::jws::{JwsRefusal, Keys};
use super::metadata::{ClientProof, Metadata};
use super::*;

#[test]
fn a_provider_is_reached_over_tls_or_on_this_machine() {
    for good in [
        "https://id.example",
        "https://id.example/realms/a",
        "http://localhost:8080",
        "http://127.0.0.1:1/a",
        "http://[::1]:1",
    ] {
        assert_eq!(Issuer::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "id.example",
        "http://id.example",
        "http://10.0.0.1",
        "ftp://localhost",
        "https://me:hush@id.example",
        "https://id.example?a=b",
        "https://id.example#a",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
    ] {
        assert!(Issuer::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(Issuer::parse("https://id.example:8443/realms/a").unwrap().host(), "id.example");
    assert_eq!(format!("{:?}", ClientSecret::new("hush")), "ClientSecret(…)");
}

fn document(changes: Value) -> Value {
    let mut document = json!({
        "issuer": "https://id.example", "authorization_endpoint": "https://id.example/a?b=c",
        "token_endpoint": "https://tokens.example/t", "jwks_uri": "https://id.example/k",
    });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

#[test]
fn a_document_is_the_providers_own_and_leads_nowhere_less_safe() {
    let issuer = Issuer::parse("https://id.example").unwrap();
    let read = |changes| Metadata::read(&document(changes), &issuer);
    let plain = read(json!({})).unwrap();
    assert_eq!((plain.client_proof, plain.answers_name_issuer), (ClientProof::Basic, false));
    assert!(
        read(json!({"authorization_response_iss_parameter_supported": true})).unwrap().answers_name_issuer
    );
    let proof =
        |methods| read(json!({"token_endpoint_auth_methods_supported": methods})).map(|m| m.client_proof);
    assert_eq!(proof(json!(["client_secret_post"])), Ok(ClientProof::Post));
    assert_eq!(proof(json!(["client_secret_post", "client_secret_basic"])), Ok(ClientProof::Basic));
    assert_eq!(proof(json!(["none"])), Ok(ClientProof::Basic));
    assert!(proof(json!(["private_key_jwt"])).is_err());
    for (name, value) in [
        ("issuer", json!("https://id.example/")),
        ("issuer", json!(null)),
        ("token_endpoint", json!("http://id.example/t")),
        ("token_endpoint", json!("http://127.0.0.1/t")),
        ("jwks_uri", json!("https://a:b@id.example/k")),
        ("jwks_uri", json!(7)),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!(null)),
    ] {
        assert!(read(json!({ name: value })).is_err(), "{name} {value}");
    }
}

/// RFC 7515, A.2: RS256.
fn rsa() -> (Value, String) {
    let n = [
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS",
        "-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2C",
        "apHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb",
        "54h4FRWyuXpoQ",
    ];
    let token = [
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0",
        "cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJd",
        "bF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn",
        "6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0i",
        "gcN_IoypGlUPQGe77Rw",
    ];
    (json!({"kty": "RSA", "n": n.concat(), "e": "AQAB"}), token.concat())
}

/// RFC 7515, A.3: ES256.
fn p256() -> (Value, String) {
    let key = json!({
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let token = [
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0",
        "cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ];
    (key, token.concat())
}

fn refusal(keys: Value, token: &str) -> Option<JwsRefusal> {
    Keys::read(&json!({ "keys": keys })).unwrap().verify(token).err()
}

#[test]
fn the_examples_of_the_rfc_are_verified() {
    for (key, token) in [rsa(), p256()] {
        let verified = Keys::read(&json!({"keys": [key]})).unwrap().verify(&token).unwrap();
        assert_eq!(verified.claims["iss"], "joe");
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let other = format!("{signed}.{}", signature.replacen('D', "E", 1).replacen("cC4", "cC5", 1));
        assert_eq!(refusal(json!([key]), &other), Some(JwsRefusal::Signature));
    }
}

/// The half of the hash in OpenID Connect Core, A.3 and A.4.
#[test]
fn half_a_hash_is_that_of_the_document() {
    let (key, token) = rsa();
    let verified = Keys::read(&json!({"keys": [key]})).unwrap().verify(&token).unwrap();
    assert_eq!(verified.half_hash("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"), "77QmUPtjPfzWtF2AnpK9RQ");
}

/// The token of the RFC under another header. Whatever it says, the signature is no longer right.
fn headed(header: &Value) -> String {
    let header =
        base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, header.to_string());
    let (_, token) = rsa();
    format!("{header}.{}", token.split_once('.').unwrap().1)
}

#[test]
fn the_token_does_not_choose_what_is_good_enough() {
    let (rsa, token) = rsa();
    for weak in ["none", "None", "HS256", "HS512", "RS1", "RS384", "dir", "", "rs256"] {
        assert_eq!(
            refusal(json!([rsa]), &headed(&json!({"alg": weak}))),
            Some(JwsRefusal::Algorithm),
            "{weak}"
        );
    }
    for odd in [
        json!({"alg": "RS256", "crit": ["exp"]}),
        json!({"alg": "RS256", "typ": "logout+jwt"}),
        json!({"alg": "RS256", "typ": "at+jwt"}),
        json!({"alg": "RS256", "kid": 7}),
        json!(["RS256"]),
    ] {
        assert_eq!(refusal(json!([rsa]), &headed(&odd)), Some(JwsRefusal::Malformed), "{odd}");
    }
    // A key in the token is the sender's, not the provider's.
    let own = headed(&json!({"alg": "RS256", "jwk": rsa, "kid": "own"}));
    assert_eq!(refusal(json!([]), &own), Some(JwsRefusal::UnknownKey));
    let (head, rest) = token.split_once('.').unwrap();
    let (claims, signature) = rest.split_once('.').unwrap();
    for broken in
        ["", ".", "..", "a.b", &format!("{head}.{claims}"), &format!("{head}.{claims}.{signature}=")]
    {
        assert_eq!(refusal(json!([rsa]), broken), Some(JwsRefusal::Malformed), "{broken}");
    }
    assert_eq!(refusal(json!([rsa]), &format!("{token}.{signature}")), Some(JwsRefusal::Malformed));
    assert_eq!(refusal(json!([rsa]), &format!("{head}.{claims}.")), Some(JwsRefusal::Signature));
}

#[test]
fn a_key_is_used_for_what_it_is() {
    let ((rsa, token), (p256, elliptic)) = (rsa(), p256());
    let with = |key: &Value, name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        key
    };
    let unknown = Some(JwsRefusal::UnknownKey);
    assert_eq!(refusal(json!([p256]), &token), unknown, "a key of another kind");
    assert_eq!(refusal(json!([rsa]), &elliptic), unknown, "a key of another kind");
    assert_eq!(refusal(json!([rsa, p256]), &token), None);
    assert_eq!(refusal(json!([rsa, rsa]), &token), Some(JwsRefusal::Ambiguous));
    assert_eq!(refusal(json!([with(&rsa, "use", json!("enc"))]), &token), unknown);
    assert_eq!(refusal(json!([with(&rsa, "key_ops", json!(["encrypt"]))]), &token), unknown);
    assert_eq!(refusal(json!([with(&rsa, "key_ops", json!(["verify"]))]), &token), None);
    assert_eq!(refusal(json!([with(&rsa, "alg", json!("PS256"))]), &token), unknown);
    assert_eq!(refusal(json!([with(&rsa, "alg", json!("RS256"))]), &token), None);
    assert_eq!(
        refusal(json!([with(&rsa, "kid", json!("a"))]), &headed(&json!({"alg": "RS256", "kid": "b"}))),
        unknown
    );
    assert_eq!(refusal(json!([{"kty": "oct", "k": "c2VjcmV0"}, "x", null, rsa]), &token), None);
    assert_eq!(Keys::read(&json!({})), None);
}

/// A right signature of a key that was made for this test and thrown away. 1024 bits can be factored.
#[test]
fn a_short_key_signs_nothing() {
    let n = [
        "uJ2pq8cNQL2WQXxRyrG1rrqZT38OzivHkritYnOFIwKzld5A9N9ny_9DeYIe0ylRT9ErV-vxXjsarr_2foLrOU6VNfBA-WOv_omTMUrTp",
        "oLaMRNJ04gVrK_A1fjCNBdOZkBxwCuYC1PopBydLVW793T9htVcP_qYgFLRsfFuJjk",
    ];
    let token = [
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UifQ.QVMDLx9FHC4TQvYQjqrqb7vks0wlX6sx6gXqtxoisIDBnu6wK2-6v6kLG9eXo0Zld",
        "bKq18u5qYHL6BsS-pAiQdK29kLU9mYmZrlKIIdCtrMdltJH3b5JPuUfv_zG6AHmE6HVxb0nNn4wQy4lhsxQ0PGyxDHkCY006dV5sFaLGu",
        "k",
    ];
    let key = json!({"kty": "RSA", "n": n.concat(), "e": "AQAB"});
    assert_eq!(refusal(json!([key]), &token.concat()), Some(JwsRefusal::Signature));
}
