//! The members of the caller's organization.

use domain::accounts::{Account, AccountStatus};
use domain::members::{HeldRole, Member, Seat, SeatRefusal, Seated, may_remove, may_reseat};
use domain::organizations::{MembershipLevel, Organization};
use domain::permissions::Capability;
use domain::roles::RoleGrant;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::member_names::{self, After, Wanted};
use records::{Tx, accounts, agents, api_keys, login_sessions, members, organizations, roles};
use serde_json::json;

use super::authenticate::confirm;
use super::founding::{Maker, join};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, audit, etag};

/// Members by name, each with the place after it.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    wanted: &Wanted,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<(Member, After)>, HubError> {
    caller.require(Capability::AccountsRead)?;
    let org = caller.credential.organization.id;
    Ok(member_names::list(&hub.records, org, wanted, after, limit).await?)
}

/// A member with everything about the membership.
pub async fn get(hub: &Hub, caller: &Caller, account: Id<Account>) -> Result<Member, HubError> {
    let found = list(hub, caller, &Wanted::One(account), None, 1).await?;
    found.into_iter().next().map(|(member, _)| member).ok_or(HubError::NotFound("member"))
}

/// What a reader of a seat must send to change exactly that.
#[must_use]
pub fn etag(seat: &Seated) -> String {
    etag::of(seat.updated_at)
}

/// The account as the organization sees it, inside a unit.
pub(crate) async fn load(tx: &mut Tx, org: Id<Organization>, account: Account) -> Result<Member, HubError> {
    let Some(membership) = members::get(tx, org, account.id).await? else {
        return Ok(Member { account, seat: None });
    };
    let held = roles::of(tx, org, account.id).await?;
    let seat = Seated {
        level: membership.membership_level,
        manager_id: membership.manager_id,
        roles: held
            .into_iter()
            .map(|grant| HeldRole { role: grant.role, granted_by: grant.granted_by })
            .collect(),
        joined_at: membership.created_at,
        updated_at: membership.updated_at,
    };
    Ok(Member { account, seat: Some(seat) })
}

/// Something that is about to happen to a member.
struct Change<T> {
    hub: Hub,
    caller: Caller,
    account: Id<Account>,
    what: T,
    now: Timestamp,
}

impl<T> Change<T> {
    fn new(hub: &Hub, caller: &Caller, account: Id<Account>, what: T) -> Self {
        Self { hub: hub.clone(), caller: caller.clone(), account, what, now: hub.clock.now() }
    }

    fn org(&self) -> &Organization {
        &self.caller.credential.organization
    }

    fn maker(&self) -> Maker<'_> {
        let actor = self.caller.credential.account.id;
        Maker { ids: &*self.hub.ids, actor, service: &self.caller.origin.service, now: self.now }
    }
}

/// Adds an account that exists: one that is at home here, or, for an instance admin, any. The member, and where.
pub async fn add(
    hub: &Hub,
    caller: &Caller,
    account: Id<Account>,
    seat: Seat,
    once: Option<Once<(Member, Id<Organization>)>>,
) -> Result<Outcome<(Member, Id<Organization>)>, HubError> {
    caller.require(Capability::MembersWrite)?;
    let change = Change::new(hub, caller, account, seat);
    write_once(hub, once, change, |tx, change| Box::pin(add_unit(tx, change))).await
}

