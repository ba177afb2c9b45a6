//! Tenants: made and archived by instance admins, changed by their own.

use domain::accounts::Account;
use domain::audit::Chain;
use domain::organizations::{
    Organization, OrganizationAsker, OrganizationChange, OrganizationRefusal, may_change,
};
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::{Id, text};
use records::organizations::{self, After, Filter};
use records::{Tx, accounts, members};
use serde_json::json;

use super::founding::create as create_in;
use crate::act::{Act, differences};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, audit, etag};

/// A tenant that does not exist yet.
pub struct NewOrganization {
    /// What people read.
    pub name: String,
    /// Its name in URLs.
    pub slug: String,
    /// Its name in Gitea.
    pub gitea_org_name: Option<String>,
}

/// Makes a tenant; the caller, who must be an instance admin, becomes its owner.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: NewOrganization,
    once: Option<Once<Organization>>,
) -> Result<Outcome<Organization>, HubError> {
    caller.require(Capability::OrganizationsWrite)?;
    check(Some(&wanted.name), Some(&wanted.slug), wanted.gitea_org_name.as_deref())?;
    let now = hub.clock.now();
    let organization = Organization {
        id: hub.ids.id(),
        name: wanted.name,
        slug: wanted.slug,
        owner_id: caller.credential.account.id,
        gitea_org_name: wanted.gitea_org_name,
        archived_at: None,
        created_at: now,
        updated_at: now,
    };
    let act = Act::new(hub, caller, organization);
    write_once(hub, once, act, |tx, act| Box::pin(create_unit(tx, act))).await
}

async fn create_unit(tx: &mut Tx, act: &Act<Organization>) -> Result<Organization, HubError> {
    let organization = &act.input;
    let standing = act.confirm(tx, Capability::OrganizationsWrite).await?;
    if !standing.is_instance_admin() {
        return Err(refused(OrganizationRefusal::InstanceAdmin));
    }
    free(tx, organization).await?;
    let owner = accounts::get(tx, organization.owner_id).await?.ok_or(HubError::NotFound("account"))?;
    create_in(tx, act.maker(), organization, &owner).await?;
    let subject = Subject::new("organization", organization.id);
    let entry = act.maker().entry(Chain::Instance, "organization:created", subject);
    audit::record(tx, &entry).await?;
    Ok(organization.clone())
}

fn refused(refusal: OrganizationRefusal) -> HubError {
    match refusal {
        OrganizationRefusal::FromInside => {
            HubError::InvalidState { state: "current".into(), detail: refusal.to_string() }
        }
        other => HubError::Forbidden(other.to_string()),
    }
}

/// Names and slugs are the instance's, so that a URL says one thing.
async fn free(tx: &mut Tx, organization: &Organization) -> Result<(), HubError> {
    let other = |known: Option<Organization>| known.is_some_and(|known| known.id != organization.id);
    if other(organizations::by_slug(tx, &organization.slug).await?) {
        return Err(HubError::Conflict("an organization has this slug already".into()));
    }
    if other(organizations::by_name(tx, &organization.name).await?) {
        return Err(HubError::Conflict("an organization has this name already".into()));
    }
    Ok(())
}

fn check(name: Option<&str>, slug: Option<&str>, gitea: Option<&str>) -> Result<(), HubError> {
    let bad = |pointer: &'static str| move |bad: text::BadText| HubError::field(pointer, bad.to_string());
    name.map_or(Ok(()), |name| text::name(name, text::NAME_CHARS_MAX)).map_err(bad("/name"))?;
    slug.map_or(Ok(()), text::slug).map_err(bad("/slug"))?;
    gitea.map_or(Ok(()), |name| text::name(name, text::NAME_CHARS_MAX)).map_err(bad("/gitea_org_name"))
}

/// Organizations, newest first: those the caller belongs to, for an instance admin all.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    filter: Filter,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Organization>, HubError> {
    caller.require(Capability::OrganizationsRead)?;
    let of_member = match caller.credential.standing().is_instance_admin() {
        true => None,
        false => Some(caller.credential.account.id),
    };
    Ok(organizations::list(&hub.records, &Filter { of_member, ..filter }, after, limit).await?)
}

/// One of them.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Organization>) -> Result<Organization, HubError> {
    caller.require(Capability::OrganizationsRead)?;
    let credential = &caller.credential;
    let input = (credential.account.id, credential.standing().is_instance_admin(), id);
    hub.records
        .read(input, |tx, &(account, all, id)| Box::pin(async move { find(tx, account, all, id).await }))
        .await
}

async fn find(
    tx: &mut Tx,
    account: Id<Account>,
    all: bool,
    id: Id<Organization>,
) -> Result<Organization, HubError> {
    let belongs = all || members::get(tx, id, account).await?.is_some();
    let found = organizations::get(tx, id).await?;
    found.filter(|_| belongs).ok_or(HubError::NotFound("organization"))
}

/// What a reader of an organization must send to change exactly that.
#[must_use]
pub fn etag(organization: &Organization) -> String {
    etag::of(organization.updated_at)
}

struct Change {
    id: Id<Organization>,
    wanted: OrganizationChange,
    if_match: Option<String>,
}

/// Changes the caller's own organization; an instance admin names, archives and restores any.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Organization>,
    wanted: OrganizationChange,
    if_match: Option<String>,
) -> Result<Organization, HubError> {
    caller.require(Capability::OrganizationsWrite)?;
    let gitea = wanted.gitea_org_name.as_ref().and_then(Option::as_deref);
    check(wanted.name.as_deref(), wanted.slug.as_deref(), gitea)?;
    let act = Act::new(hub, caller, Change { id, wanted, if_match });
    hub.records.write(act, |tx, act| Box::pin(change_unit(tx, act))).await
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Organization, HubError> {
    let Change { id, wanted, if_match } = &act.input;
    let is_inside = *id == act.org();
    let is_seen = is_inside || act.caller.credential.standing().is_instance_admin();
    // Nobody locks what they do not see.
    let before = if is_seen { organizations::get_locked(tx, *id).await? } else { None };
    let standing = act.confirm(tx, Capability::OrganizationsWrite).await?;
    let (is_instance_admin, is_org_admin) = (standing.is_instance_admin(), standing.is_org_admin());
    let before = before.filter(|_| is_inside || is_instance_admin);
    let before = before.ok_or(HubError::NotFound("organization"))?;
    etag::require(if_match.as_deref(), &etag(&before))?;
    may_change(&OrganizationAsker { is_instance_admin, is_inside, is_org_admin }, wanted).map_err(refused)?;
    let after = before.changed(wanted, act.now);
    if after != before {
        free(tx, &after).await?;
        organizations::update(tx, &after).await?;
        record(tx, act, &before, &after).await?;
    }
    Ok(after)
}

async fn record(
    tx: &mut Tx,
    act: &Act<Change>,
    before: &Organization,
    after: &Organization,
) -> Result<(), HubError> {
    let state = |organization: &Organization| {
        let changed = before.archived_at.is_some() != after.archived_at.is_some();
        let word = if organization.archived_at.is_some() { "archived" } else { "active" };
        changed.then(|| word.to_owned())
    };
    let mut entry = act.entry("organization:changed", Subject::new("organization", after.id));
    entry.chain = Chain::Organization(after.id);
    (entry.from_state, entry.to_state) = (state(before), state(after));
    entry.details = differences(&facts(before), &facts(after));
    audit::record(tx, &entry).await
}

fn facts(organization: &Organization) -> serde_json::Value {
    let Organization { name, slug, gitea_org_name, .. } = organization;
    json!({"name": name, "slug": slug, "gitea_org_name": gitea_org_name})
}
