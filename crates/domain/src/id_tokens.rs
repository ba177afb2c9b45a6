//! What a provider says about who logged in, and whether it was said to us, about this login, now.
//!
//! OpenID Connect Core 1.0, section 3.1.3.7. The signature has been verified before.

use std::time::Duration;

use serde_json::Value;

use crate::Timestamp;
use crate::text;

/// How far the provider's clock may be off.
const LEEWAY: Duration = Duration::from_secs(60);
/// OpenID Connect's own limit.
const SUBJECT_CHARS_MAX: usize = 255;

/// What a token must say to be meant for us.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// The provider that was asked.
    pub issuer: &'a str,
    /// Who we are to it.
    pub client_id: &'a str,
    /// What was sent along with this login.
    pub nonce: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// Who the provider says it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Who they are there, for ever.
    pub subject: String,
    /// Their address, as accounts have it.
    pub email: Option<String>,
    /// Whether the provider has verified that it is theirs.
    pub email_is_verified: bool,
    /// Half a hash of the access token that must come with it.
    pub at_hash: Option<String>,
}

/// Why a token tells us nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenRefusal {
    /// A claim that every token has is missing, or is of another kind.
    #[error("the claim {0} is missing or cannot be read")]
    Unreadable(&'static str),
    /// Somebody else has made it.
    #[error("it is from another issuer")]
    Issuer,
    /// It was made for another program.
    #[error("it is for another client")]
    Audience,
    /// It was made for another login.
    #[error("it belongs to another login")]
    Nonce,
    /// It has ended, or has not begun.
    #[error("it is not valid at this time")]
    Time,
}

/// Reads the claims of a token whose signature is right.
///
/// # Errors
/// Any doubt.
pub fn check(claims: &Value, expected: &Expected<'_>) -> Result<Claims, TokenRefusal> {
    if text_of(claims, "iss")? != expected.issuer {
        return Err(TokenRefusal::Issuer);
    }
    check_audience(claims, expected.client_id)?;
    check_time(claims, expected.now)?;
    if text_of(claims, "nonce")? != expected.nonce {
        return Err(TokenRefusal::Nonce);
    }
    let subject = text_of(claims, "sub")?;
    if subject.is_empty() || subject.len() > SUBJECT_CHARS_MAX || !subject.is_ascii() {
        return Err(TokenRefusal::Unreadable("sub"));
    }
    let at_hash = match &claims["at_hash"] {
        Value::Null => None,
        Value::String(hash) => Some(hash.clone()),
        _ => return Err(TokenRefusal::Unreadable("at_hash")),
    };
    Ok(Claims {
        subject: subject.to_owned(),
        email: claims["email"].as_str().and_then(|address| text::email(address).ok()),
        // Only the word itself: some providers send texts, and "false" is one, too.
        email_is_verified: claims["email_verified"] == Value::Bool(true),
        at_hash,
    })
}

fn text_of<'c>(claims: &'c Value, name: &'static str) -> Result<&'c str, TokenRefusal> {
    claims[name].as_str().ok_or(TokenRefusal::Unreadable(name))
}

