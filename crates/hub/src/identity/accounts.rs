//! Accounts: made by an admin, changed by themselves, their home and the instance.

use domain::accounts::{
    AccessLevel, Account, AccountChange, AccountFacts, AccountRefusal, AccountStatus, Asker, may_change,
};
use domain::audit::{AuditEntry, Chain};
use domain::invitations::Invitation;
use domain::members::{Member, Seat, may_add};
use domain::organizations::Organization;
use domain::permissions::{Capability, Standing};
use domain::subject::Subject;
use domain::{Id, text};
use records::{Tx, accounts, agents, login_sessions, members, organizations};
use serde_json::{Map, json};

use super::founding::{Entrance, NewAccount, enter};
use super::login_sessions::end_others;
use super::{invitations, members as seats, passwords};
use crate::act::{Act, differences};
use crate::approvals::schedule_reassign;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, audit, etag, locks};

const MISSING: HubError = HubError::NotFound("account");
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
    account: NewAccount,
    seat: Seat,
    password_hash: Option<String>,
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
    if password.is_some() && !account.access_level.is_person() {
        return Err(HubError::field("/password", "a service has keys, never a password"));
    }
    let password_hash = match &password {
        Some(password) => Some(passwords::hash(hub, password).await?),
        None => None,
    };
    let act = Act::new(hub, caller, Creation { account, seat, password_hash });
    write_once(hub, once, act, |tx, act| Box::pin(create_unit(tx, act))).await
}

async fn create_unit(tx: &mut Tx, act: &Act<Creation>) -> Result<Created, HubError> {
    let standing = act.confirm(tx, Capability::MembersWrite).await?;
    let Creation { account: wanted, seat, password_hash } = &act.input;
    if wanted.access_level == AccessLevel::Admin && !standing.is_instance_admin() {
        return Err(HubError::Forbidden(AccountRefusal::AccessLevel.to_string()));
    }
    let org = &act.caller.credential.organization;
    seats::manager_is_member(tx, org.id, seat).await?;
    if let Some(known) = accounts::by_email(tx, &wanted.email).await? {
        return existing(tx, act, standing, &known).await;
    }
    let account = wanted.made(&*act.hub.ids, act.now);
    let entrance = Entrance { organization: org, seat, granted_by: act.actor() };
    enter(tx, act.maker(), &account, &entrance).await?;
    if let Some(hash) = password_hash {
        passwords::set_first(tx, account.id, hash, act.actor(), act.now).await?;
        act.record(tx, "password:set", Subject::new("account", account.id), Map::new()).await?;
    }
    let account = Account { home_org_id: Some(org.id), ..account };
    Ok(Created::Account(seats::load(tx, org.id, account).await?))
}

/// The address is taken: by a member, which the caller may know, or by somebody elsewhere, who is asked.
async fn existing(
    tx: &mut Tx,
    act: &Act<Creation>,
    standing: Standing,
    known: &Account,
) -> Result<Created, HubError> {
    let org = act.org();
    if members::get(tx, org, known.id).await?.is_some() {
        return Err(HubError::Conflict("a member has this email already".into()));
    }
    if may_add(known, org, standing.is_instance_admin()) {
        return Err(HubError::Conflict(format!(
            "the account {} has this email; add it with POST /organizations/{org}/members",
            known.id
        )));
    }
    Ok(Created::Invited(invitations::invite(tx, act, known.id, &act.input.seat).await?))
}

/// An account: one's own, a member's, one that is at home here; for an instance admin any.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Member, HubError> {
    caller.require(Capability::AccountsRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let account = accounts::get(tx, *id).await?.ok_or(MISSING)?;
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
    let member = seats::load(tx, org, account).await?;
    let seen = member.account.is_seen_from(org, member.seat.is_some(), standing);
    Some(member).filter(|_| seen).ok_or(MISSING)
}

/// What a reader of an account must send to change exactly that.
#[must_use]
pub fn etag(account: &Account) -> String {
    etag::of(account.updated_at)
}

struct Change {
    id: Id<Account>,
    wanted: AccountChange,
    if_match: Option<String>,
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
    let act = Act::new(hub, caller, Change { id, wanted, if_match });
    let member = hub.records.write(act, |tx, act| Box::pin(change_unit(tx, act))).await?;
    if member.account.status != AccountStatus::Active {
        let everywhere = hub.records.read(id, |tx, &id| Box::pin(members::of_account(tx, id))).await?;
        for membership in everywhere {
            locks::let_go(hub, membership.org_id, id).await;
        }
    }
    Ok(member)
}

