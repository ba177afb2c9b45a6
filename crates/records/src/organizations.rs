//! Organizations: the tenants.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

row!(Organization { id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO organizations (id, name, slug, owner_id, gitea_org_name, archived_at, created_at, \
              updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
);
statement!(
    GET: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations WHERE id = $1"
);
statement!(
    GET_SHARED: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations WHERE id = $1", lock "FOR SHARE"
);
statement!(
    BY_SLUG: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                             FROM organizations WHERE slug = $1"
);
statement!(
    BY_NAME: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                             FROM organizations WHERE name = $1"
);
statement!(
    ALL: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations ORDER BY id"
);

statement!(
    GET_LOCKED: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations WHERE id = $1", lock "FOR UPDATE"
);

statement!(
    UPDATE = "UPDATE organizations SET name = $1, slug = $2, owner_id = $3, gitea_org_name = $4, archived_at = $5, \
              updated_at = $6 WHERE id = $7"
);
statement!(
    LIST: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                          FROM organizations WHERE true"
                         and ["id IN (SELECT org_id FROM organization_members WHERE account_id = ?)", "slug = ?",
                              "gitea_org_name = ?", "(created_at, id) < (?, ?)"]
                         then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
struct Any {
    any_row: bool,
}
row!(Any { any_row });
statement!(OWNED: Any = "SELECT EXISTS (SELECT 1 FROM organizations WHERE owner_id = $1) AS any_row");

/// A place in the list of organizations, newest first.
pub type After = (Timestamp, Id<Organization>);

/// Which organizations somebody looks for.
#[derive(Clone, Default)]
pub struct Filter {
    /// Only those this account belongs to.
    pub of_member: Option<Id<Account>>,
    /// Only this slug.
    pub slug: Option<String>,
    /// Only this name in Gitea.
    pub gitea_org_name: Option<String>,
}

/// Adds an organization.
pub async fn insert(tx: &mut Tx, organization: &Organization) -> Result<()> {
    tx.push(
        &INSERT,
        args![
            organization.id,
            &organization.name,
            &organization.slug,
            organization.owner_id,
            organization.gitea_org_name.as_deref(),
            organization.archived_at,
            organization.created_at,
            organization.updated_at,
        ],
    )
    .await
}

/// The organization.
pub async fn get(tx: &mut Tx, id: Id<Organization>) -> Result<Option<Organization>> {
    tx.opt(&GET, args![id]).await
}

/// The organization, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, id: Id<Organization>) -> Result<Option<Organization>> {
    tx.opt(&GET_SHARED, args![id]).await
}

/// The organization; units that change what belongs to it queue here until this one has ended.
pub async fn get_locked(tx: &mut Tx, id: Id<Organization>) -> Result<Option<Organization>> {
    tx.opt(&GET_LOCKED, args![id]).await
}

/// The organization of this slug.
pub async fn by_slug(tx: &mut Tx, slug: &str) -> Result<Option<Organization>> {
    tx.opt(&BY_SLUG, args![slug]).await
}

/// The organization of this name.
pub async fn by_name(tx: &mut Tx, name: &str) -> Result<Option<Organization>> {
    tx.opt(&BY_NAME, args![name]).await
}

/// Every organization, for the hub's own jobs.
pub async fn all(db: &Db) -> Result<Vec<Organization>> {
    db.all(&ALL, args![]).await
}

/// Changes everything that can change about an organization.
pub async fn update(tx: &mut Tx, organization: &Organization) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![
        &organization.name,
        &organization.slug,
        organization.owner_id,
        organization.gitea_org_name.as_deref(),
        organization.archived_at,
        organization.updated_at,
        organization.id,
    ];
    tx.change_one(&UPDATE, values, "an organization").await
}

/// Organizations, newest first.
pub async fn list(db: &Db, filter: &Filter, after: Option<After>, limit: i64) -> Result<Vec<Organization>> {
    let mut search = LIST.with(args![]);
    if let Some(account) = filter.of_member {
        let clause = "id IN (SELECT org_id FROM organization_members WHERE account_id = ?)";
        LIST.and(&mut search, clause, args![account]);
    }
    if let Some(slug) = &filter.slug {
        LIST.and(&mut search, "slug = ?", args![slug.clone()]);
    }
    if let Some(name) = &filter.gitea_org_name {
        LIST.and(&mut search, "gitea_org_name = ?", args![name.clone()]);
    }
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// Whether the account owns an organization.
pub async fn any_owned_by(tx: &mut Tx, account: Id<Account>) -> Result<bool> {
    Ok(tx.one(&OWNED, args![account]).await?.any_row)
}
