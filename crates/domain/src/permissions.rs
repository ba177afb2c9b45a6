//! Who may do what.
//!
//! A capability opens a kind of act in the caller's organization; whether it covers one particular thing (my key or
//! yours) is decided by the use case that knows the thing.

use std::fmt;
use std::str::FromStr;

use crate::accounts::AccessLevel;
use crate::organizations::MembershipLevel;
use crate::text::{BadText, UnknownWord, one_of};

/// A kind of act. Each is also the name of a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Capability {
    /// Read the audit log; addresses are shown to organization admins only.
    AuditRead,
    /// Have the audit log checked now.
    AuditVerify,
    /// Read the event log.
    EventsRead,
    /// List keys: one's own, an organization admin those of all members.
    KeysRead,
    /// Mint, rotate and revoke keys (DECISIONS.md 20 says whose).
    KeysWrite,
    /// Read the instance's metrics and the details of its readiness.
    MetricsRead,
    /// Make and archive organizations.
    OrganizationsWrite,
    /// Read the organization's settings.
    SettingsRead,
    /// Change them.
    SettingsWrite,
}

impl Capability {
    /// Every capability, by name.
    pub const ALL: [Self; 9] = [
        Self::AuditRead,
        Self::AuditVerify,
        Self::EventsRead,
        Self::KeysRead,
        Self::KeysWrite,
        Self::MetricsRead,
        Self::OrganizationsWrite,
        Self::SettingsRead,
        Self::SettingsWrite,
    ];

    /// The scope of this name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuditRead => "audit:read",
            Self::AuditVerify => "audit:verify",
            Self::EventsRead => "events:read",
            Self::KeysRead => "keys:read",
            Self::KeysWrite => "keys:write",
            Self::MetricsRead => "metrics:read",
            Self::OrganizationsWrite => "organizations:write",
            Self::SettingsRead => "settings:read",
            Self::SettingsWrite => "settings:write",
        }
    }

    const fn bit(self) -> u64 {
        1 << self as u8
    }

    fn covered_by(self, scope: &str) -> bool {
        match scope.strip_suffix('*') {
            Some(namespace) => namespace.ends_with(':') && self.as_str().starts_with(namespace),
            None => self.as_str() == scope,
        }
    }
}

impl FromStr for Capability {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Some capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct CapabilitySet(u64);

impl CapabilitySet {
    /// None at all.
    pub const EMPTY: Self = Self(0);

    /// Whether this one is among them.
    #[must_use]
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// Those in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each one, by name.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.contains(*capability))
    }

    /// What these scopes (`keys:read`, `keys:*`) open at most. A scope this release does not know opens nothing.
    #[must_use]
    pub fn of_scopes(scopes: &[String]) -> Self {
        let covered = |capability: &Capability| scopes.iter().any(|scope| capability.covered_by(scope));
        Capability::ALL.into_iter().filter(covered).collect()
    }
}

impl FromIterator<Capability> for CapabilitySet {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        Self(capabilities.into_iter().fold(0, |bits, capability| bits | capability.bit()))
    }
}

impl fmt::Debug for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Capability::as_str)).finish()
    }
}

/// What an account is, to the instance and to the organization it acts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// To the instance.
    pub access_level: AccessLevel,
    /// To the organization; none if it is no member.
    pub membership_level: Option<MembershipLevel>,
}

impl Standing {
    /// Whether this is an admin of the organization.
    #[must_use]
    pub fn is_org_admin(self) -> bool {
        self.membership_level.is_some_and(MembershipLevel::is_admin)
    }

    /// Whether this is an admin of the instance.
    #[must_use]
    pub fn is_instance_admin(self) -> bool {
        self.access_level == AccessLevel::Admin
    }
}

const MEMBER: &[Capability] =
    &[Capability::AuditRead, Capability::EventsRead, Capability::KeysRead, Capability::KeysWrite];
const ORG_ADMIN: &[Capability] =
    &[Capability::AuditVerify, Capability::SettingsRead, Capability::SettingsWrite];
/// Metrics are of the whole instance, so a tenant's admin does not see them.
const INSTANCE_ADMIN: &[Capability] = &[Capability::MetricsRead, Capability::OrganizationsWrite];

/// What an account of this standing may do.
#[must_use]
pub fn capabilities(standing: Standing) -> CapabilitySet {
    let grants = [
        (standing.membership_level.is_some(), MEMBER),
        (standing.is_org_admin(), ORG_ADMIN),
        (standing.is_instance_admin(), INSTANCE_ADMIN),
    ];
    let granted = grants.into_iter().filter(|(holds, _)| *holds);
    granted.flat_map(|(_, capabilities)| capabilities.iter().copied()).collect()
}

