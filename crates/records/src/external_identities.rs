//! Who accounts are to providers of logins. The account owns them, whichever organization it acts in.

use domain::Id;
use domain::accounts::Account;
use domain::external_identities::ExternalIdentity;

use crate::{Result, Tx, args, row, statement};

row!(ExternalIdentity { id, account_id, issuer, subject, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO external_identities (id, account_id, issuer, subject, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(
    BY_SUBJECT: ExternalIdentity = "SELECT id, account_id, issuer, subject, created_at, updated_at \
                                    FROM external_identities WHERE issuer = $1 AND subject = $2",
                                   lock "FOR SHARE"
);
statement!(
    OF_ACCOUNT: ExternalIdentity = "SELECT id, account_id, issuer, subject, created_at, updated_at \
                                    FROM external_identities WHERE account_id = $1 ORDER BY created_at, id"
);
statement!(
    GET_LOCKED: ExternalIdentity = "SELECT id, account_id, issuer, subject, created_at, updated_at \
                                    FROM external_identities WHERE account_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(DELETE = "DELETE FROM external_identities WHERE account_id = $1 AND id = $2");

/// Adds a connection.
pub async fn insert(tx: &mut Tx, identity: &ExternalIdentity) -> Result<()> {
    let values = args![
        identity.id,
        identity.account_id,
        &identity.issuer,
        &identity.subject,
        identity.created_at,
        identity.updated_at,
    ];
    tx.exec(&INSERT, values).await.map(drop)
}

/// Whom the provider means; nobody disconnects them until this unit ends.
pub async fn by_subject(tx: &mut Tx, issuer: &str, subject: &str) -> Result<Option<ExternalIdentity>> {
    tx.opt(&BY_SUBJECT, args![issuer, subject]).await
}

/// The account's connections, oldest first.
pub async fn of_account(tx: &mut Tx, account: Id<Account>) -> Result<Vec<ExternalIdentity>> {
    tx.all(&OF_ACCOUNT, args![account]).await
}

/// A connection of the account's, for a unit that is about to end it.
pub async fn get_locked(
    tx: &mut Tx,
    account: Id<Account>,
    id: Id<ExternalIdentity>,
) -> Result<Option<ExternalIdentity>> {
    tx.opt(&GET_LOCKED, args![account, id]).await
}

/// Ends a connection.
pub async fn delete(tx: &mut Tx, identity: &ExternalIdentity) -> Result<()> {
    tx.change_one(&DELETE, args![identity.account_id, identity.id], "an external identity").await
}
