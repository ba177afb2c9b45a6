//! Accounts: made by an admin, changed by themselves, their home and the instance.

use domain::accounts::{
    AccessLevel, Account, AccountChange, AccountFacts, AccountRefusal, AccountStatus, Asker, may_change,
};
use domain::audit::{AuditEntry, Chain};
use domain::invitations::Invitation;
use domain::members::{Member, Seat};
use domain::organizations::Organization;
use domain::permissions::{Capability, Standing};
use domain::subject::Subject;
use domain::{Id, Timestamp, text};
use records::{Tx, accounts, agents, login_sessions, member_names, members, organizations};
use serde_json::{Map, json};

use super::authenticate::confirm;
use super::founding::{Maker, NewAccount, join};
use super::{invitations, members as seats, passwords};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, audit, etag};

/// Addresses at this name are the hub's own.
const OWN_DOMAIN: &str = "@countersign.invalid";

/// What came of creating an account.
pub enum Created {
    /// It exists, and belongs to the organization.
    Account(Member),
    /// Somebody has the address already; they are asked.
    Invited(Invitation),
}

/// An account that shall exist.
pub struct Wanted {
    /// Who.
    pub account: NewAccount,
    /// As what.
    pub seat: Seat,
    /// The first password, chosen by the admin, who then stands behind every login made with it.
    pub password: Option<String>,
}

struct Creation {
    hub: Hub,
    caller: Caller,
    account: NewAccount,
    seat: Seat,
    password_hash: Option<String>,
    now: Timestamp,
}

/// Makes an account that is at home in the caller's organization, or invites the one that has the address.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: Wanted,
    once: Option<Once<Created>>,
) -> Result<Outcome<Created>, HubError> {
    caller.require(Capability::MembersWrite)?;
    let Wanted { account, seat, password } = wanted;
    let account = NewAccount { email: email(&account.email)?, ..account };
    name(&account.display_name)?;
    if password.is_some() && account.access_level == AccessLevel::Service {
        return Err(HubError::field("/password", "a service has keys, never a password"));
    }
    let password_hash = match &password {
        Some(password) => Some(passwords::hash(hub, password).await?),
        None => None,
    };
    let (kept, caller, now) = (hub.clone(), caller.clone(), hub.clock.now());
    let creation = Creation { hub: kept, caller, account, seat, password_hash, now };
    write_once(hub, once, creation, |tx, creation| Box::pin(create_unit(tx, creation))).await
}

async fn create_unit(tx: &mut Tx, creation: &Creation) -> Result<Created, HubError> {
    let standing = confirm(tx, &creation.caller, Capability::MembersWrite, creation.now).await?;
    let wanted = &creation.account;
    if wanted.access_level == AccessLevel::Admin && !standing.is_instance_admin() {
        return Err(HubError::Forbidden(AccountRefusal::AccessLevel.to_string()));
    }
    let org = &creation.caller.credential.organization;
    seats::manager_is_member(tx, org.id, &creation.seat).await?;
    if let Some(known) = accounts::by_email(tx, &wanted.email).await? {
        return existing(tx, creation, standing, &known).await;
    }
    let account = wanted.made(&*creation.hub.ids, creation.now);
    accounts::insert(tx, &account).await?;
    let actor = creation.caller.credential.account.id;
    let service = &creation.caller.origin.service;
    let maker = Maker { ids: &*creation.hub.ids, actor, service, now: creation.now };
    join(tx, maker, org, &account, &creation.seat).await?;
    if let Some(hash) = &creation.password_hash {
        passwords::set_first(tx, account.id, hash, actor, creation.now).await?;
    }
    let account = Account { home_org_id: Some(org.id), ..account };
    Ok(Created::Account(seats::load(tx, org.id, account).await?))
}