/// What a key of such an account may do: never more than the account, and at most its scopes.
#[must_use]
pub fn capabilities_of_key(standing: Standing, scopes: Option<&[String]>) -> CapabilitySet {
    let owner = capabilities(standing);
    scopes.map_or(owner, |scopes| owner.intersection(CapabilitySet::of_scopes(scopes)))
}

/// Checks a scope that somebody wants a key to have.
///
/// # Errors
/// It covers no capability that exists.
pub fn check_scope(scope: &str) -> Result<(), BadText> {
    if Capability::ALL.into_iter().any(|capability| capability.covered_by(scope)) {
        return Ok(());
    }
    let known = Capability::ALL.map(Capability::as_str).join(", ");
    Err(BadText(format!("must be one of {known}, or a namespace such as keys:*")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [Option<MembershipLevel>; 4] =
        [None, Some(MembershipLevel::Member), Some(MembershipLevel::Admin), Some(MembershipLevel::Owner)];

    fn of(access_level: AccessLevel, membership_level: Option<MembershipLevel>) -> CapabilitySet {
        capabilities(Standing { access_level, membership_level })
    }

    fn scopes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_sorted_and_come_back() {
        assert!(Capability::ALL.is_sorted_by_key(|capability| capability.as_str()));
        for (index, capability) in Capability::ALL.into_iter().enumerate() {
            assert_eq!(capability as usize, index);
            assert_eq!(capability.as_str().parse(), Ok(capability));
            assert!(check_scope(capability.as_str()).is_ok());
        }
    }

    #[test]
    fn each_standing_has_its_share() {
        use Capability::*;
        assert_eq!(of(AccessLevel::User, None), CapabilitySet::EMPTY);
        assert_eq!(of(AccessLevel::Service, None), CapabilitySet::EMPTY);
        let member = of(AccessLevel::User, Some(MembershipLevel::Member));
        assert!(member.iter().eq([AuditRead, EventsRead, KeysRead, KeysWrite]));
        let admin = of(AccessLevel::User, Some(MembershipLevel::Admin));
        assert!(
            admin.contains(SettingsWrite)
                && !admin.contains(OrganizationsWrite)
                && !admin.contains(MetricsRead)
        );
        assert_eq!(admin, of(AccessLevel::User, Some(MembershipLevel::Owner)));
        let instance = of(AccessLevel::Admin, Some(MembershipLevel::Member));
        assert!(instance.contains(OrganizationsWrite) && !instance.contains(SettingsRead));
        assert_eq!(
            of(AccessLevel::Admin, Some(MembershipLevel::Owner)),
            Capability::ALL.into_iter().collect()
        );
    }

    #[test]
    fn a_key_never_opens_more_than_its_owner() {
        let all = scopes(&[
            "audit:*",
            "events:*",
            "keys:*",
            "metrics:*",
            "organizations:*",
            "settings:*",
            "tasks:*",
        ]);
        for access_level in AccessLevel::ALL {
            for membership_level in LEVELS {
                let standing = Standing { access_level, membership_level };
                assert_eq!(capabilities_of_key(standing, None), capabilities(standing));
                assert_eq!(capabilities_of_key(standing, Some(&all)), capabilities(standing));
                assert_eq!(capabilities_of_key(standing, Some(&[])), CapabilitySet::EMPTY);
            }
        }
    }

    #[test]
    fn scopes_narrow_by_name_or_namespace() {
        let names = |list: &[&str]| CapabilitySet::of_scopes(&scopes(list)).iter().collect::<Vec<_>>();
        assert_eq!(
            names(&["keys:*", "events:read"]),
            [Capability::EventsRead, Capability::KeysRead, Capability::KeysWrite]
        );
        for nothing in
            ["*", ":*", "key*", "keys*", "keys:", "keys:re*", "KEYS:*", "keys:read ", "tasks:*", ""]
        {
            assert_eq!(names(&[nothing]), [], "{nothing:?}");
            assert!(check_scope(nothing).is_err(), "{nothing:?}");
        }
    }

    #[test]
    fn a_set_reads_as_its_names() {
        let set: CapabilitySet = [Capability::KeysWrite, Capability::AuditRead].into_iter().collect();
        assert_eq!(format!("{set:?}"), r#"{"audit:read", "keys:write"}"#);
        assert_eq!(set.union(CapabilitySet::EMPTY), set);
    }
}