async fn add_unit(tx: &mut Tx, change: &Change<Seat>) -> Result<(Member, Id<Organization>), HubError> {
    let standing = confirm(tx, &change.caller, Capability::MembersWrite, change.now).await?;
    let org = change.org();
    let nobody = || HubError::field("/account_id", "there is no such account for you to add");
    let account = accounts::get_shared(tx, change.account).await?.ok_or_else(nobody)?;
    if account.home_org_id != Some(org.id) && !standing.is_instance_admin() {
        return Err(nobody());
    }
    // The hub's own account is at home nowhere and belongs to nobody.
    if account.home_org_id.is_none() {
        return Err(nobody());
    }
    if members::get(tx, org.id, account.id).await?.is_some() {
        return Err(HubError::Conflict("this account is a member already".into()));
    }
    let is_agent = agents::get(tx, org.id, account.id).await?.is_some();
    may_reseat(account.id, is_agent, MembershipLevel::Member, &change.what).map_err(refused)?;
    manager_is_member(tx, org.id, &change.what).await?;
    join(tx, change.maker(), org, &account, &change.what).await?;
    Ok((load(tx, org.id, account).await?, org.id))
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

/// What shall change about a seat.
#[derive(Clone, Debug, Default)]
pub struct SeatChange {
    /// Admin or member.
    pub level: Option<MembershipLevel>,
    /// All roles, new.
    pub roles: Option<Vec<String>>,
    /// Another manager, or none.
    pub manager_id: Option<Option<Id<Account>>>,
    /// Only if the seat is still of this version.
    pub if_match: Option<String>,
}

/// Changes level, roles and manager of a member.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    account: Id<Account>,
    wanted: SeatChange,
) -> Result<Member, HubError> {
    caller.require(Capability::MembersWrite)?;
    let change = Change::new(hub, caller, account, wanted);
    hub.records.write(change, |tx, change| Box::pin(change_unit(tx, change))).await
}

async fn change_unit(tx: &mut Tx, change: &Change<SeatChange>) -> Result<Member, HubError> {
    let (org, wanted) = (change.org().id, &change.what);
    let membership = members::get_locked(tx, org, change.account).await?;
    confirm(tx, &change.caller, Capability::MembersWrite, change.now).await?;
    let mut membership = membership.ok_or(HubError::NotFound("member"))?;
    etag::require(wanted.if_match.as_deref(), &etag::of(membership.updated_at))?;
    let held = roles::of(tx, org, change.account).await?;
    let to = new_seat(&held, membership.membership_level, membership.manager_id, wanted)?;
    let is_agent = agents::get(tx, org, change.account).await?.is_some();
    may_reseat(change.account, is_agent, membership.membership_level, &to).map_err(refused)?;
    manager_is_member(tx, org, &to).await?;
    let from = Seat {
        level: membership.membership_level,
        manager_id: membership.manager_id,
        roles: held.iter().map(|grant| grant.role.clone()).collect(),
    };
    let account = accounts::get(tx, change.account).await?.ok_or(HubError::NotFound("member"))?;
    if from == to {
        return load(tx, org, account).await;
    }
    for grant in held.iter().filter(|grant| !to.roles.contains(&grant.role)) {
        roles::delete(tx, org, grant.id).await?;
    }
    for role in to.roles.iter().filter(|role| !from.roles.contains(role)) {
        roles::insert(tx, org, &granted(change, role)).await?;
    }
    membership.membership_level = to.level;
    membership.manager_id = to.manager_id;
    membership.updated_at = change.now.after(membership.updated_at);
    members::update(tx, &membership).await?;
    let subject = Subject::new("account", change.account);
    let mut entry = change.caller.entry(&change.hub, "member:changed", subject, change.now);
    entry.details.insert("from".into(), seat_facts(&from));
    entry.details.insert("to".into(), seat_facts(&to));
    audit::record(tx, &entry).await?;
    load(tx, org, account).await
}

fn granted(change: &Change<SeatChange>, role: &str) -> RoleGrant {
    RoleGrant {
        id: change.hub.ids.id(),
        account_id: change.account,
        role: role.to_owned(),
        granted_by: change.caller.credential.account.id,
        created_at: change.now,
    }
}

/// The seat after the change. The owner's level is not asked for, it stays.
fn new_seat(
    held: &[RoleGrant],
    level: MembershipLevel,
    manager: Option<Id<Account>>,
    wanted: &SeatChange,
) -> Result<Seat, HubError> {
    let roles = wanted.roles.clone().unwrap_or_else(|| held.iter().map(|grant| grant.role.clone()).collect());
    let manager_id = wanted.manager_id.unwrap_or(manager);
    let is_owner = level == MembershipLevel::Owner;
    // Without a word about the level, a list of roles that names `admin` or leaves it out says it.
    let said = wanted.level.unwrap_or(match (&wanted.roles, is_owner) {
        (None, false) => level,
        (None, true) => MembershipLevel::Admin,
        (Some(_), _) => MembershipLevel::Member,
    });
    let mut seat = Seat::asked(said, &roles, manager_id).map_err(HubError::Invalid)?;
    if is_owner && wanted.level.is_none() {
        seat.level = level;
    }
    Ok(seat)
}

