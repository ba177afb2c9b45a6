//! Memberships: which account belongs to which organization, and how.

use domain::Id;
use domain::accounts::Account;
use domain::organizations::{Membership, MembershipLevel, Organization};

use crate::{Result, Tx, args, row, statement, text_column};

text_column!(MembershipLevel);
row!(Membership { id, org_id, account_id, membership_level, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO organization_members (id, org_id, account_id, membership_level, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(
    GET: Membership = "SELECT id, org_id, account_id, membership_level, created_at, updated_at \
                       FROM organization_members WHERE org_id = $1 AND account_id = $2"
);
statement!(
    GET_SHARED: Membership = "SELECT id, org_id, account_id, membership_level, created_at, updated_at \
                       FROM organization_members WHERE org_id = $1 AND account_id = $2", lock "FOR SHARE"
);

/// Adds a membership.
pub async fn insert(tx: &mut Tx, membership: &Membership) -> Result<()> {
    tx.wakes.identity = true;
    tx.push(
        &INSERT,
        args![
            membership.id,
            membership.org_id,
            membership.account_id,
            membership.membership_level.as_str(),
            membership.created_at,
            membership.updated_at,
        ],
    )
    .await
}

/// The account's membership of the organization.
pub async fn get(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<Option<Membership>> {
    tx.opt(&GET, args![org, account]).await
}

/// The membership, which nobody changes until this unit ends.
pub async fn get_shared(
    tx: &mut Tx,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Membership>> {
    tx.opt(&GET_SHARED, args![org, account]).await
}
