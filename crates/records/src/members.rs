//! Memberships: which account belongs to which organization, and how.

use domain::Id;
use domain::accounts::Account;
use domain::organizations::{Membership, MembershipLevel, Organization};

use crate::{Engine, Result, Tx, accounts, args, directory, row, statement, text_column};

text_column!(MembershipLevel);
row!(Membership { id, org_id, account_id, membership_level, manager_id, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO organization_members (id, org_id, account_id, membership_level, manager_id, created_at, \
              updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"
);
statement!(
    GET: Membership = "SELECT id, org_id, account_id, membership_level, manager_id, created_at, updated_at \
                       FROM organization_members WHERE org_id = $1 AND account_id = $2"
);
statement!(
    GET_SHARED: Membership = "SELECT id, org_id, account_id, membership_level, manager_id, created_at, updated_at \
                       FROM organization_members WHERE org_id = $1 AND account_id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: Membership = "SELECT id, org_id, account_id, membership_level, manager_id, created_at, updated_at \
                       FROM organization_members WHERE org_id = $1 AND account_id = $2", lock "FOR UPDATE"
);
statement!(
    UPDATE = "UPDATE organization_members SET membership_level = $1, manager_id = $2, updated_at = $3 \
              WHERE org_id = $4 AND account_id = $5"
);
statement!(DELETE = "DELETE FROM organization_members WHERE org_id = $1 AND account_id = $2");
// Over all organizations: where somebody may go is theirs to know.
statement!(
    OF_ACCOUNT: Membership = "SELECT id, org_id, account_id, membership_level, manager_id, created_at, updated_at \
                       FROM organization_members WHERE account_id = $1 ORDER BY created_at, id"
);
// By organization, so that two units that lock them all wait for each other.
statement!(
    OF_ACCOUNT_LOCKED: Membership = "SELECT id, org_id, account_id, membership_level, manager_id, created_at, updated_at \
                       FROM organization_members WHERE account_id = $1 ORDER BY org_id", lock "FOR UPDATE"
);

/// Makes an account a member, whom others find from then on. Whoever calls has made or locked the account.
pub async fn insert(tx: &mut Tx, membership: &Membership, account: &Account) -> Result<()> {
    tx.wakes.identity = true;
    tx.push(
        &INSERT,
        args![
            membership.id,
            membership.org_id,
            membership.account_id,
            membership.membership_level.as_str(),
            membership.manager_id,
            membership.created_at,
            membership.updated_at,
        ],
    )
    .await?;
    directory::add(tx, membership, account).await
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

/// Keeps an account and its membership as they are until this unit ends. SQLite has one writer: there they are.
pub async fn hold(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<()> {
    if tx.engine() == Engine::Postgres {
        accounts::get_shared(tx, account).await?;
        get_shared(tx, org, account).await?;
    }
    Ok(())
}

/// The membership, for a unit that is about to change it or its roles.
pub async fn get_locked(
    tx: &mut Tx,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Membership>> {
    tx.opt(&GET_LOCKED, args![org, account]).await
}

/// Changes level and manager.
pub async fn update(tx: &mut Tx, membership: &Membership) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![
        membership.membership_level.as_str(),
        membership.manager_id,
        membership.updated_at,
        membership.org_id,
        membership.account_id,
    ];
    tx.change_one(&UPDATE, values, "a membership").await?;
    directory::set_seat(tx, membership).await
}

/// Ends a membership; roles and entries in the directory go with it.
pub async fn delete(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<()> {
    tx.wakes.identity = true;
    tx.change_one(&DELETE, args![org, account], "a membership").await
}

/// Where the account belongs, the oldest membership first.
pub async fn of_account(tx: &mut Tx, account: Id<Account>) -> Result<Vec<Membership>> {
    tx.all(&OF_ACCOUNT, args![account]).await
}

/// Where the account belongs, for a unit that is about to change how it is listed there.
pub(crate) async fn of_account_locked(tx: &mut Tx, account: Id<Account>) -> Result<Vec<Membership>> {
    tx.all(&OF_ACCOUNT_LOCKED, args![account]).await
}
