//! The members of an organization, seen and changed from inside it: a credential acts in one organization, and for it
//! no other has members.

use domain::Id;
use domain::accounts::Account;
use domain::members::{Member, Seat, SeatChange, SeatRefusal, Seated, may_add, may_remove, may_reseat};
use domain::organizations::{MembershipLevel, Organization, OrganizationRefusal, may_hand_over};
use domain::permissions::Capability;
use domain::roles::RoleGrant;
use domain::subject::Subject;
use records::directory::{self, After, Wanted};
use records::{Tx, accounts, agents, api_keys, login_sessions, members, organizations, roles};
use serde_json::{Map, json};

use super::credential::seated;
use super::founding::{Entrance, join};
use crate::act::{Act, differences};
use crate::approvals::schedule_reassign;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, etag, locks};

const MISSING: HubError = HubError::NotFound("member");

/// A member, or whoever shall become one.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Of which organization.
    pub org: Id<Organization>,
    /// Who.
    pub account: Id<Account>,
}

/// Which members somebody wants to see.
pub struct Looking {
    /// Of which organization.
    pub org: Id<Organization>,
    /// Who.
    pub wanted: Wanted,
    /// Behind this one.
    pub after: Option<After>,
    /// At most so many.
    pub limit: i64,
}

fn inside(caller: &Caller, org: Id<Organization>) -> Result<(), HubError> {
    let is_current = caller.credential.organization.id == org;
    if is_current { Ok(()) } else { Err(HubError::NotFound("organization")) }
}

/// Members by name, each with the place after it.
pub async fn list(hub: &Hub, caller: &Caller, looking: Looking) -> Result<Vec<(Member, After)>, HubError> {
    caller.require(Capability::AccountsRead)?;
    inside(caller, looking.org)?;
    let Looking { org, wanted, after, limit } = looking;
    Ok(directory::list(&hub.records, org, &wanted, after, limit).await?)
}

/// A member with everything about the membership.
pub async fn get(hub: &Hub, caller: &Caller, place: Place) -> Result<Member, HubError> {
    let wanted = Wanted::One(place.account);
    let found = list(hub, caller, Looking { org: place.org, wanted, after: None, limit: 1 }).await?;
    found.into_iter().next().map(|(member, _)| member).ok_or(MISSING)
}

/// What a reader of a seat must send to change exactly that.
#[must_use]
pub fn etag(seat: &Seated) -> String {
    etag::of(seat.updated_at)
}

/// The account as the organization sees it, inside a unit.
pub(super) async fn load(tx: &mut Tx, org: Id<Organization>, account: Account) -> Result<Member, HubError> {
    let seat = match members::get(tx, org, account.id).await? {
        Some(membership) => Some(seated(tx, &membership).await?),
        None => None,
    };
    Ok(Member { account, seat })
}

/// Adds an account that exists: one that is at home here, or, for an instance admin, any. The member, and where.
pub async fn add(
    hub: &Hub,
    caller: &Caller,
    place: Place,
    seat: Seat,
    once: Option<Once<(Member, Id<Organization>)>>,
) -> Result<Outcome<(Member, Id<Organization>)>, HubError> {
    caller.require(Capability::MembersWrite)?;
    inside(caller, place.org)?;
    let act = Act::new(hub, caller, (place.account, seat));
    write_once(hub, once, act, |tx, act| Box::pin(add_unit(tx, act))).await
}

async fn add_unit(
    tx: &mut Tx,
    act: &Act<(Id<Account>, Seat)>,
) -> Result<(Member, Id<Organization>), HubError> {
    let standing = act.confirm(tx, Capability::MembersWrite).await?;
    let (org, (id, seat)) = (act.org(), &act.input);
    let account = accounts::get_shared(tx, *id).await?;
    let account = account
        .filter(|account| may_add(account, org, standing.is_instance_admin()))
        .ok_or_else(|| HubError::field("/account_id", "there is no such account for you to add"))?;
    if members::get(tx, org, account.id).await?.is_some() {
        return Err(HubError::Conflict("this account is a member already".into()));
    }
    let is_agent = agents::get(tx, org, account.id).await?.is_some();
    may_reseat(account.id, is_agent, MembershipLevel::Member, seat).map_err(refused)?;
    manager_is_member(tx, org, seat).await?;
    let organization = &act.caller.credential.organization;
    join(tx, act.maker(), &account, &Entrance { organization, seat, granted_by: act.actor() }).await?;
    Ok((load(tx, org, account).await?, org))
}

