//! Roles that members hold.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::roles::RoleGrant;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, directory, row, statement};

row!(RoleGrant { id, account_id, role, granted_by, created_at });

statement!(
    INSERT = "INSERT INTO role_grants (id, org_id, account_id, role, granted_by, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $6)"
);
statement!(DELETE = "DELETE FROM role_grants WHERE org_id = $1 AND id = $2");
statement!(
    OF: RoleGrant = "SELECT id, account_id, role, granted_by, created_at FROM role_grants \
                     WHERE org_id = $1 AND account_id = $2 ORDER BY role"
);

/// Gives a member a role. Whoever changes roles has locked the membership.
pub async fn insert(tx: &mut Tx, org: Id<Organization>, grant: &RoleGrant) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![grant.id, org, grant.account_id, &grant.role, grant.granted_by, grant.created_at];
    tx.push(&INSERT, values).await?;
    directory::set_roles(tx, org, grant.account_id, grant.created_at).await
}

/// Takes a role back.
pub async fn delete(tx: &mut Tx, org: Id<Organization>, grant: &RoleGrant, now: Timestamp) -> Result<()> {
    tx.wakes.identity = true;
    tx.push(&DELETE, args![org, grant.id]).await?;
    directory::set_roles(tx, org, grant.account_id, now).await
}

/// The member's roles, by name.
pub async fn of(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<Vec<RoleGrant>> {
    tx.all(&OF, args![org, account]).await
}
