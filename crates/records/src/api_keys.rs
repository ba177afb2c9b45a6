//! API keys: hashed, shown once, never deleted while they matter.

use domain::accounts::Account;
use domain::api_keys::ApiKey;
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

row!(ApiKey {
    id,
    org_id,
    owner_id,
    minted_by,
    name,
    prefix,
    scopes,
    enabled,
    revoked_at,
    expires_at,
    rotated_to_id,
    last_used_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO api_keys (id, org_id, owner_id, minted_by, name, prefix, key_hash, scopes, enabled, \
              expires_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);
statement!(
    BY_HASH: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, expires_at, \
                       rotated_to_id, last_used_at, created_at, updated_at FROM api_keys WHERE key_hash = $1"
);
statement!(
    GET: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, expires_at, \
                   rotated_to_id, last_used_at, created_at, updated_at FROM api_keys WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_SHARED: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, \
                          expires_at, rotated_to_id, last_used_at, created_at, updated_at FROM api_keys \
                          WHERE org_id = $1 AND id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, \
                          expires_at, rotated_to_id, last_used_at, created_at, updated_at FROM api_keys \
                          WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    LIST: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, expires_at, \
                    rotated_to_id, last_used_at, created_at, updated_at FROM api_keys WHERE org_id = $1"
                   and ["(owner_id = ? OR owner_id IN (SELECT id FROM agents WHERE org_id = ? AND owner_id = ?))",
                        "(created_at, id) < (?, ?)"]
                   then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    REVOKE = "UPDATE api_keys SET enabled = false, revoked_at = $1, rotated_to_id = $2, updated_at = $1 \
              WHERE org_id = $3 AND id = $4 AND revoked_at IS NULL"
);
statement!(
    REVOKE_ALL = "UPDATE api_keys SET enabled = false, revoked_at = $1, updated_at = $1 \
                  WHERE org_id = $2 AND owner_id = $3 AND revoked_at IS NULL"
);
statement!(
    UNREVOKED_LOCKED: ApiKey = "SELECT id, org_id, owner_id, minted_by, name, prefix, scopes, enabled, revoked_at, \
                        expires_at, rotated_to_id, last_used_at, created_at, updated_at FROM api_keys \
                        WHERE org_id = $1 AND owner_id = $2 AND revoked_at IS NULL ORDER BY id", lock "FOR UPDATE"
);
statement!(TOUCH = "UPDATE api_keys SET last_used_at = $1, updated_at = $1 WHERE org_id = $2 AND id = $3");

/// A place in the list of keys, newest first.
pub type After = (Timestamp, Id<ApiKey>);

/// Adds a key under the hash of its secret.
pub async fn insert(tx: &mut Tx, key: &ApiKey, hash: &[u8; 32]) -> Result<()> {
    let scopes = key.scopes.as_ref().map(|scopes| serde_json::json!(scopes));
    tx.push(
        &INSERT,
        args![
            key.id,
            key.org_id,
            key.owner_id,
            key.minted_by,
            &key.name,
            &key.prefix,
            hash,
            scopes.as_ref(),
            key.enabled,
            key.expires_at,
            key.created_at,
            key.updated_at,
        ],
    )
    .await
}

/// The key a caller presents. The one lookup without an organization: the key is what tells it.
pub async fn by_hash(tx: &mut Tx, hash: &[u8; 32]) -> Result<Option<ApiKey>> {
    tx.opt(&BY_HASH, args![hash]).await
}

/// The key.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<ApiKey>) -> Result<Option<ApiKey>> {
    tx.opt(&GET, args![org, id]).await
}

/// The key, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, org: Id<Organization>, id: Id<ApiKey>) -> Result<Option<ApiKey>> {
    tx.opt(&GET_SHARED, args![org, id]).await
}

/// The key, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<ApiKey>) -> Result<Option<ApiKey>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// Keys of the organization (of one owner and the owner's agents), newest first.
pub async fn list(
    db: &Db,
    org: Id<Organization>,
    owner: Option<Id<Account>>,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<ApiKey>> {
    let mut search = LIST.with(args![org]);
    if let Some(owner) = owner {
        let clause =
            "(owner_id = ? OR owner_id IN (SELECT id FROM agents WHERE org_id = ? AND owner_id = ?))";
        LIST.and(&mut search, clause, args![owner, org, owner]);
    }
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// Ends a key, naming its successor if it has one. False if it had already ended.
pub async fn revoke(
    tx: &mut Tx,
    key: &ApiKey,
    successor: Option<Id<ApiKey>>,
    now: Timestamp,
) -> Result<bool> {
    tx.wakes.identity = true;
    Ok(tx.exec(&REVOKE, args![now, successor, key.org_id, key.id]).await? == 1)
}

/// The account's keys that were not revoked, for a unit that is about to end them.
pub async fn unrevoked_locked(tx: &mut Tx, org: Id<Organization>, owner: Id<Account>) -> Result<Vec<ApiKey>> {
    tx.all(&UNREVOKED_LOCKED, args![org, owner]).await
}

/// Notes that the key was used.
pub async fn touch(tx: &mut Tx, org: Id<Organization>, id: Id<ApiKey>, now: Timestamp) -> Result<()> {
    tx.exec(&TOUCH, args![now, org, id]).await.map(drop)
}

/// Ends all keys of an account in the organization; how many there were.
pub async fn revoke_all(
    tx: &mut Tx,
    org: Id<Organization>,
    owner: Id<Account>,
    now: Timestamp,
) -> Result<u64> {
    tx.wakes.identity = true;
    tx.exec(&REVOKE_ALL, args![now, org, owner]).await
}