/// The address is taken: by a member, which the caller may know, or by somebody elsewhere, who is asked.
async fn existing(
    tx: &mut Tx,
    creation: &Creation,
    standing: Standing,
    known: &Account,
) -> Result<Created, HubError> {
    let org = creation.caller.credential.organization.id;
    if members::get(tx, org, known.id).await?.is_some() {
        return Err(HubError::Conflict("a member has this e-mail already".into()));
    }
    if standing.is_instance_admin() || known.home_org_id == Some(org) {
        return Err(HubError::Conflict(format!(
            "the account {} has this e-mail; add it with POST /organizations/{org}/members",
            known.id
        )));
    }
    let invited = invitations::Wanted {
        hub: &creation.hub,
        caller: &creation.caller,
        account: known.id,
        seat: &creation.seat,
        now: creation.now,
    };
    Ok(Created::Invited(invitations::invite(tx, &invited).await?))
}

/// An account: one's own, a member's, one that is at home here; for an instance admin any.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Member, HubError> {
    caller.require(Capability::AccountsRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let account = accounts::get(tx, *id).await?.ok_or(HubError::NotFound("account"))?;
                let standing = caller.credential.standing();
                visible(tx, caller.credential.organization.id, standing, account).await
            })
        })
        .await
}

async fn visible(
    tx: &mut Tx,
    org: Id<Organization>,
    standing: Standing,
    account: Account,
) -> Result<Member, HubError> {
    // Nobody is the hub's own account, and nobody changes it.
    let is_own_of_hub = account.home_org_id.is_none();
    let at_home = account.home_org_id == Some(org) && standing.is_org_admin();
    let member = seats::load(tx, org, account).await?;
    let seen = !is_own_of_hub && (member.seat.is_some() || at_home || standing.is_instance_admin());
    Some(member).filter(|_| seen).ok_or(HubError::NotFound("account"))
}

/// What a reader of an account must send to change exactly that.
#[must_use]
pub fn etag(account: &Account) -> String {
    etag::of(account.updated_at)
}

struct Change {
    hub: Hub,
    caller: Caller,
    id: Id<Account>,
    wanted: AccountChange,
    if_match: Option<String>,
    now: Timestamp,
}

/// Changes an account. Suspension and deactivation end its logins in the same unit; its keys open nothing from then on.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Account>,
    wanted: AccountChange,
    if_match: Option<String>,
) -> Result<Member, HubError> {
    caller.require(Capability::AccountsWrite)?;
    let email = wanted.email.as_deref().map(email).transpose()?;
    wanted.display_name.as_deref().map_or(Ok(()), name)?;
    if let Some(Some(username)) = &wanted.gitea_username {
        text::name(username, text::NAME_CHARS_MAX)
            .map_err(|bad| HubError::field("/gitea_username", bad.to_string()))?;
    }
    let wanted = AccountChange { email, ..wanted };
    let now = hub.clock.now();
    let change = Change { hub: hub.clone(), caller: caller.clone(), id, wanted, if_match, now };
    hub.records.write(change, |tx, change| Box::pin(change_unit(tx, change))).await
}

async fn change_unit(tx: &mut Tx, change: &Change) -> Result<Member, HubError> {
    // In one order for all units: first what the account may be acting with, then those who run the instance, then the
    // account, then the caller.
    if change.wanted.status.is_some() {
        login_sessions::open_locked(tx, change.id).await?;
    }
    let instance_admins = match change.wanted.status.is_some() || change.wanted.access_level.is_some() {
        true => accounts::instance_admins(tx).await?,
        false => Vec::new(),
    };
    let before = accounts::get_locked(tx, change.id).await?;
    let standing = confirm(tx, &change.caller, Capability::AccountsWrite, change.now).await?;
    let org = change.caller.credential.organization.id;
    let before = before.ok_or(HubError::NotFound("account"))?;
    let before = visible(tx, org, standing, before).await?.account;
    etag::require(change.if_match.as_deref(), &etag(&before))?;
    let asker = Asker {
        account: change.caller.credential.account.id,
        administers_home: standing.is_org_admin() && before.home_org_id == Some(org),
        is_instance_admin: standing.is_instance_admin(),
    };
    let facts = AccountFacts {
        owns_organization: organizations::any_owned_by(tx, before.id).await?,
        is_agent: match before.home_org_id {
            Some(home) => agents::get(tx, home, before.id).await?.is_some(),
            None => false,
        },
        is_last_instance_admin: instance_admins.iter().all(|admin| admin.id == before.id),
    };
    may_change(&asker, &before, &facts, &change.wanted)
        .map_err(|refusal| HubError::Forbidden(refusal.to_string()))?;
    let after = changed(&before, &change.wanted, change.now);
    if after != before {
        save(tx, change, &before, &after).await?;
    }
    seats::load(tx, org, after).await
}

