//! Whether anybody is, or ever was, an account: its credentials, and what is left of those that are gone. Keys and
//! passwords stay; logins are forgotten, and whoever disconnects an identity had one.

use domain::accounts::Account;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

struct Any {
    any_row: bool,
}
row!(Any { any_row });

// Over all organizations: a credential anywhere is a credential of the account.
statement!(
    ANY_OF: Any = "SELECT EXISTS (SELECT 1 FROM api_keys WHERE owner_id = $1) \
                   OR EXISTS (SELECT 1 FROM passwords WHERE account_id = $1) \
                   OR EXISTS (SELECT 1 FROM login_sessions WHERE account_id = $1) \
                   OR EXISTS (SELECT 1 FROM external_identities WHERE account_id = $1) \
                   OR EXISTS (SELECT 1 FROM enrolments WHERE account_id = $1) AS any_row"
);
statement!(
    KEEP = "INSERT INTO enrolments (account_id, created_at, updated_at) \
                      SELECT account_id, MIN(created_at), MIN(created_at) FROM login_sessions WHERE expires_at < $1 \
                      GROUP BY account_id ON CONFLICT (account_id) DO NOTHING"
);

/// Whether the account has, or ever had, a credential of any kind.
pub async fn any_of(tx: &mut Tx, account: Id<Account>) -> Result<bool> {
    Ok(tx.one(&ANY_OF, args![account]).await?.any_row)
}

/// Remembers the accounts of logins that expired before this time and are about to be forgotten.
pub async fn keep(tx: &mut Tx, before: Timestamp) -> Result<()> {
    tx.exec(&KEEP, args![before]).await.map(drop)
}
