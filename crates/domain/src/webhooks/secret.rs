//! What messages are signed with, as Standard Webhooks has it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const MARK: &str = "whsec_";
/// As the specification has it: 24 to 64 bytes.
const BYTES_MIN: usize = 24;
const BYTES_MAX: usize = 64;

/// The text is not in the form of such a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be whsec_ and 24 to 64 bytes in base64, such as a library for Standard Webhooks makes")]
pub struct NotAWebhookSecret;

/// The secret an endpoint and the hub share. Shown when it is made, and never by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Dresses fresh random bytes.
    #[must_use]
    pub fn from_bytes(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// Takes one that somebody chose, or that was kept.
    ///
    /// # Errors
    /// [`NotAWebhookSecret`].
    pub fn parse(text: &str) -> Result<Self, NotAWebhookSecret> {
        let encoded = text.strip_prefix(MARK).ok_or(NotAWebhookSecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| NotAWebhookSecret)?;
        match (BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
            true => Ok(Self(bytes)),
            false => Err(NotAWebhookSecret),
        }
    }

    /// The text, to show it or to keep it.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{MARK}{}", STANDARD.encode(&self.0))
    }

    /// The key of the HMAC.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// What is signed: the message's id, when it is sent, and its body.
#[must_use]
pub fn signed_content(id: &str, seconds: i64, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", seconds.to_string().as_bytes(), b".", body].concat()
}
