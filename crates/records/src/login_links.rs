//! One-time links: hashed, marked when used, forgotten a while after they have expired.

use domain::Timestamp;
use domain::login_links::LoginLink;

use crate::{Result, Tx, args, row, statement};

row!(LoginLink { id, account_id, expires_at, used_at, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO login_links (id, account_id, token_hash, expires_at, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(
    BY_HASH_LOCKED: LoginLink = "SELECT id, account_id, expires_at, used_at, created_at, updated_at FROM login_links \
                                 WHERE token_hash = $1", lock "FOR UPDATE"
);
statement!(USE = "UPDATE login_links SET used_at = $1, updated_at = $1 WHERE id = $2 AND used_at IS NULL");
statement!(FORGET = "DELETE FROM login_links WHERE expires_at < $1");

/// Adds a link under the hash of its token.
pub async fn insert(tx: &mut Tx, link: &LoginLink, hash: &[u8; 32]) -> Result<()> {
    let values = args![link.id, link.account_id, hash, link.expires_at, link.created_at, link.updated_at];
    tx.push(&INSERT, values).await
}

/// The link somebody presents, for a unit that is about to use it.
pub async fn by_hash_locked(tx: &mut Tx, hash: &[u8; 32]) -> Result<Option<LoginLink>> {
    tx.opt(&BY_HASH_LOCKED, args![hash]).await
}

/// Marks a link as used; only one unit can.
pub async fn mark_used(tx: &mut Tx, link: &LoginLink, now: Timestamp) -> Result<()> {
    tx.change_one(&USE, args![now, link.id], "a login link").await
}

/// Forgets links that expired before this time; the audit log remembers them.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![before]).await
}
