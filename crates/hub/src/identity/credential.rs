//! What stands behind a presented secret: account, organization, membership, and whether they may act.

use std::sync::atomic::AtomicI64;

use domain::accounts::{Account, AccountStatus};
use domain::agents::{Agent, OWNERS_MAX};
use domain::api_keys::{ApiKey, KeyRefusal};
use domain::login_sessions::{LoginRefusal, LoginSession};
use domain::members::{HeldRole, Seated};
use domain::organizations::{Membership, Organization};
use domain::permissions::{CapabilitySet, Standing, capabilities_within, entrusted};
use domain::roles::{self, RoleGrant};
use domain::secrets::{Secret, SecretKind};
use domain::{Id, Timestamp};
use records::{Tx, accounts, agents, api_keys, login_sessions, members, organizations};

use crate::HubError;

/// What was presented.
#[derive(Clone, Debug)]
pub enum Means {
    /// An API key.
    Key(ApiKey),
    /// A login of a browser or a command line.
    Login(LoginSession),
}

impl Means {
    /// Where it acts.
    #[must_use]
    pub fn org_id(&self) -> Id<Organization> {
        match self {
            Self::Key(key) => key.org_id,
            Self::Login(login) => login.org_id,
        }
    }

    /// As whom.
    #[must_use]
    pub fn account_id(&self) -> Id<Account> {
        match self {
            Self::Key(key) => key.owner_id,
            Self::Login(login) => login.account_id,
        }
    }

    /// Who made it, and so stands behind what is done with it.
    #[must_use]
    pub fn minted_by(&self) -> Id<Account> {
        match self {
            Self::Key(key) => key.minted_by,
            Self::Login(login) => login.minted_by,
        }
    }

    /// The limits it was given; none means whatever the account may.
    #[must_use]
    pub fn scopes(&self) -> Option<&[String]> {
        match self {
            Self::Key(key) => key.scopes.as_deref(),
            Self::Login(_) => None,
        }
    }

    fn check(&self, now: Timestamp) -> Result<(), HubError> {
        let refused = match self {
            Self::Key(key) => key.usable(now).err().map(|refusal| match refusal {
                KeyRefusal::Revoked => "this API key was revoked",
                KeyRefusal::Disabled => "this API key is disabled",
                KeyRefusal::Expired => "this API key has expired",
            }),
            Self::Login(login) => login.usable(now).err().map(|refusal| match refusal {
                LoginRefusal::Ended => "this login was ended; log in again",
                LoginRefusal::Expired => "this login has expired; log in again",
            }),
        };
        refused.map_or(Ok(()), |detail| Err(HubError::Unauthenticated(detail)))
    }
}

/// A key or login with everything it stands for.
pub struct Credential {
    /// What was presented.
    pub means: Means,
    /// Whose it is.
    pub account: Account,
    /// Where it acts.
    pub organization: Organization,
    /// What the owner is there.
    pub seat: Option<Seated>,
    /// The agent that the account is.
    pub agent: Option<Agent>,
    /// Whether everybody who answers for the agent may act; true of people.
    is_answered_for: bool,
    pub(super) last_used_micros: AtomicI64,
}

impl Credential {
    /// What the rules about permissions look at.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let counts = |held: &HeldRole| held.role == roles::AUTHOR && held.counts_for(self.account.id);
        Standing {
            access_level: self.account.access_level,
            membership_level: self.seat.as_ref().map(|seat| seat.level),
            is_author: self.seat.as_ref().is_some_and(|seat| seat.roles.iter().any(counts)),
            is_agent: self.agent.is_some(),
        }
    }

    /// What may be done with it.
    #[must_use]
    pub fn capabilities(&self) -> CapabilitySet {
        let (standing, scopes) = (self.standing(), self.means.scopes());
        let is_made_by_another = self.means.minted_by() != self.means.account_id();
        capabilities_within(standing, scopes).union(entrusted(standing, scopes, is_made_by_another))
    }

    /// The key, if one was presented.
    #[must_use]
    pub fn key_id(&self) -> Option<Id<ApiKey>> {
        match &self.means {
            Means::Key(key) => Some(key.id),
            Means::Login(_) => None,
        }
    }

    /// The login, if one was presented.
    #[must_use]
    pub fn login(&self) -> Option<&LoginSession> {
        match &self.means {
            Means::Login(login) => Some(login),
            Means::Key(_) => None,
        }
    }

    /// Refuses a credential, account or organization that may not act at this time.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), HubError> {
        self.means.check(now)?;
        let refused = match self.account.status {
            AccountStatus::Suspended => Some("this account is suspended"),
            AccountStatus::Deactivated => Some("this account is deactivated"),
            AccountStatus::Active if self.organization.archived_at.is_some() => {
                Some("the organization of this credential is archived")
            }
            AccountStatus::Active if self.seat.is_none() => {
                Some("the owner of this credential has left its organization")
            }
            AccountStatus::Active if !self.is_answered_for => {
                Some("nobody who may act answers for this agent; an admin can give it another owner")
            }
            AccountStatus::Active => None,
        };
        refused.map_or(Ok(()), |detail| Err(HubError::Unauthenticated(detail)))
    }
}

/// Whether the rows may change while the unit runs.
#[derive(Clone, Copy)]
pub(super) enum Hold {
    /// They may.
    Look,
    /// Nobody changes them until the unit ends.
    Share,
}

