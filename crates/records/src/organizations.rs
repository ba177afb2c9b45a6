//! Organizations: the tenants.

use domain::Id;
use domain::organizations::Organization;

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
    ALL: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations ORDER BY id"
);

statement!(
    GET_LOCKED: Organization = "SELECT id, name, slug, owner_id, gitea_org_name, archived_at, created_at, updated_at \
                         FROM organizations WHERE id = $1", lock "FOR UPDATE"
);

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

/// Every organization, for the hub's own jobs.
pub async fn all(db: &Db) -> Result<Vec<Organization>> {
    db.all(&ALL, args![]).await
}
