//! Making tenants and members: what the first start, an instance admin and an admin do alike.

use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::api_keys::ApiKey;
use domain::audit::{AuditEntry, Chain};
use domain::members::Seat;
use domain::organizations::{Membership, MembershipLevel, Organization};
use domain::projects::{DEFAULT_SLUG, Project};
use domain::roles::RoleGrant;
use domain::secrets::Secret;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, accounts, api_keys, members, organizations, projects, roles};

use super::api_keys::MintedKey;
use crate::caller::plain_entry;
use crate::ids::Ids;
use crate::{Caller, HubError, audit, policies};

/// The overview nags until a key of this name is rotated or deleted.
const FIRST_KEY_NAME: &str = "bootstrap";

/// A person or service that does not exist yet.
pub struct NewAccount {
    /// Checked by `domain::text::email`.
    pub email: String,
    /// What people see.
    pub display_name: String,
    /// What it may do on the instance.
    pub access_level: AccessLevel,
}

impl NewAccount {
    /// The account, active from now on.
    #[must_use]
    pub fn made(&self, ids: &dyn Ids, now: Timestamp) -> Account {
        Account {
            id: ids.id(),
            email: self.email.clone(),
            display_name: self.display_name.clone(),
            gitea_username: None,
            access_level: self.access_level,
            status: AccountStatus::Active,
            home_org_id: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Who makes something, for its audit row.
#[derive(Clone, Copy)]
pub struct Maker<'a> {
    /// Makes up ids.
    pub ids: &'a dyn Ids,
    /// Who.
    pub actor: Id<Account>,
    /// Which part of the hub.
    pub service: &'a str,
    /// When.
    pub now: Timestamp,
    /// Who asked for it; none where the hub itself or its operator makes it.
    pub caller: Option<&'a Caller>,
}

impl Maker<'_> {
    pub(crate) fn entry(&self, chain: Chain, action: &str, subject: Subject) -> AuditEntry {
        let plain = plain_entry(self.ids.id(), chain, self.actor, (action, subject, self.service), self.now);
        match self.caller {
            Some(caller) => caller.signed(plain),
            None => plain,
        }
    }
}

/// Where an account comes in, as what, and who gives it its roles.
pub(crate) struct Entrance<'a> {
    pub(crate) organization: &'a Organization,
    pub(crate) seat: &'a Seat,
    pub(crate) granted_by: Id<Account>,
}

/// Makes an organization with its owner, its first project and its default policy.
pub(crate) async fn create(
    tx: &mut Tx,
    maker: Maker<'_>,
    organization: &Organization,
    owner: &Account,
) -> Result<(), HubError> {
    organizations::insert(tx, organization).await?;
    let seat = Seat::of(MembershipLevel::Owner);
    join(tx, maker, owner, &Entrance { organization, seat: &seat, granted_by: maker.actor }).await?;
    projects::insert(tx, &first_project(maker, organization)).await?;
    policies::give_default(tx, maker, organization.id).await?;
    let subject = Subject::new("organization", organization.id);
    let chain = Chain::Organization(organization.id);
    audit::record(tx, &maker.entry(chain, "organization:created", subject)).await
}

fn first_project(maker: Maker<'_>, organization: &Organization) -> Project {
    Project {
        id: maker.ids.id(),
        org_id: organization.id,
        name: DEFAULT_SLUG.into(),
        slug: DEFAULT_SLUG.into(),
        created_at: maker.now,
        updated_at: maker.now,
    }
}

/// Makes an organization named by its slug, with an owner who did not exist before, and the owner's first key.
pub async fn found(
    tx: &mut Tx,
    maker: Maker<'_>,
    slug: &str,
    owner: &Account,
    secret: &Secret,
) -> Result<MintedKey, HubError> {
    let organization = Organization {
        id: maker.ids.id(),
        name: slug.to_owned(),
        slug: slug.to_owned(),
        owner_id: owner.id,
        gitea_org_name: None,
        archived_at: None,
        created_at: maker.now,
        updated_at: maker.now,
    };
    let chain = Chain::Organization(organization.id);
    accounts::insert(tx, owner).await?;
    create(tx, maker, &organization, owner).await?;
    audit::record(tx, &account_created(maker, chain, owner)).await?;
    let key = first_key(maker, &organization, owner, secret);
    api_keys::insert(tx, &key, &secret.hash()).await?;
    audit::record(tx, &maker.entry(chain, "api_key:minted", Subject::new("api_key", key.id))).await?;
    Ok(MintedKey { key, secret: secret.clone() })
}

/// The key the owner starts with. Whoever founds an organization is its owner: the key is nobody else's work.
fn first_key(maker: Maker<'_>, organization: &Organization, owner: &Account, secret: &Secret) -> ApiKey {
    ApiKey {
        id: maker.ids.id(),
        org_id: organization.id,
        owner_id: owner.id,
        minted_by: owner.id,
        name: FIRST_KEY_NAME.into(),
        prefix: secret.prefix().into(),
        scopes: None,
        enabled: true,
        revoked_at: None,
        expires_at: None,
        rotated_to_id: None,
        last_used_at: None,
        created_at: maker.now,
        updated_at: maker.now,
    }
}

/// Makes an account and its first membership, which is its home.
pub(crate) async fn enter(
    tx: &mut Tx,
    maker: Maker<'_>,
    account: &Account,
    entrance: &Entrance<'_>,
) -> Result<(), HubError> {
    accounts::insert(tx, account).await?;
    let chain = Chain::Organization(entrance.organization.id);
    audit::record(tx, &account_created(maker, chain, account)).await?;
    join(tx, maker, account, entrance).await
}

/// That there is an account now, and what it is.
pub(super) fn account_created(maker: Maker<'_>, chain: Chain, account: &Account) -> AuditEntry {
    let mut entry = maker.entry(chain, "account:created", Subject::new("account", account.id));
    entry.details.insert("email".into(), account.email.clone().into());
    entry.details.insert("display_name".into(), account.display_name.clone().into());
    entry.details.insert("access_level".into(), account.access_level.as_str().into());
    entry
}

/// Makes an account a member; an account without a home finds it here.
pub(crate) async fn join(
    tx: &mut Tx,
    maker: Maker<'_>,
    account: &Account,
    entrance: &Entrance<'_>,
) -> Result<(), HubError> {
    let Entrance { organization, seat, granted_by } = *entrance;
    let membership = Membership {
        id: maker.ids.id(),
        org_id: organization.id,
        account_id: account.id,
        membership_level: seat.level,
        manager_id: seat.manager_id,
        created_at: maker.now,
        updated_at: maker.now,
    };
    members::insert(tx, &membership, account).await?;
    for role in &seat.roles {
        let grant = RoleGrant {
            id: maker.ids.id(),
            account_id: account.id,
            role: role.clone(),
            granted_by,
            created_at: maker.now,
        };
        roles::insert(tx, organization.id, &grant).await?;
    }
    if account.home_org_id.is_none() {
        let at_home =
            Account { home_org_id: Some(organization.id), updated_at: maker.now, ..account.clone() };
        accounts::set_home(tx, &at_home).await?;
    }
    let chain = Chain::Organization(organization.id);
    let mut entry = maker.entry(chain, "member:added", Subject::new("account", account.id));
    entry.details.insert("membership_level".into(), seat.level.as_str().into());
    entry.details.insert("roles".into(), seat.roles.clone().into());
    entry.details.insert("manager_id".into(), seat.manager_id.map(|id| id.to_string()).into());
    audit::record(tx, &entry).await
}
