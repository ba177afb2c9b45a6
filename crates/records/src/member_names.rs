//! What members are found by.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, statement};

statement!(
    INSERT = "INSERT INTO member_names (org_id, name, account_id, whole, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $5)"
);
statement!(DELETE = "DELETE FROM member_names WHERE org_id = $1 AND account_id = $2");

/// Replaces what the member is found by. Whoever calls has inserted or locked the membership.
pub async fn set(tx: &mut Tx, org: Id<Organization>, account: &Account, now: Timestamp) -> Result<()> {
    tx.push(&DELETE, args![org, account.id]).await?;
    for found in account.search_names() {
        tx.push(&INSERT, args![org, &found.name, account.id, found.whole, now]).await?;
    }
    Ok(())
}
