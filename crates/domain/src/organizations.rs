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

/// What shall change about an organization.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrganizationChange {
    /// A new name.
    pub name: Option<String>,
    /// A new slug.
    pub slug: Option<String>,
    /// A new name in Gitea, or none.
    pub gitea_org_name: Option<Option<String>>,
    /// Whether it is closed.
    pub archived: Option<bool>,
}

/// Who asks for a change.
#[derive(Clone, Copy, Debug)]
pub struct OrganizationAsker {
    /// Whether they administer the instance.
    pub is_instance_admin: bool,
    /// Whether they act in the organization.
    pub is_inside: bool,
    /// Whether they administer the organization they act in.
    pub is_org_admin: bool,
}

/// Why an organization stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OrganizationRefusal {
    /// Names are unique in the hub, so whoever tries them learns of other tenants.
    #[error("only an instance admin makes, names and archives organizations")]
    InstanceAdmin,
    /// The organization's own.
    #[error("only an admin of the organization changes this, acting in it")]
    OrgAdmin,
    /// Whoever closes the door stands outside.
    #[error("an organization is not archived from inside; act in another one")]
    FromInside,
    /// It is the owner's to give.
    #[error("only the owner hands the organization over")]
    NotOwner,
    /// Somebody must answer for it.
    #[error("must be an active person")]
    CannotOwn,
}

/// Whether the change may be made.
pub fn may_change(asker: &OrganizationAsker, change: &OrganizationChange) -> Result<(), OrganizationRefusal> {
    let is_the_instances = change.name.is_some() || change.slug.is_some() || change.archived.is_some();
    if is_the_instances && !asker.is_instance_admin {
        return Err(OrganizationRefusal::InstanceAdmin);
    }
    if change.gitea_org_name.is_some() && !(asker.is_inside && asker.is_org_admin) {
        return Err(OrganizationRefusal::OrgAdmin);
    }
    if change.archived == Some(true) && asker.is_inside {
        return Err(OrganizationRefusal::FromInside);
    }
    Ok(())
}

/// Whether the organization may get this owner.
pub fn may_hand_over(
    by_owner: bool,
    by_instance_admin: bool,
    to: &Account,
) -> Result<(), OrganizationRefusal> {
    if !by_owner && !by_instance_admin {
        return Err(OrganizationRefusal::NotOwner);
    }
    // Whoever answers for an organization must be able to come in.
    if to.may_log_in() { Ok(()) } else { Err(OrganizationRefusal::CannotOwn) }
}

impl Organization {
    /// The organization after the change; the same where nothing changes.
    #[must_use]
    pub fn changed(&self, change: &OrganizationChange, now: Timestamp) -> Self {
        let after = Self {
            name: change.name.clone().unwrap_or_else(|| self.name.clone()),
            slug: change.slug.clone().unwrap_or_else(|| self.slug.clone()),
            gitea_org_name: change.gitea_org_name.clone().unwrap_or_else(|| self.gitea_org_name.clone()),
            archived_at: match change.archived {
                Some(true) => self.archived_at.or(Some(now)),
                Some(false) => None,
                None => self.archived_at,
            },
            ..self.clone()
        };
        if after == *self { after } else { Self { updated_at: now.after(self.updated_at), ..after } }
    }
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
    use crate::accounts::{AccessLevel, AccountStatus};
    use crate::sample;

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

    #[test]
    fn who_changes_what() {
        use OrganizationRefusal::{FromInside, InstanceAdmin, OrgAdmin};
        let asker = |is_instance_admin, is_inside, is_org_admin| OrganizationAsker {
            is_instance_admin,
            is_inside,
            is_org_admin,
        };
        let name = OrganizationChange { name: Some("x".into()), ..OrganizationChange::default() };
        let slug = OrganizationChange { slug: Some("x".into()), ..OrganizationChange::default() };
        let gitea = OrganizationChange { gitea_org_name: Some(None), ..OrganizationChange::default() };
        let close = OrganizationChange { archived: Some(true), ..OrganizationChange::default() };
        let open = OrganizationChange { archived: Some(false), ..OrganizationChange::default() };
        let (tenant, instance, owner) =
            (asker(false, true, true), asker(true, false, true), asker(true, true, true));
        for change in [&name, &slug, &close, &open] {
            assert_eq!(may_change(&tenant, change), Err(InstanceAdmin), "{change:?}");
            assert_eq!(may_change(&instance, change), Ok(()), "{change:?}");
        }
        assert_eq!(may_change(&owner, &close), Err(FromInside));
        assert_eq!(may_change(&owner, &name), Ok(()));
        assert_eq!(may_change(&tenant, &gitea), Ok(()));
        assert_eq!(may_change(&instance, &gitea), Err(OrgAdmin), "from outside");
        assert_eq!(may_change(&asker(false, true, false), &gitea), Err(OrgAdmin));
    }

    #[test]
    fn an_organization_is_handed_to_an_active_person_by_its_owner_or_an_instance_admin() {
        use OrganizationRefusal::{CannotOwn, NotOwner};
        let active = sample::account(1);
        for (by_owner, by_instance_admin, expected) in [
            (false, false, Err(NotOwner)),
            (true, false, Ok(())),
            (false, true, Ok(())),
            (true, true, Ok(())),
        ] {
            assert_eq!(may_hand_over(by_owner, by_instance_admin, &active), expected);
        }
        for access_level in AccessLevel::ALL {
            for status in AccountStatus::ALL {
                let heir = Account { access_level, status, ..active.clone() };
                let can_own = status == AccountStatus::Active && access_level != AccessLevel::Service;
                let expected = if can_own { Ok(()) } else { Err(CannotOwn) };
                assert_eq!(may_hand_over(true, true, &heir), expected, "{access_level:?} {status:?}");
            }
        }
    }
}
