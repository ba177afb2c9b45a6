//! Keys that programs and command lines authenticate with.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::accounts::Account;
use crate::canonical::sha256;
use crate::organizations::Organization;
use crate::{Id, Timestamp};

/// The longest name of a key, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 200;
/// The most scopes one key can list.
pub const KEY_SCOPES_MAX: usize = 64;

const MARK: &str = "csk_";
const SECRET_BYTES: usize = 32;
/// Enough to tell keys apart in a list; 208 random bits stay unshown.
const PREFIX_CHARS: usize = 12;

/// A key without its secret, of which only a hash exists in the records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKey {
    /// Its id.
    pub id: Id<ApiKey>,
    /// The one organization it acts in.
    pub org_id: Id<Organization>,
    /// The account it acts as.
    pub owner_id: Id<Account>,
    /// The account that made it, which counts as its owner in every vote.
    pub minted_by: Id<Account>,
    /// What people read.
    pub name: String,
    /// How its secret begins.
    pub prefix: String,
    /// What it may do at most; none means whatever its owner may.
    pub scopes: Option<Vec<String>>,
    /// Can be switched off and on again.
    pub enabled: bool,
    /// Since when it is dead for good.
    pub revoked_at: Option<Timestamp>,
    /// From when on it is dead.
    pub expires_at: Option<Timestamp>,
    /// The key that replaced it.
    pub rotated_to_id: Option<Id<ApiKey>>,
    /// When it was last seen, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Why a key opens nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyRefusal {
    /// Dead for good.
    #[error("the key was revoked")]
    Revoked,
    /// Switched off.
    #[error("the key is disabled")]
    Disabled,
    /// Past its day.
    #[error("the key has expired")]
    Expired,
}

impl ApiKey {
    /// Whether the key opens anything now.
    ///
    /// # Errors
    /// The reason, the most final one first.
    pub fn usable(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        if self.revoked_at.is_some() {
            return Err(KeyRefusal::Revoked);
        }
        if !self.enabled {
            return Err(KeyRefusal::Disabled);
        }
        match self.expires_at {
            Some(expires_at) if expires_at <= now => Err(KeyRefusal::Expired),
            _ => Ok(()),
        }
    }
}

/// The text is not in the form of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not an API key: one starts with csk_ and has 43 characters after it")]
pub struct NotAKey;

/// The secret itself. It is shown once, when it is made, and never by accident: there is no `Display`, `Debug`
/// keeps it back, and there is no `==` to time.
#[derive(Clone)]
pub struct KeySecret(String);

impl KeySecret {
    /// Dresses fresh random bytes as a key.
    #[must_use]
    pub fn from_bytes(random: &[u8; SECRET_BYTES]) -> Self {
        Self(format!("{MARK}{}", URL_SAFE_NO_PAD.encode(random)))
    }

    /// Takes what a caller presented, if it can be a key at all.
    ///
    /// # Errors
    /// [`NotAKey`] for anything that [`KeySecret::from_bytes`] cannot have made.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let encoded = text.strip_prefix(MARK).ok_or(NotAKey)?;
        let mut secret = [0; SECRET_BYTES];
        match URL_SAFE_NO_PAD.decode_slice(encoded, &mut secret) {
            Ok(SECRET_BYTES) => Ok(Self(text.to_owned())),
            _ => Err(NotAKey),
        }
    }

    /// The secret, for the one answer that shows it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What the records keep instead of it.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.0.as_bytes())
    }

    /// How it begins, for lists.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.get(..PREFIX_CHARS).unwrap_or(MARK)
    }
}

impl FromStr for KeySecret {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        Self::parse(text)
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn key() -> ApiKey {
        let at = Timestamp::from_micros(0);
        ApiKey {
            id: Id::new(Uuid::from_u128(1)),
            org_id: Id::new(Uuid::from_u128(2)),
            owner_id: Id::new(Uuid::from_u128(3)),
            minted_by: Id::new(Uuid::from_u128(3)),
            name: "ci".to_owned(),
            prefix: "csk_AAAAAAAA".to_owned(),
            scopes: None,
            enabled: true,
            revoked_at: None,
            expires_at: None,
            rotated_to_id: None,
            last_used_at: None,
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn a_key_is_usable_until_it_is_not() {
        let at = Timestamp::from_micros;
        assert_eq!(key().usable(at(5)), Ok(()));
        let expiring = ApiKey { expires_at: Some(at(10)), ..key() };
        assert_eq!(expiring.usable(at(9)), Ok(()));
        assert_eq!(expiring.usable(at(10)), Err(KeyRefusal::Expired));
        let disabled = ApiKey { enabled: false, ..expiring };
        assert_eq!(disabled.usable(at(10)), Err(KeyRefusal::Disabled));
        let revoked = ApiKey { revoked_at: Some(at(1)), ..disabled };
        assert_eq!(revoked.usable(at(0)), Err(KeyRefusal::Revoked));
    }

    #[test]
    fn a_secret_has_one_form_and_comes_back() {
        let secret = KeySecret::from_bytes(&[0xfb; 32]);
        assert_eq!(secret.expose(), "csk_-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
        assert_eq!(secret.prefix(), "csk_-_v7-_v7");
        assert_eq!(secret.hash(), sha256(secret.expose().as_bytes()));
        assert_eq!(KeySecret::parse(secret.expose()).unwrap().expose(), secret.expose());
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = KeySecret::from_bytes(&[7; 32]);
        assert_eq!(format!("{secret:?}"), "KeySecret(…)");
        assert_eq!(format!("{secret:#?}"), "KeySecret(…)");
    }

    #[test]
    fn other_texts_are_no_keys() {
        let good = KeySecret::from_bytes(&[7; 32]).expose().to_owned();
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
            &good.replace('H', "+"),
            &format!("{good}="),
            &format!(" {good}"),
            &longer,
            &much_longer,
            &other_spelling,
            "csk_é",
        ] {
            assert!(KeySecret::parse(bad).is_err(), "{bad:?}");
        }
    }
}