fn seat_facts(seat: &Seat) -> serde_json::Value {
    json!({
        "membership_level": seat.level.as_str(),
        "roles": seat.roles,
        "manager_id": seat.manager_id.map(|id| id.to_string()),
    })
}

/// Ends a membership: an admin another's, everybody their own. Its keys and logins here end with it.
pub async fn remove(hub: &Hub, caller: &Caller, account: Id<Account>) -> Result<(), HubError> {
    let is_own = account == caller.credential.account.id;
    caller.require(if is_own { Capability::AccountsWrite } else { Capability::MembersWrite })?;
    let change = Change::new(hub, caller, account, is_own);
    hub.records.write(change, |tx, change| Box::pin(remove_unit(tx, change))).await
}

async fn remove_unit(tx: &mut Tx, change: &Change<bool>) -> Result<(), HubError> {
    let (org, is_own) = (change.org().id, change.what);
    // First what the member may be acting with right now, in the order of those units.
    api_keys::hold_all(tx, org, change.account).await?;
    login_sessions::open_locked(tx, change.account).await?;
    let membership = members::get_locked(tx, org, change.account).await?;
    let needed = if is_own { Capability::AccountsWrite } else { Capability::MembersWrite };
    let standing = confirm(tx, &change.caller, needed, change.now).await?;
    let membership = membership.ok_or(HubError::NotFound("member"))?;
    let is_agent = agents::get(tx, org, change.account).await?.is_some();
    may_remove(is_own, standing.is_org_admin(), is_agent, membership.membership_level).map_err(refused)?;
    api_keys::revoke_all(tx, org, change.account, change.now).await?;
    login_sessions::end_in(tx, org, change.account, change.now).await?;
    members::delete(tx, org, change.account).await?;
    let subject = Subject::new("account", change.account);
    audit::record(tx, &change.caller.entry(&change.hub, "member:removed", subject, change.now)).await
}

/// Gives the organization another owner; the one until now stays as admin.
pub async fn transfer_ownership(
    hub: &Hub,
    caller: &Caller,
    to: Id<Account>,
) -> Result<Organization, HubError> {
    caller.require(Capability::OrganizationsWrite)?;
    let change = Change::new(hub, caller, to, ());
    hub.records.write(change, |tx, change| Box::pin(transfer_unit(tx, change))).await
}

async fn transfer_unit(tx: &mut Tx, change: &Change<()>) -> Result<Organization, HubError> {
    let id = change.org().id;
    let organization = organizations::get_locked(tx, id).await?.ok_or(HubError::NotFound("organization"))?;
    let old = members::get_locked(tx, id, organization.owner_id).await?;
    let new = members::get_locked(tx, id, change.account).await?;
    let standing = confirm(tx, &change.caller, Capability::OrganizationsWrite, change.now).await?;
    if organization.owner_id != change.caller.credential.account.id && !standing.is_instance_admin() {
        return Err(HubError::Forbidden("only the owner hands the organization over".into()));
    }
    let mut new = new.ok_or_else(|| HubError::field("/account_id", "is not a member of the organization"))?;
    let account = accounts::get_shared(tx, change.account).await?;
    let can_own = account.is_some_and(|account| {
        account.status == AccountStatus::Active
            && account.access_level != domain::accounts::AccessLevel::Service
    });
    if !can_own {
        return Err(HubError::field("/account_id", "must be an active person"));
    }
    if organization.owner_id == change.account {
        return Ok(organization);
    }
    if let Some(mut old) = old {
        old.membership_level = MembershipLevel::Admin;
        old.updated_at = change.now.after(old.updated_at);
        members::update(tx, &old).await?;
    }
    new.membership_level = MembershipLevel::Owner;
    new.updated_at = change.now.after(new.updated_at);
    members::update(tx, &new).await?;
    let mut after = organization.clone();
    after.owner_id = change.account;
    after.updated_at = change.now.after(organization.updated_at);
    organizations::update(tx, &after).await?;
    let subject = Subject::new("organization", id);
    let mut entry =
        change.caller.entry(&change.hub, "organization:ownership_transferred", subject, change.now);
    entry.details.insert("from".into(), organization.owner_id.to_string().into());
    entry.details.insert("to".into(), change.account.to_string().into());
    audit::record(tx, &entry).await?;
    Ok(after)
}
