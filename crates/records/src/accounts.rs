//! Accounts: people, services and agents that can authenticate.

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::organizations::Organization;
use serde_json::json;

use crate::{Result, Tx, args, directory, members, row, statement, text_column};

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
statement!(
    BY_EMAIL: Account = "SELECT id, email, display_name, gitea_username, access_level, status, home_org_id, \
                         created_at, updated_at FROM accounts WHERE email = $1"
);
statement!(
    UPDATE = "UPDATE accounts SET email = $1, display_name = $2, gitea_username = $3, access_level = $4, \
              status = $5, updated_at = $6 WHERE id = $7"
);
// Locked by id, so that two units that count the admins who are left wait for each other.
statement!(
    INSTANCE_ADMINS: Account = "SELECT id, email, display_name, gitea_username, access_level, status, home_org_id, \
                           created_at, updated_at FROM accounts WHERE access_level = 'admin' \
                           AND status = 'active' ORDER BY id", lock "FOR UPDATE"
);

/// What somebody is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// Who.
    pub id: Id<Account>,
    /// What people call them.
    pub name: String,
    /// Whether it is an agent of the organization.
    pub is_agent: bool,
}
row!(Called { id, name, is_agent });
statement!(
    CALLED: Called =
        lite "SELECT c.id, c.display_name AS name, EXISTS (SELECT 1 FROM agents a WHERE a.org_id = $1 AND a.id = c.id) \
              AS is_agent FROM accounts c WHERE c.id IN (SELECT value FROM json_each($2))",
        pg "SELECT c.id, c.display_name AS name, EXISTS (SELECT 1 FROM agents a WHERE a.org_id = $1 AND a.id = c.id) \
            AS is_agent FROM accounts c WHERE c.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

/// What these are called, as the organization sees them; in any order.
pub async fn called(tx: &mut Tx, org: Id<Organization>, ids: &[Id<Account>]) -> Result<Vec<Called>> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    tx.all(&CALLED, args![org, &json!(ids)]).await
}

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
    tx.change_one(&SET_HOME, values, "an account").await?;
    directory::set_home(tx, account).await
}

/// Changes everything that can change about an account but its home; and where it is listed, how.
pub async fn update(tx: &mut Tx, before: &Account, account: &Account) -> Result<()> {
    tx.wakes.identity = true;
    let values = args![
        &account.email,
        &account.display_name,
        account.gitea_username.as_deref(),
        account.access_level.as_str(),
        account.status.as_str(),
        account.updated_at,
        account.id,
    ];
    tx.change_one(&UPDATE, values, "an account").await?;
    if (&before.display_name, &before.email) == (&account.display_name, &account.email) {
        return directory::set_account(tx, account).await;
    }
    let memberships = members::of_account_locked(tx, account.id).await?;
    directory::rename(tx, account, &memberships).await
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

/// The account of this address, which is lower case.
pub async fn by_email(tx: &mut Tx, email: &str) -> Result<Option<Account>> {
    tx.opt(&BY_EMAIL, args![email]).await
}

/// Who may act for the instance, in the order in which units lock them.
pub async fn instance_admins(tx: &mut Tx) -> Result<Vec<Account>> {
    tx.all(&INSTANCE_ADMINS, args![]).await
}
