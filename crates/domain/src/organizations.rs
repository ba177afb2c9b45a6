//! Tenants and who belongs to them.

use std::str::FromStr;

use crate::accounts::Account;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// What an account is to one organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MembershipLevel {
    /// The one who answers for it.
    Owner,
    /// Runs it.
    Admin,
    /// Works in it.
    Member,
}

impl MembershipLevel {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Admin, Self::Member];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// Whether this level makes an organization admin.
    #[must_use]
    pub const fn is_admin(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

impl FromStr for MembershipLevel {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Organization {
    /// Its id.
    pub id: Id<Organization>,
    /// What people read.
    pub name: String,
    /// Its name in URLs.
    pub slug: String,
    /// The account that answers for it.
    pub owner_id: Id<Account>,
    /// Its name in Gitea.
    pub gitea_org_name: Option<String>,
    /// Since when it is closed. Organizations are never deleted.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// That an account belongs to an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// Its id.
    pub id: Id<Membership>,
    /// The organization.
    pub org_id: Id<Organization>,
    /// The member.
    pub account_id: Id<Account>,
    /// What the member is to it.
    pub membership_level: MembershipLevel,
    /// Who decides in the member's place when the member cannot.
    pub manager_id: Option<Id<Account>>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for level in MembershipLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert!("root".parse::<MembershipLevel>().is_err());
    }

    #[test]
    fn owners_are_admins() {
        assert_eq!(MembershipLevel::ALL.map(MembershipLevel::is_admin), [true, true, false]);
    }
}