/// The token is for us, and where it is for others too, we are who asked for it.
fn check_audience(claims: &Value, client_id: &str) -> Result<(), TokenRefusal> {
    let audience: Option<Vec<&str>> = match &claims["aud"] {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => several.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let audience = audience.ok_or(TokenRefusal::Unreadable("aud"))?;
    let asked = match &claims["azp"] {
        Value::Null => audience.len() == 1,
        Value::String(party) => party == client_id,
        _ => return Err(TokenRefusal::Unreadable("azp")),
    };
    if asked && audience.contains(&client_id) { Ok(()) } else { Err(TokenRefusal::Audience) }
}

fn check_time(claims: &Value, now: Timestamp) -> Result<(), TokenRefusal> {
    let ends = seconds(&claims["exp"]).ok_or(TokenRefusal::Unreadable("exp"))?;
    let made = seconds(&claims["iat"]).ok_or(TokenRefusal::Unreadable("iat"))?;
    let begins = match &claims["nbf"] {
        Value::Null => made,
        begins => seconds(begins).ok_or(TokenRefusal::Unreadable("nbf"))?,
    };
    let latest = now.plus(LEEWAY);
    let is_good = now.minus(LEEWAY) < ends && made <= latest && begins <= latest;
    if is_good { Ok(()) } else { Err(TokenRefusal::Time) }
}

/// A time as tokens write it. The conversion stops at the ends of time.
fn seconds(value: &Value) -> Option<Timestamp> {
    const MICROS: f64 = 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "a time too far away is as good as the farthest")]
    value.as_f64().map(|seconds| Timestamp::from_micros((seconds * MICROS) as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn good() -> Value {
        json!({
            "iss": "https://id.example", "aud": "hub", "sub": "ada", "nonce": "n",
            "iat": NOW - 5, "exp": NOW + 300, "email": "Ada@Example.org", "email_verified": true,
        })
    }

    fn checked(changes: Value) -> Result<Claims, TokenRefusal> {
        let mut claims = good();
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let now = Timestamp::from_micros(NOW * 1_000_000);
        check(&claims, &Expected { issuer: "https://id.example", client_id: "hub", nonce: "n", now })
    }

    #[test]
    fn a_token_for_us_says_who_it_is() {
        let claims = checked(json!({})).unwrap();
        assert_eq!((claims.subject.as_str(), claims.email.as_deref()), ("ada", Some("ada@example.org")));
        assert!(claims.email_is_verified && claims.at_hash.is_none());
        for unverified in [json!(false), json!("true"), json!(1), json!(null)] {
            assert!(!checked(json!({"email_verified": unverified})).unwrap().email_is_verified);
        }
        assert_eq!(checked(json!({"email": "no address"})).unwrap().email, None);
    }

    #[test]
    fn a_token_for_others_says_nothing() {
        use TokenRefusal::{Audience, Issuer, Nonce, Unreadable};
        for (changes, refusal) in [
            (json!({"iss": "https://id.example/"}), Issuer),
            (json!({"iss": null}), Unreadable("iss")),
            (json!({"aud": "other"}), Audience),
            (json!({"aud": []}), Audience),
            (json!({"aud": ["other"], "azp": "hub"}), Audience),
            (json!({"aud": ["hub", "other"]}), Audience),
            (json!({"aud": ["hub", "other"], "azp": "other"}), Audience),
            (json!({"azp": "other"}), Audience),
            (json!({"azp": 1}), Unreadable("azp")),
            (json!({"aud": 7}), Unreadable("aud")),
            (json!({"aud": ["hub", 7]}), Unreadable("aud")),
            (json!({"nonce": "m"}), Nonce),
            (json!({"nonce": null}), Unreadable("nonce")),
            (json!({"sub": ""}), Unreadable("sub")),
            (json!({"sub": 7}), Unreadable("sub")),
            (json!({"sub": "x".repeat(256)}), Unreadable("sub")),
            (json!({"sub": "é"}), Unreadable("sub")),
            (json!({"at_hash": 7}), Unreadable("at_hash")),
        ] {
            assert_eq!(checked(changes.clone()), Err(refusal), "{changes}");
        }
        assert!(checked(json!({"aud": ["hub"]})).is_ok());
        assert!(checked(json!({"aud": ["other", "hub"], "azp": "hub"})).is_ok());
    }

    #[test]
    fn a_token_is_good_in_its_time_give_or_take_a_minute() {
        let late = TokenRefusal::Time;
        for (changes, expected) in [
            (json!({"exp": NOW - 59}), Ok(())),
            (json!({"exp": NOW - 60}), Err(late)),
            (json!({"exp": NOW as f64 - 59.5}), Ok(())),
            (json!({"iat": NOW + 60}), Ok(())),
            (json!({"iat": NOW + 61}), Err(late)),
            (json!({"nbf": NOW + 60}), Ok(())),
            (json!({"nbf": NOW + 61}), Err(late)),
            (json!({"exp": -1e300}), Err(late)),
            (json!({"exp": "soon"}), Err(TokenRefusal::Unreadable("exp"))),
            (json!({"exp": null}), Err(TokenRefusal::Unreadable("exp"))),
            (json!({"iat": null}), Err(TokenRefusal::Unreadable("iat"))),
            (json!({"nbf": "x"}), Err(TokenRefusal::Unreadable("nbf"))),
        ] {
            assert_eq!(checked(changes.clone()).map(drop), expected, "{changes}");
        }
    }
}
