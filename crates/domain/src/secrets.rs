//! Secrets that open something: 32 random bytes, shown once, kept as a hash.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::canonical::sha256;

const SECRET_BYTES: usize = 32;
/// Enough to tell keys apart in a list; 208 random bits stay unshown.
const PREFIX_CHARS: usize = 12;

/// What a secret opens; each kind begins with a mark of its own, so that none can be taken for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretKind {
    /// An API key.
    ApiKey,
    /// A login session.
    Login,
    /// A link that logs in once.
    Link,
    /// A program that waits for a person to grant it a login.
    Device,
    /// A browser that was sent to a provider of logins.
    Browser,
    /// What the provider gives back to that browser.
    State,
    /// The token of a standalone grant.
    Grant,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::ApiKey, Self::Login, Self::Link, Self::Device, Self::Browser, Self::State, Self::Grant];

    /// How secrets of this kind begin.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::ApiKey => "csk_",
            Self::Login => "css_",
            Self::Link => "cso_",
            Self::Device => "csd_",
            Self::Browser => "csb_",
            Self::State => "cst_",
            Self::Grant => "csg_",
        }
    }
}

/// The text is not in the form of a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a secret of the hub: an API key starts with csk_ and has 43 characters after it")]
pub struct NotASecret;

/// The secret itself. It is shown once, when it is made, and never by accident: there is no `Display`, `Debug`
/// keeps it back, and there is no `==` to time.
#[derive(Clone)]
pub struct Secret {
    kind: SecretKind,
    text: String,
}

impl Secret {
    /// Dresses fresh random bytes.
    #[must_use]
    pub fn from_bytes(kind: SecretKind, random: &[u8; SECRET_BYTES]) -> Self {
        Self { kind, text: format!("{}{}", kind.mark(), URL_SAFE_NO_PAD.encode(random)) }
    }

    /// Takes what a caller presented, if it can be a secret at all.
    ///
    /// # Errors
    /// [`NotASecret`] for anything that [`Secret::from_bytes`] cannot have made.
    pub fn parse(text: &str) -> Result<Self, NotASecret> {
        let kind =
            SecretKind::ALL.into_iter().find(|kind| text.starts_with(kind.mark())).ok_or(NotASecret)?;
        let encoded = text.strip_prefix(kind.mark()).ok_or(NotASecret)?;
        let mut secret = [0; SECRET_BYTES];
        match URL_SAFE_NO_PAD.decode_slice(encoded, &mut secret) {
            Ok(SECRET_BYTES) => Ok(Self { kind, text: text.to_owned() }),
            _ => Err(NotASecret),
        }
    }

    /// Takes a secret of this kind and of no other.
    ///
    /// # Errors
    /// [`NotASecret`] also for a secret of another kind.
    pub fn parse_as(kind: SecretKind, text: &str) -> Result<Self, NotASecret> {
        Self::parse(text).ok().filter(|secret| secret.kind == kind).ok_or(NotASecret)
    }

    /// What it opens.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.kind
    }

    /// The secret, for the one answer that shows it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// What the records keep instead of it.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.text.as_bytes())
    }

    /// How it begins, for lists.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.text.get(..PREFIX_CHARS).unwrap_or(self.kind.mark())
    }
}

impl FromStr for Secret {
    type Err = NotASecret;

    fn from_str(text: &str) -> Result<Self, NotASecret> {
        Self::parse(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Secret {
        Secret::from_bytes(SecretKind::ApiKey, &[byte; 32])
    }

    #[test]
    fn a_secret_has_one_form_and_comes_back() {
        let secret = key(0xfb);
        assert_eq!(secret.expose(), "csk_-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
        assert_eq!(secret.prefix(), "csk_-_v7-_v7");
        assert_eq!(secret.hash(), sha256(secret.expose().as_bytes()));
        for kind in SecretKind::ALL {
            let secret = Secret::from_bytes(kind, &[7; 32]);
            let parsed = Secret::parse(secret.expose()).unwrap();
            assert_eq!((parsed.expose(), parsed.kind()), (secret.expose(), kind));
            for other in SecretKind::ALL {
                assert_eq!(Secret::parse_as(other, secret.expose()).is_ok(), other == kind);
            }
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", key(7)), "Secret(…)");
        assert_eq!(format!("{:#?}", key(7)), "Secret(…)");
    }

    #[test]
    fn other_texts_are_no_secrets() {
        let good = key(7).expose().to_owned();
        let longer = format!("{good}A");
        let much_longer = format!("{good}{good}");
        // The last character carries four bits only; with others set it would be a second spelling.
        let other_spelling = format!("{}d", &good[..good.len() - 1]);
        for bad in [
            "",
            "csk_",
            &good[1..],
            &good[..good.len() - 1],
            &good.replace("csk_", "CSK_"),
            &good.replace("csk_", "csx_"),
            &good.replace('H', "+"),
            &format!("{good}="),
            &format!(" {good}"),
            &longer,
            &much_longer,
            &other_spelling,
            "csk_é",
        ] {
            assert!(Secret::parse(bad).is_err(), "{bad:?}");
        }
    }
}