fn changed(before: &Account, wanted: &AccountChange, now: Timestamp) -> Account {
    let after = Account {
        display_name: wanted.display_name.clone().unwrap_or_else(|| before.display_name.clone()),
        email: wanted.email.clone().unwrap_or_else(|| before.email.clone()),
        gitea_username: wanted.gitea_username.clone().unwrap_or_else(|| before.gitea_username.clone()),
        status: wanted.status.unwrap_or(before.status),
        access_level: wanted.access_level.unwrap_or(before.access_level),
        ..before.clone()
    };
    match after == *before {
        true => after,
        false => Account { updated_at: now.after(before.updated_at), ..after },
    }
}

async fn save(tx: &mut Tx, change: &Change, before: &Account, after: &Account) -> Result<(), HubError> {
    let taken = accounts::by_email(tx, &after.email).await?;
    if taken.is_some_and(|other| other.id != after.id) {
        return Err(HubError::Conflict("another account has this e-mail".into()));
    }
    accounts::update(tx, after).await?;
    if after.status != AccountStatus::Active {
        login_sessions::end_all(tx, after.id, None, change.now).await?;
    }
    if (&after.display_name, &after.email) != (&before.display_name, &before.email) {
        for membership in members::of_account(tx, after.id).await? {
            member_names::set(tx, membership.org_id, after, change.now).await?;
        }
    }
    // In the caller's chain, and at home, where people look for it.
    let entry = entry(change, before, after);
    audit::record(tx, &entry).await?;
    let home = after.home_org_id.map(Chain::Organization).filter(|home| *home != entry.chain);
    match home {
        Some(chain) => audit::record(tx, &AuditEntry { id: change.hub.ids.id(), chain, ..entry }).await,
        None => Ok(()),
    }
}

fn entry(change: &Change, before: &Account, after: &Account) -> AuditEntry {
    let fields = [
        ("display_name", json!(before.display_name), json!(after.display_name)),
        ("email", json!(before.email), json!(after.email)),
        ("gitea_username", json!(before.gitea_username), json!(after.gitea_username)),
        ("access_level", json!(before.access_level.as_str()), json!(after.access_level.as_str())),
    ];
    let details: Map<_, _> = fields
        .into_iter()
        .filter(|(_, from, to)| from != to)
        .map(|(field, from, to)| (field.to_owned(), json!({"from": from, "to": to})))
        .collect();
    let subject = Subject::new("account", after.id);
    let plain = change.caller.entry(&change.hub, "account:changed", subject, change.now);
    let state =
        |account: &Account| (before.status != after.status).then(|| account.status.as_str().to_owned());
    AuditEntry { details, from_state: state(before), to_state: state(after), ..plain }
}

fn email(text: &str) -> Result<String, HubError> {
    let email = text::email(text).map_err(|bad| HubError::field("/email", bad.to_string()))?;
    if email.ends_with(OWN_DOMAIN) {
        return Err(HubError::field("/email", "addresses of this domain are the hub's own"));
    }
    Ok(email)
}

fn name(text: &str) -> Result<(), HubError> {
    text::name(text, text::NAME_CHARS_MAX).map_err(|bad| HubError::field("/display_name", bad.to_string()))
}
