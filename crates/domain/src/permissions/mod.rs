//! Who may do what.
//!
//! A capability opens a kind of act in the caller's organization; whether it covers one particular thing (my key or
//! yours) is decided by the use case that knows the thing.

use std::fmt;
use std::str::FromStr;

use crate::accounts::AccessLevel;
use crate::organizations::MembershipLevel;
use crate::text::{BadText, UnknownWord, one_of};

/// A kind of act. Each is also the name of a scope. Those of tasks, approvals, executions and locks are the matrix of
/// S001 (PERM-01 to PERM-07): Author and Reviewer are relations to one task, so which task is decided where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Capability {
    /// Find the organization's members.
    AccountsRead,
    /// Change accounts: one's own, an organization admin those that are at home there.
    AccountsWrite,
    /// Read agents; their `config` is shown to owner and admins only.
    AgentsRead,
    /// Make agents, and change one's own; an organization admin all.
    AgentsWrite,
    /// Answer a request for review. Who is asked is decided task by task.
    ApprovalsDecide,
    /// Read reviews and their requests.
    ApprovalsRead,
    /// Read the audit log; addresses are shown to organization admins only.
    AuditRead,
    /// Have the audit log checked now.
    AuditVerify,
    /// Read the event log.
    EventsRead,
    /// Read executions and their output.
    ExecutionsRead,
    /// Claim approved tasks and report on them.
    ExecutionsWrite,
    /// Use the token of a standalone grant, and say that one has seen it.
    GrantsConsume,
    /// Make standalone grants.
    GrantsMint,
    /// Read standalone grants; their tokens are shown to nobody.
    GrantsRead,
    /// List keys: one's own, an organization admin those of all members.
    KeysRead,
    /// Mint, rotate and revoke keys (DECISIONS.md 20 says whose).
    KeysWrite,
    /// Take a lock from its holder.
    LocksForceRelease,
    /// Read locks and their queues.
    LocksRead,
    /// Take and release locks.
    LocksWrite,
    /// Add, change and remove members and invitations.
    MembersWrite,
    /// Read the instance's metrics and the details of its readiness.
    MetricsRead,
    /// List the organizations one belongs to.
    OrganizationsRead,
    /// Change the organization; an instance admin also makes and archives organizations.
    OrganizationsWrite,
    /// Read policies and the resource catalogue.
    PoliciesRead,
    /// Make, change and deactivate policies, and change the resource catalogue.
    PoliciesWrite,
    /// Read projects and workspaces.
    ProjectsRead,
    /// Make, change and delete projects and workspaces.
    ProjectsWrite,
    /// Read the organization's settings.
    SettingsRead,
    /// Change them.
    SettingsWrite,
    /// Put a task at the head of the queue.
    TasksForceApply,
    /// Ask for a review to be overridden; a second admin signs.
    TasksOverride,
    /// Read tasks.
    TasksRead,
    /// Create, submit and cancel tasks.
    TasksWrite,
    /// Read webhooks and what was sent to them.
    WebhooksRead,
    /// Make, change and delete webhooks, and have things sent again.
    WebhooksWrite,
}

impl Capability {
    /// Every capability, by name.
    pub const ALL: [Self; 35] = [
        Self::AccountsRead,
        Self::AccountsWrite,
        Self::AgentsRead,
        Self::AgentsWrite,
        Self::ApprovalsDecide,
        Self::ApprovalsRead,
        Self::AuditRead,
        Self::AuditVerify,
        Self::EventsRead,
        Self::ExecutionsRead,
        Self::ExecutionsWrite,
        Self::GrantsConsume,
        Self::GrantsMint,
        Self::GrantsRead,
        Self::KeysRead,
        Self::KeysWrite,
        Self::LocksForceRelease,
        Self::LocksRead,
        Self::LocksWrite,
        Self::MembersWrite,
        Self::MetricsRead,
        Self::OrganizationsRead,
        Self::OrganizationsWrite,
        Self::PoliciesRead,
        Self::PoliciesWrite,
        Self::ProjectsRead,
        Self::ProjectsWrite,
        Self::SettingsRead,
        Self::SettingsWrite,
        Self::TasksForceApply,
        Self::TasksOverride,
        Self::TasksRead,
        Self::TasksWrite,
        Self::WebhooksRead,
        Self::WebhooksWrite,
    ];