/// The account for a unit that is about to change it, and whether nobody else is left to run the instance.
struct Locked {
    account: Account,
    is_last_instance_admin: bool,
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Member, HubError> {
    let Change { wanted, if_match, .. } = &act.input;
    let locked = locked(tx, act).await?;
    let standing = act.confirm(tx, Capability::AccountsWrite).await?;
    let Locked { account, is_last_instance_admin } = locked.ok_or(MISSING)?;
    let org = act.org();
    let before = visible(tx, org, standing, account).await?.account;
    etag::require(if_match.as_deref(), &etag(&before))?;
    let asker = Asker {
        account: act.actor(),
        administers_home: standing.is_org_admin() && before.home_org_id == Some(org),
        is_instance_admin: standing.is_instance_admin(),
    };
    let facts = AccountFacts {
        owns_organization: organizations::any_owned_by(tx, before.id).await?,
        is_agent: match before.home_org_id {
            Some(home) => agents::get(tx, home, before.id).await?.is_some(),
            None => false,
        },
        is_last_instance_admin,
    };
    may_change(&asker, &before, &facts, wanted)
        .map_err(|refusal| HubError::Forbidden(refusal.to_string()))?;
    let after = before.changed(wanted, act.now);
    if after != before {
        save(tx, act, &before, &after).await?;
    }
    seats::load(tx, org, after).await
}

/// In one order for all units: what the account may be acting with, those who run the instance, the account. Nobody
/// locks anything of an account they do not see.
async fn locked(tx: &mut Tx, act: &Act<Change>) -> Result<Option<Locked>, HubError> {
    let Change { id, wanted, .. } = &act.input;
    let Some(account) = accounts::get(tx, *id).await? else { return Ok(None) };
    let standing = act.caller.credential.standing();
    let Ok(seen) = visible(tx, act.org(), standing, account).await else { return Ok(None) };
    if wanted.status.is_some() {
        login_sessions::open_locked(tx, *id).await?;
    }
    // Whoever becomes an admin between the look and the lock is taken for the last one, and stays.
    let mut is_last_instance_admin = true;
    if seen.account.access_level == AccessLevel::Admin {
        let admins = accounts::instance_admins(tx).await?;
        is_last_instance_admin = admins.iter().all(|admin| admin.id == *id);
    }
    let account = accounts::get_locked(tx, *id).await?;
    Ok(account.map(|account| Locked { account, is_last_instance_admin }))
}

async fn save(tx: &mut Tx, act: &Act<Change>, before: &Account, after: &Account) -> Result<(), HubError> {
    let taken = accounts::by_email(tx, &after.email).await?;
    if taken.is_some_and(|other| other.id != after.id) {
        return Err(HubError::Conflict("another account has this email".into()));
    }
    accounts::update(tx, before, after).await?;
    if after.status != AccountStatus::Active {
        end_others(tx, after.id, None, act.now).await?;
    }
    if after.status == AccountStatus::Deactivated && before.status != after.status {
        for membership in members::of_account(tx, after.id).await? {
            let place = (membership.org_id, after.id);
            schedule_reassign(tx, place, membership.manager_id, act.now).await?;
        }
    }
    // In the caller's chain, and at home, where people look for it.
    let entry = entry(act, before, after);
    audit::record(tx, &entry).await?;
    let home = after.home_org_id.map(Chain::Organization).filter(|home| *home != entry.chain);
    match home {
        Some(chain) => audit::record(tx, &AuditEntry { id: act.hub.ids.id(), chain, ..entry }).await,
        None => Ok(()),
    }
}

fn entry(act: &Act<Change>, before: &Account, after: &Account) -> AuditEntry {
    let state =
        |account: &Account| (before.status != after.status).then(|| account.status.as_str().to_owned());
    let plain = act.entry("account:changed", Subject::new("account", after.id));
    let details = differences(&facts(before), &facts(after));
    AuditEntry { details, from_state: state(before), to_state: state(after), ..plain }
}

fn facts(account: &Account) -> serde_json::Value {
    json!({
        "display_name": account.display_name,
        "email": account.email,
        "gitea_username": account.gitea_username,
        "access_level": account.access_level.as_str(),
    })
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