pub(super) async fn manager_is_member(
    tx: &mut Tx,
    org: Id<Organization>,
    seat: &Seat,
) -> Result<(), HubError> {
    if let Some(manager) = seat.manager_id
        && members::get_shared(tx, org, manager).await?.is_none()
    {
        return Err(HubError::field("/manager_id", "is not a member of the organization"));
    }
    Ok(())
}

fn refused(refusal: SeatRefusal) -> HubError {
    match refusal {
        SeatRefusal::OwnManager => HubError::field("/manager_id", refusal.to_string()),
        SeatRefusal::NotYours => HubError::Forbidden(refusal.to_string()),
        SeatRefusal::IsOwner => HubError::InvalidState { state: "owner".into(), detail: refusal.to_string() },
        SeatRefusal::IsAgent | SeatRefusal::AgentAsAdmin => {
            HubError::InvalidState { state: "agent".into(), detail: refusal.to_string() }
        }
    }
}

struct Change {
    account: Id<Account>,
    change: SeatChange,
    if_match: Option<String>,
}

/// Changes level, roles and manager of a member.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    place: Place,
    change: SeatChange,
    if_match: Option<String>,
) -> Result<Member, HubError> {
    caller.require(Capability::MembersWrite)?;
    inside(caller, place.org)?;
    let act = Act::new(hub, caller, Change { account: place.account, change, if_match });
    hub.records.write(act, |tx, act| Box::pin(change_unit(tx, act))).await
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Member, HubError> {
    let (org, id) = (act.org(), act.input.account);
    let membership = members::get_locked(tx, org, id).await?;
    act.confirm(tx, Capability::MembersWrite).await?;
    let mut membership = membership.ok_or(MISSING)?;
    let before = seated(tx, &membership).await?;
    etag::require(act.input.if_match.as_deref(), &etag(&before))?;
    let (from, account) = (before.seat(), accounts::get(tx, id).await?.ok_or(MISSING)?);
    let to = from.changed(&act.input.change).map_err(HubError::Invalid)?;
    let is_agent = agents::get(tx, org, id).await?.is_some();
    may_reseat(id, is_agent, from.level, &to).map_err(refused)?;
    manager_is_member(tx, org, &to).await?;
    if from == to {
        return Ok(Member { account, seat: Some(before) });
    }
    regrant(tx, act, &from, &to).await?;
    membership.membership_level = to.level;
    membership.manager_id = to.manager_id;
    membership.updated_at = act.now.after(membership.updated_at);
    members::update(tx, &membership).await?;
    let details = differences(&facts(&from), &facts(&to));
    act.record(tx, "member:changed", Subject::new("account", id), details).await?;
    load(tx, org, account).await
}

/// Takes back the roles that are gone and gives the new ones; those that stay are still from who gave them.
async fn regrant(tx: &mut Tx, act: &Act<Change>, from: &Seat, to: &Seat) -> Result<(), HubError> {
    let (org, account_id) = (act.org(), act.input.account);
    for grant in roles::of(tx, org, account_id).await?.iter().filter(|grant| !to.roles.contains(&grant.role))
    {
        roles::delete(tx, org, grant, act.now).await?;
    }
    for role in to.roles.iter().filter(|role| !from.roles.contains(role)) {
        let (id, role, granted_by) = (act.hub.ids.id(), role.clone(), act.actor());
        roles::insert(tx, org, &RoleGrant { id, account_id, role, granted_by, created_at: act.now }).await?;
    }
    Ok(())
}

fn facts(seat: &Seat) -> serde_json::Value {
    json!({
        "membership_level": seat.level.as_str(),
        "roles": seat.roles,
        "manager_id": seat.manager_id.map(|id| id.to_string()),
    })
}

/// Ends a membership: an admin another's, everybody their own. Its keys and logins here end with it.
pub async fn remove(hub: &Hub, caller: &Caller, place: Place) -> Result<(), HubError> {
    caller.require(needed_to_remove(caller, place.account))?;
    inside(caller, place.org)?;
    let act = Act::new(hub, caller, place.account);
    hub.records.write(act, |tx, act| Box::pin(remove_unit(tx, act))).await?;
    locks::let_go(hub, place.org, place.account).await;
    Ok(())
}

fn needed_to_remove(caller: &Caller, account: Id<Account>) -> Capability {
    let is_own = account == caller.credential.account.id;
    if is_own { Capability::AccountsWrite } else { Capability::MembersWrite }
}

async fn remove_unit(tx: &mut Tx, act: &Act<Id<Account>>) -> Result<(), HubError> {
    let (org, id) = (act.org(), act.input);
    // Only a member of this organization lets anybody lock what the account acts with.
    let membership = match members::get(tx, org, id).await? {
        Some(_) => {
            // First what the member may be acting with right now, in the order of those units.
            api_keys::unrevoked_locked(tx, org, id).await?;
            login_sessions::open_locked(tx, id).await?;
            members::get_locked(tx, org, id).await?
        }
        None => None,
    };
    let standing = act.confirm(tx, needed_to_remove(&act.caller, id)).await?;
    let membership = membership.ok_or(MISSING)?;
    let is_agent = agents::get(tx, org, id).await?.is_some();
    let is_own = id == act.actor();
    may_remove(is_own, standing.is_org_admin(), is_agent, membership.membership_level).map_err(refused)?;
    api_keys::revoke_all(tx, org, id, act.now).await?;
    login_sessions::end_in(tx, org, id, act.now).await?;
    members::delete(tx, org, id).await?;
    schedule_reassign(tx, (org, id), membership.manager_id, act.now).await?;
    act.record(tx, "member:removed", Subject::new("account", id), Map::new()).await
}

/// Gives the organization another owner; the one until now stays as admin.
pub async fn transfer_ownership(hub: &Hub, caller: &Caller, to: Place) -> Result<Organization, HubError> {
    caller.require(Capability::OrganizationsWrite)?;
    inside(caller, to.org)?;
    let act = Act::new(hub, caller, to.account);
    hub.records.write(act, |tx, act| Box::pin(transfer_unit(tx, act))).await
}

async fn transfer_unit(tx: &mut Tx, act: &Act<Id<Account>>) -> Result<Organization, HubError> {
    let (org, heir) = (act.org(), act.input);
    let before = organizations::get_locked(tx, org).await?.ok_or(HubError::NotFound("organization"))?;
    let old = members::get_locked(tx, org, before.owner_id).await?;
    let new = members::get_locked(tx, org, heir).await?;
    let standing = act.confirm(tx, Capability::OrganizationsWrite).await?;
    let none = || HubError::field("/account_id", "is not a member of the organization");
    let account = accounts::get_shared(tx, heir).await?.filter(|_| new.is_some()).ok_or_else(none)?;
    may_hand_over(before.owner_id == act.actor(), standing.is_instance_admin(), &account).map_err(
        |refusal| match refusal {
            OrganizationRefusal::CannotOwn => HubError::field("/account_id", refusal.to_string()),
            other => HubError::Forbidden(other.to_string()),
        },
    )?;
    if before.owner_id == heir {
        return Ok(before);
    }
    for (seat, level) in [(old, MembershipLevel::Admin), (new, MembershipLevel::Owner)] {
        let Some(mut seat) = seat else { continue };
        seat.membership_level = level;
        seat.updated_at = act.now.after(seat.updated_at);
        members::update(tx, &seat).await?;
    }
    let updated_at = act.now.after(before.updated_at);
    let after = Organization { owner_id: heir, updated_at, ..before.clone() };
    organizations::update(tx, &after).await?;
    let owner = |organization: &Organization| json!({"owner_id": organization.owner_id.to_string()});
    let details = differences(&owner(&before), &owner(&after));
    let subject = Subject::new("organization", org);
    act.record(tx, "organization:ownership_transferred", subject, details).await?;
    Ok(after)
}