    /// The scope of this name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccountsRead => "accounts:read",
            Self::AccountsWrite => "accounts:write",
            Self::AgentsRead => "agents:read",
            Self::AgentsWrite => "agents:write",
            Self::ApprovalsDecide => "approvals:decide",
            Self::ApprovalsRead => "approvals:read",
            Self::AuditRead => "audit:read",
            Self::AuditVerify => "audit:verify",
            Self::EventsRead => "events:read",
            Self::ExecutionsRead => "executions:read",
            Self::ExecutionsWrite => "executions:write",
            Self::GrantsConsume => "grants:consume",
            Self::GrantsMint => "grants:mint",
            Self::GrantsRead => "grants:read",
            Self::KeysRead => "keys:read",
            Self::KeysWrite => "keys:write",
            Self::LocksForceRelease => "locks:force_release",
            Self::LocksRead => "locks:read",
            Self::LocksWrite => "locks:write",
            Self::MembersWrite => "members:write",
            Self::MetricsRead => "metrics:read",
            Self::OrganizationsRead => "organizations:read",
            Self::OrganizationsWrite => "organizations:write",
            Self::PoliciesRead => "policies:read",
            Self::PoliciesWrite => "policies:write",
            Self::ProjectsRead => "projects:read",
            Self::ProjectsWrite => "projects:write",
            Self::SettingsRead => "settings:read",
            Self::SettingsWrite => "settings:write",
            Self::TasksForceApply => "tasks:force_apply",
            Self::TasksOverride => "tasks:override",
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
            Self::WebhooksRead => "webhooks:read",
            Self::WebhooksWrite => "webhooks:write",
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
    /// Whether it holds the role `author` there, given by somebody else.
    pub is_author: bool,
    /// Whether it is an agent of the organization.
    pub is_agent: bool,
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

const MEMBER: &[Capability] = &[
    Capability::AccountsRead,
    Capability::AccountsWrite,
    Capability::AgentsRead,
    Capability::ApprovalsDecide,
    Capability::ApprovalsRead,
    Capability::AuditRead,
    Capability::EventsRead,
    Capability::ExecutionsRead,
    Capability::GrantsConsume,
    Capability::GrantsRead,
    Capability::KeysRead,
    Capability::KeysWrite,
    Capability::LocksRead,
    Capability::LocksWrite,
    Capability::OrganizationsRead,
    Capability::PoliciesRead,
    Capability::ProjectsRead,
    Capability::TasksRead,
];
/// Whoever proposes and carries out changes: authors, admins, agents.
const WORKER: &[Capability] = &[Capability::ExecutionsWrite, Capability::TasksWrite];
/// Whoever sets up what others work with: authors and admins.
const AUTHOR: &[Capability] = &[Capability::AgentsWrite, Capability::ProjectsWrite];
const ORG_ADMIN: &[Capability] = &[
    Capability::AuditVerify,
    Capability::GrantsMint,
    Capability::LocksForceRelease,
    Capability::MembersWrite,
    Capability::OrganizationsWrite,
    Capability::PoliciesWrite,
    Capability::SettingsRead,
    Capability::SettingsWrite,
    Capability::TasksForceApply,
    Capability::TasksOverride,
    Capability::WebhooksRead,
    Capability::WebhooksWrite,
];
/// Metrics are of the whole instance, so a tenant's admin does not see them.
const INSTANCE_ADMIN: &[Capability] = &[Capability::MetricsRead, Capability::OrganizationsWrite];

/// What an account of this standing may do.
#[must_use]
pub fn capabilities(standing: Standing) -> CapabilitySet {
    let is_member = standing.membership_level.is_some();
    let is_author = is_member && (standing.is_author || standing.is_org_admin());
    let grants = [
        (is_member, MEMBER),
        (is_author || is_member && standing.is_agent, WORKER),
        (is_author, AUTHOR),
        (standing.is_org_admin(), ORG_ADMIN),
        (standing.is_instance_admin(), INSTANCE_ADMIN),
    ];
    let granted = grants.into_iter().filter(|(holds, _)| *holds);
    // An agent that could mint grants could give itself what it must ask for, whatever else it is (DECISIONS.md 33).
    let is_kept_back = |capability: &Capability| standing.is_agent && *capability == Capability::GrantsMint;
    let granted = granted.flat_map(|(_, capabilities)| capabilities.iter().copied());
    granted.filter(|capability| !is_kept_back(capability)).collect()
}

/// What a credential of such an account may do: never more than the account, and at most its scopes.
#[must_use]
pub fn capabilities_within(standing: Standing, scopes: Option<&[String]>) -> CapabilitySet {
    let owner = capabilities(standing);
    scopes.map_or(owner, |scopes| owner.intersection(CapabilitySet::of_scopes(scopes)))
}

/// What a key opens because an admin said so when they made it for a service, though the service's standing does not
/// (DECISIONS.md 33): minting standalone grants. A key that a service mints itself is its own word, and an agent's never.
#[must_use]
pub fn entrusted(standing: Standing, scopes: Option<&[String]>, is_made_by_another: bool) -> CapabilitySet {
    let is_service = standing.access_level == AccessLevel::Service && !standing.is_agent;
    if !is_service || !is_made_by_another || standing.membership_level.is_none() {
        return CapabilitySet::EMPTY;
    }
    let named = CapabilitySet::of_scopes(scopes.unwrap_or_default());
    named.intersection([Capability::GrantsMint].into_iter().collect())
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
mod tests;
