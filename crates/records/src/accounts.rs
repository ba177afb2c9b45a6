//! Accounts: people, services and agents that can authenticate.

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};

use crate::{Result, Tx, args, row, statement, text_column};

text_column!(AccessLevel, AccountStatus);
row!(Account {
    id,
    email,
    display_name,
    gitea_username,
    access_level,
    status,
    home_org_id,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO accounts (id, email, display_name, gitea_username, access_level, status, home_org_id, \
              created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
);
statement!(SET_HOME = "UPDATE accounts SET home_org_id = $1, updated_at = $2 WHERE id = $3");
statement!(
    GET: Account = "SELECT id, email, display_name, gitea_username, access_level, status, home_org_id, created_at, \
                    updated_at FROM accounts WHERE id = $1"
);
statement!(
    GET_SHARED: Account = "SELECT id, email, display_name, gitea_username, access_level, status, home_org_id, \
                           created_at, updated_at FROM accounts WHERE id = $1", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: Account = "SELECT id, email, display_name, gitea_username, access_level, status, home_org_id, \
                           created_at, updated_at FROM accounts WHERE id = $1", lock "FOR UPDATE"
);
statement!(SET_NAME = "UPDATE accounts SET display_name = $1, updated_at = $2 WHERE id = $3");
statement!(SET_STATUS = "UPDATE accounts SET status = $1, updated_at = $2 WHERE id = $3");

/// Adds an account.
pub async fn insert(tx: &mut Tx, account: &Account) -> Result<()> {
    tx.push(
        &INSERT,
        args![
            account.id,
            &account.email,
            &account.display_name,
            account.gitea_username.as_deref(),
            account.access_level.as_str(),
            account.status.as_str(),
            account.home_org_id,
            account.created_at,
            account.updated_at,
        ],
    )
    .await
}

/// Gives an account the organization that may change its e-mail and status.
pub async fn set_home(tx: &mut Tx, account: &Account) -> Result<()> {
    let values = args![account.home_org_id, account.updated_at, account.id];
    tx.change_one(&SET_HOME, values, "an account").await
}

/// Changes what people call the account; names to search by are changed apart.
pub async fn set_name(tx: &mut Tx, account: &Account) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![&account.display_name, account.updated_at, account.id];
    tx.change_one(&SET_NAME, values, "an account").await
}

/// Changes who may authenticate.
pub async fn set_status(tx: &mut Tx, account: &Account) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![account.status.as_str(), account.updated_at, account.id];
    tx.change_one(&SET_STATUS, values, "an account").await
}

/// The account. Accounts are not a tenant's own; the caller checks the membership.
pub async fn get(tx: &mut Tx, id: Id<Account>) -> Result<Option<Account>> {
    tx.opt(&GET, args![id]).await
}

/// The account, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, id: Id<Account>) -> Result<Option<Account>> {
    tx.opt(&GET_SHARED, args![id]).await
}

/// The account, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, id: Id<Account>) -> Result<Option<Account>> {
    tx.opt(&GET_LOCKED, args![id]).await
}
