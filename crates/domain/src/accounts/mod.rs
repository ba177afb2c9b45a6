//! People, services and agents that can authenticate.

use std::str::FromStr;

use crate::organizations::Organization;
use crate::permissions::Standing;
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

    /// Whether somebody of this level is a person. Programs have keys, never a password, and own nothing.
    #[must_use]
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Admin | Self::User)
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

impl Account {
    /// Whether this is somebody who can log in: a person, and an active one. Services and agents use keys.
    #[must_use]
    pub fn may_log_in(&self) -> bool {
        self.status == AccountStatus::Active && self.access_level.is_person()
    }
}

/// How many words of a name people are found by.
const SEARCHED_WORDS_MAX: usize = 8;

/// One text an account is found by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchName {
    /// Lower case; bytes, so that every database compares them alike.
    pub name: Vec<u8>,
    /// Whether this is the whole name, which lists are sorted by.
    pub whole: bool,
    /// How many of its first bytes an earlier name of the account has too. Who is found by several names is listed once,
    /// at the first of them: whoever has typed no more than these bytes is shown the earlier one.
    pub shared: usize,
}

impl Account {
    /// What the account is found by: its name from the beginning of any word, and its e-mail; in order, each once.
    #[must_use]
    pub fn search_names(&self) -> Vec<SearchName> {
        let folded = folded(&self.display_name);
        let mut names: Vec<SearchName> = self
            .searched(&folded)
            .enumerate()
            .map(|(index, text)| SearchName { name: text.as_bytes().to_vec(), whole: index == 0, shared: 0 })
            .collect();
        // The whole name stands before anything equal to it.
        names.sort_by(|left, right| (&left.name, right.whole).cmp(&(&right.name, left.whole)));
        names.dedup_by(|later, kept| later.name == kept.name);
        // Of all earlier names the one right before it has the most in common with it, because they are in order.
        for at in 1..names.len() {
            let pairs = names[at - 1].name.iter().zip(&names[at].name);
            names[at].shared = pairs.take_while(|(left, right)| left == right).count();
        }
        names
    }

    /// The whole name, what follows each of its words, and the e-mail; `folded` is the name.
    fn searched<'a>(&'a self, folded: &'a str) -> impl Iterator<Item = &'a str> {
        let starts = folded.char_indices().filter(|(at, _)| *at == 0 || folded[..*at].ends_with(' '));
        starts.take(SEARCHED_WORDS_MAX).map(|(at, _)| &folded[at..]).chain([self.email.as_str()])
    }
}

/// Text as it is compared in searches: lower case, one space between words.
#[must_use]
pub fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What shall change about an account.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct AccountChange {
    /// A new name.
    pub display_name: Option<String>,
    /// A new address, lower case.
    pub email: Option<String>,
    /// A new name in Gitea, or none.
    pub gitea_username: Option<Option<String>>,
    /// Whether it may authenticate.
    pub status: Option<AccountStatus>,
    /// What it is to the instance.
    pub access_level: Option<AccessLevel>,
}

impl Account {
    /// The account after the change; the same where nothing changes.
    #[must_use]
    pub fn changed(&self, change: &AccountChange, now: Timestamp) -> Self {
        let after = Self {
            display_name: change.display_name.clone().unwrap_or_else(|| self.display_name.clone()),
            email: change.email.clone().unwrap_or_else(|| self.email.clone()),
            gitea_username: change.gitea_username.clone().unwrap_or_else(|| self.gitea_username.clone()),
            status: change.status.unwrap_or(self.status),
            access_level: change.access_level.unwrap_or(self.access_level),
            ..self.clone()
        };
        if after == *self { after } else { Self { updated_at: now.after(self.updated_at), ..after } }
    }

    /// Whether somebody sees the account from this organization: a member's, for admins also one that is at home
    /// there, for an instance admin any. The hub's own is at home nowhere and seen by nobody.
    #[must_use]
    pub fn is_seen_from(&self, org: Id<Organization>, is_member: bool, by: Standing) -> bool {
        let at_home = self.home_org_id == Some(org) && by.is_org_admin();
        self.home_org_id.is_some() && (is_member || at_home || by.is_instance_admin())
    }
}

/// Who asks for it, as far as the rule needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// Who.
    pub account: Id<Account>,
    /// Whether they administer the account's home organization, and act in it.
    pub administers_home: bool,
    /// Whether they administer the instance.
    pub is_instance_admin: bool,
}

/// What the rule must know of the account beside its row.
#[derive(Clone, Copy, Debug)]
pub struct AccountFacts {
    /// Whether it owns an organization.
    pub owns_organization: bool,
    /// Whether it is an agent.
    pub is_agent: bool,
    /// Whether no other active account administers the instance.
    pub is_last_instance_admin: bool,
}

/// Why an account stays as it is (DECISIONS.md 18, 19).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AccountRefusal {
    /// Neither one's own nor at home here.
    #[error("only the account itself, an admin of its home organization or an instance admin changes it")]
    NotYours,
    /// Above a tenant's admin.
    #[error("only an instance admin changes another instance admin")]
    IsInstanceAdmin,
    /// Above a tenant's other admins.
    #[error("only an instance admin locks out the owner of an organization; transfer ownership first")]
    IsOwner,
    /// Somebody else's decision.
    #[error("only an instance admin sets the access level")]
    AccessLevel,
    /// Suspension is what admins do to others.
    #[error("nobody suspends or reinstates themselves; deactivate the account instead")]
    OwnStatus,
    /// Agents are changed as agents.
    #[error("this account is an agent: change it under /agents; only its status can be set here")]
    IsAgent,
    /// Somebody must be left.
    #[error("this is the last active instance admin; make another one first")]
    LastInstanceAdmin,
}

/// Whether the change may be made.
pub fn may_change(
    asker: &Asker,
    account: &Account,
    facts: &AccountFacts,
    change: &AccountChange,
) -> Result<(), AccountRefusal> {
    let is_own = asker.account == account.id;
    if !is_own && !asker.administers_home && !asker.is_instance_admin {
        return Err(AccountRefusal::NotYours);
    }
    if account.access_level == AccessLevel::Admin && !is_own && !asker.is_instance_admin {
        return Err(AccountRefusal::IsInstanceAdmin);
    }
    let beside_status = AccountChange { status: None, ..change.clone() };
    if facts.is_agent && beside_status != AccountChange::default() {
        return Err(AccountRefusal::IsAgent);
    }
    let access_level = change.access_level.filter(|level| *level != account.access_level);
    if access_level.is_some() && !asker.is_instance_admin {
        return Err(AccountRefusal::AccessLevel);
    }
    let status = change.status.filter(|status| *status != account.status);
    match status {
        Some(AccountStatus::Suspended | AccountStatus::Active) if is_own => {
            return Err(AccountRefusal::OwnStatus);
        }
        Some(AccountStatus::Suspended | AccountStatus::Deactivated)
            if facts.owns_organization && !asker.is_instance_admin =>
        {
            return Err(AccountRefusal::IsOwner);
        }
        _ => {}
    }
    let leaves_office =
        access_level.is_some() || status.is_some_and(|status| status != AccountStatus::Active);
    if account.access_level == AccessLevel::Admin && facts.is_last_instance_admin && leaves_office {
        return Err(AccountRefusal::LastInstanceAdmin);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
