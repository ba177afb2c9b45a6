//! The same request sent twice is one request.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Id;
use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::BadText;

/// The longest key a client may send.
pub const KEY_CHARS_MAX: usize = 128;
/// How long the first answer is remembered.
pub const ANSWER_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a second request waits for the first to end.
pub const IN_FLIGHT_WAIT: Duration = Duration::from_secs(10);

/// What a client wrote in `Idempotency-Key`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if printable && (1..=KEY_CHARS_MAX).contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadText("must be 1 to 128 printable ASCII characters".to_owned()))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The place of one remembered answer. Two requests meet only if all of it is the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// In which organization.
    pub org_id: Id<Organization>,
    /// By whom.
    pub account_id: Id<Account>,
    /// HTTP method.
    pub method: String,
    /// The path as sent, without the query.
    pub path: String,
    /// The client's key.
    pub key: IdempotencyKey,
}

/// How a request relates to the one remembered in its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeat {
    /// The same request: answer as before.
    SameBody,
    /// Another request under a used key: refuse it.
    OtherBody,
}

/// Compares the SHA-256 of the remembered body with that of the one just received.
#[must_use]
pub fn compare(stored: &[u8; 32], received: &[u8; 32]) -> Repeat {
    if stored == received { Repeat::SameBody } else { Repeat::OtherBody }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_printable_ascii() {
        for good in ["x", "0192-af", "a b", "~!", &"k".repeat(128)] {
            assert_eq!(good.parse::<IdempotencyKey>().unwrap().as_str(), good);
        }
        for bad in ["", "é", "a\tb", "a\u{7f}", &"k".repeat(129)] {
            assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_the_same_body_repeats() {
        assert_eq!(compare(&[1; 32], &[1; 32]), Repeat::SameBody);
        assert_eq!(compare(&[1; 32], &[2; 32]), Repeat::OtherBody);
    }
}