/// What the secret opens, if it opens anything.
pub(super) async fn presented(
    tx: &mut Tx,
    kind: SecretKind,
    hash: &[u8; 32],
) -> Result<Option<Credential>, HubError> {
    let means = match kind {
        SecretKind::ApiKey => api_keys::by_hash(tx, hash).await?.map(Means::Key),
        SecretKind::Login => login_sessions::by_hash(tx, hash).await?.map(Means::Login),
        // These are exchanged for a login, never used as one.
        SecretKind::Link | SecretKind::Device | SecretKind::Browser | SecretKind::State => None,
        // This is good for what it was made for, and logs nobody in.
        SecretKind::Grant => None,
    };
    match means {
        Some(means) => complete(tx, means, Hold::Look).await,
        None => Ok(None),
    }
}

/// What the account may do with a login in this organization now; nothing if it may not act there.
pub(super) async fn of_login(tx: &mut Tx, login: &LoginSession) -> Result<Option<Credential>, HubError> {
    complete(tx, Means::Login(login.clone()), Hold::Look).await
}

/// The same key or login as it is now.
pub(super) async fn again(tx: &mut Tx, known: &Means, hold: Hold) -> Result<Option<Credential>, HubError> {
    let means = match (known, hold) {
        (Means::Key(key), Hold::Look) => api_keys::get(tx, key.org_id, key.id).await?.map(Means::Key),
        (Means::Key(key), Hold::Share) => api_keys::get_shared(tx, key.org_id, key.id).await?.map(Means::Key),
        (Means::Login(login), Hold::Look) => {
            login_sessions::get(tx, login.account_id, login.id).await?.map(Means::Login)
        }
        (Means::Login(login), Hold::Share) => {
            login_sessions::get_shared(tx, login.account_id, login.id).await?.map(Means::Login)
        }
    };
    match means {
        Some(means) => complete(tx, means, hold).await,
        None => Ok(None),
    }
}

async fn complete(tx: &mut Tx, means: Means, hold: Hold) -> Result<Option<Credential>, HubError> {
    let (org, id) = (means.org_id(), means.account_id());
    let account = account(tx, id, hold).await?;
    let organization = match hold {
        Hold::Look => organizations::get(tx, org).await?,
        Hold::Share => organizations::get_shared(tx, org).await?,
    };
    let (Some(account), Some(organization)) = (account, organization) else {
        return Ok(None);
    };
    let membership = match hold {
        Hold::Look => members::get(tx, org, id).await?,
        Hold::Share => members::get_shared(tx, org, id).await?,
    };
    let seat = match membership {
        Some(membership) => Some(seated(tx, &membership).await?),
        None => None,
    };
    // Only services can be agents, so people cost no look at the agents.
    let agent = match account.access_level {
        domain::accounts::AccessLevel::Service => agent(tx, org, id, hold).await?,
        domain::accounts::AccessLevel::Admin | domain::accounts::AccessLevel::User => None,
    };
    let is_answered_for = match &agent {
        Some(agent) => is_answered_for(tx, agent, hold).await?,
        None => true,
    };
    let last_used = match &means {
        Means::Key(key) => key.last_used_at,
        Means::Login(login) => Some(login.last_active_at),
    };
    let last_used_micros = AtomicI64::new(last_used.map_or(i64::MIN, Timestamp::micros));
    Ok(Some(Credential { means, account, organization, seat, agent, is_answered_for, last_used_micros }))
}

/// A membership with its roles.
pub(super) async fn seated(tx: &mut Tx, membership: &Membership) -> Result<Seated, HubError> {
    let grants = records::roles::of(tx, membership.org_id, membership.account_id).await?;
    let held = |grant: RoleGrant| HeldRole { role: grant.role, granted_by: grant.granted_by };
    Ok(Seated {
        level: membership.membership_level,
        manager_id: membership.manager_id,
        roles: grants.into_iter().map(held).collect(),
        joined_at: membership.created_at,
        updated_at: membership.updated_at,
    })
}

async fn account(tx: &mut Tx, id: Id<Account>, hold: Hold) -> Result<Option<Account>, HubError> {
    Ok(match hold {
        Hold::Look => accounts::get(tx, id).await?,
        Hold::Share => accounts::get_shared(tx, id).await?,
    })
}

async fn agent(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<Account>,
    hold: Hold,
) -> Result<Option<Agent>, HubError> {
    Ok(match hold {
        Hold::Look => agents::get(tx, org, id).await?,
        Hold::Share => agents::get_shared(tx, org, id).await?,
    })
}

/// Up the line of owners: an agent acts only while all of them may, and the last of them is a person or a service that
/// is no agent.
async fn is_answered_for(tx: &mut Tx, agent_row: &Agent, hold: Hold) -> Result<bool, HubError> {
    let mut current = agent_row.clone();
    for _ in 0..OWNERS_MAX {
        if current.deactivated_at.is_some() {
            return Ok(false);
        }
        let owner = account(tx, current.owner_id, hold).await?;
        let active = owner.is_some_and(|owner| owner.status == AccountStatus::Active);
        if !active || members::get(tx, current.org_id, current.owner_id).await?.is_none() {
            return Ok(false);
        }
        match agent(tx, current.org_id, current.owner_id, hold).await? {
            Some(next) => current = next,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// The hash under which a secret is known, with what it would open.
pub(super) fn address(presented: &str) -> Option<(SecretKind, [u8; 32])> {
    let secret = Secret::parse(presented).ok()?;
    Some((secret.kind(), secret.hash()))
}
