//! Tenants: made and archived by instance admins, changed by their own.

use domain::accounts::Account;
use domain::audit::Chain;
use domain::organizations::Organization;
use domain::permissions::{Capability, Standing};
use domain::subject::Subject;
use domain::{Id, Timestamp, text};
use records::organizations::{self, After, Filter};
use records::{Tx, accounts, members};
use serde_json::json;

use super::authenticate::confirm;
use super::founding::{Maker, create as create_in};
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

struct Creation {
    hub: Hub,
    caller: Caller,
    organization: Organization,
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
    let creation = Creation { hub: hub.clone(), caller: caller.clone(), organization };
    write_once(hub, once, creation, |tx, creation| Box::pin(create_unit(tx, creation))).await
}

async fn create_unit(tx: &mut Tx, creation: &Creation) -> Result<Organization, HubError> {
    let organization = &creation.organization;
    let now = organization.created_at;
    let standing = confirm(tx, &creation.caller, Capability::OrganizationsWrite, now).await?;
    instance_admin(standing)?;
    free(tx, organization).await?;
    let owner = accounts::get(tx, organization.owner_id).await?.ok_or(HubError::NotFound("account"))?;
    let service = &creation.caller.origin.service;
    let maker = Maker { ids: &*creation.hub.ids, actor: owner.id, service, now };
    create_in(tx, maker, organization, &owner).await?;
    let subject = Subject::new("organization", organization.id);
    let entry = maker.entry(Chain::Instance, "organization:created", subject);
    audit::record(tx, &entry).await?;
    Ok(organization.clone())
}

fn instance_admin(standing: Standing) -> Result<(), HubError> {
    match standing.is_instance_admin() {
        true => Ok(()),
        false => {
            Err(HubError::Forbidden("only an instance admin makes, names and archives organizations".into()))
        }
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

/// What shall change about an organization.
#[derive(Clone, Debug, Default)]
pub struct OrganizationChange {
    /// A new name.
    pub name: Option<String>,
    /// A new slug.
    pub slug: Option<String>,
    /// A new name in Gitea, or none.
    pub gitea_org_name: Option<Option<String>>,
    /// Whether it is closed; an instance admin's to say.
    pub archived: Option<bool>,
    /// Only if it is still of this version.
    pub if_match: Option<String>,
}

struct Change {
    hub: Hub,
    caller: Caller,
    id: Id<Organization>,
    wanted: OrganizationChange,
    now: Timestamp,
}

/// Changes the caller's own organization; an instance admin archives and restores others.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Organization>,
    wanted: OrganizationChange,
) -> Result<Organization, HubError> {
    caller.require(Capability::OrganizationsWrite)?;
    let gitea = wanted.gitea_org_name.as_ref().and_then(Option::as_deref);
    check(wanted.name.as_deref(), wanted.slug.as_deref(), gitea)?;
    let change = Change { hub: hub.clone(), caller: caller.clone(), id, wanted, now: hub.clock.now() };
    hub.records.write(change, |tx, change| Box::pin(change_unit(tx, change))).await
}

async fn change_unit(tx: &mut Tx, change: &Change) -> Result<Organization, HubError> {
    let before = organizations::get_locked(tx, change.id).await?;
    let standing = confirm(tx, &change.caller, Capability::OrganizationsWrite, change.now).await?;
    let is_own = change.id == change.caller.credential.organization.id;
    let before = before.filter(|_| is_own || standing.is_instance_admin());
    let before = before.ok_or(HubError::NotFound("organization"))?;
    let wanted = &change.wanted;
    etag::require(wanted.if_match.as_deref(), &etag(&before))?;
    may_change(standing, is_own, wanted)?;
    let archived_at = match wanted.archived {
        Some(true) => before.archived_at.or(Some(change.now)),
        Some(false) => None,
        None => before.archived_at,
    };
    let mut after = Organization {
        name: wanted.name.clone().unwrap_or_else(|| before.name.clone()),
        slug: wanted.slug.clone().unwrap_or_else(|| before.slug.clone()),
        gitea_org_name: wanted.gitea_org_name.clone().unwrap_or_else(|| before.gitea_org_name.clone()),
        archived_at,
        ..before.clone()
    };
    if after == before {
        return Ok(after);
    }
    after.updated_at = change.now.after(before.updated_at);
    free(tx, &after).await?;
    organizations::update(tx, &after).await?;
    record(tx, change, &before, &after).await?;
    Ok(after)
}

/// Names are unique in the hub, so whoever tries them learns of other tenants: they are an instance admin's to give.
fn may_change(standing: Standing, is_own: bool, wanted: &OrganizationChange) -> Result<(), HubError> {
    if wanted.name.is_some() || wanted.slug.is_some() || wanted.archived.is_some() {
        instance_admin(standing)?;
    }
    if wanted.gitea_org_name.is_some() && !(is_own && standing.is_org_admin()) {
        return Err(HubError::Forbidden(
            "only an admin of the organization changes this, acting in it".into(),
        ));
    }
    if wanted.archived == Some(true) && is_own {
        let detail = "an organization is not archived from inside; act in another one".into();
        return Err(HubError::InvalidState { state: "current".into(), detail });
    }
    Ok(())
}

async fn record(
    tx: &mut Tx,
    change: &Change,
    before: &Organization,
    after: &Organization,
) -> Result<(), HubError> {
    let state = |organization: &Organization| {
        let changed = before.archived_at.is_some() != after.archived_at.is_some();
        let word = if organization.archived_at.is_some() { "archived" } else { "active" };
        changed.then(|| word.to_owned())
    };
    let subject = Subject::new("organization", after.id);
    let mut entry = change.caller.entry(&change.hub, "organization:changed", subject, change.now);
    entry.chain = Chain::Organization(after.id);
    (entry.from_state, entry.to_state) = (state(before), state(after));
    for (field, from, to) in [
        ("name", json!(before.name), json!(after.name)),
        ("slug", json!(before.slug), json!(after.slug)),
        ("gitea_org_name", json!(before.gitea_org_name), json!(after.gitea_org_name)),
    ] {
        if from != to {
            entry.details.insert(field.to_owned(), json!({"from": from, "to": to}));
        }
    }
    audit::record(tx, &entry).await
}
