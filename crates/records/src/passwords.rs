//! Passwords: one for each account, hashed.

use domain::accounts::Account;
use domain::passwords::Password;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

row!(Password { account_id, hash, set_by, created_at, updated_at });

statement!(
    GET: Password = "SELECT account_id, hash, set_by, created_at, updated_at FROM passwords WHERE account_id = $1"
);
statement!(
    GET_SHARED: Password = "SELECT account_id, hash, set_by, created_at, updated_at FROM passwords \
                            WHERE account_id = $1", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: Password = "SELECT account_id, hash, set_by, created_at, updated_at FROM passwords \
                            WHERE account_id = $1", lock "FOR UPDATE"
);
statement!(
    SET = "INSERT INTO passwords (account_id, hash, set_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
           ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash, set_by = excluded.set_by, \
           updated_at = excluded.updated_at"
);
statement!(
    INSERT = "INSERT INTO passwords (account_id, hash, set_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)"
);

/// The account's password, if it has one.
pub async fn get(tx: &mut Tx, account: Id<Account>) -> Result<Option<Password>> {
    tx.opt(&GET, args![account]).await
}

/// The account's password, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, account: Id<Account>) -> Result<Option<Password>> {
    tx.opt(&GET_SHARED, args![account]).await
}

/// The account's password, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, account: Id<Account>) -> Result<Option<Password>> {
    tx.opt(&GET_LOCKED, args![account]).await
}

/// Sets the account's password, whether it had one or not.
pub async fn set(
    tx: &mut Tx,
    account: Id<Account>,
    hash: &str,
    set_by: Id<Account>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&SET, args![account, hash, set_by, now]).await
}

/// Gives the account its first password; one that has a password keeps it, and the unit fails.
pub async fn insert(
    tx: &mut Tx,
    account: Id<Account>,
    hash: &str,
    set_by: Id<Account>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&INSERT, args![account, hash, set_by, now]).await
}
