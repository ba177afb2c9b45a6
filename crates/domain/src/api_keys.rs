//! Keys that programs and command lines authenticate with.

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::{Id, Timestamp};

/// The longest name of a key, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 200;
/// The most scopes one key can list.
pub const KEY_SCOPES_MAX: usize = 64;

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
}
