//! People, services and agents that can authenticate.

use std::str::FromStr;

use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// What an account is to the whole instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessLevel {
    /// Runs the instance.
    Admin,
    /// A person.
    User,
    /// A program: an agent, a pipeline, the hub itself.
    Service,
}

impl AccessLevel {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Admin, Self::User, Self::Service];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
            Self::Service => "service",
        }
    }
}

impl FromStr for AccessLevel {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Whether an account may authenticate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountStatus {
    /// It may.
    Active,
    /// Locked by an admin.
    Suspended,
    /// Shut down by its owner.
    Deactivated,
}

impl AccountStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Deactivated];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deactivated => "deactivated",
        }
    }
}

impl FromStr for AccountStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// One who can authenticate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Its id.
    pub id: Id<Account>,
    /// Lower case; unique in the instance.
    pub email: String,
    /// What people read.
    pub display_name: String,
    /// Its name in Gitea.
    pub gitea_username: Option<String>,
    /// What it is to the instance.
    pub access_level: AccessLevel,
    /// Whether it may authenticate.
    pub status: AccountStatus,
    /// Whose admins may change it. Only the first accounts are older than their organization.
    pub home_org_id: Option<Id<Organization>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for level in AccessLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        for status in AccountStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert!("Admin".parse::<AccessLevel>().is_err());
        assert!("".parse::<AccountStatus>().is_err());
    }
}
