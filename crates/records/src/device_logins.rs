//! Programs that wait for a login: found by the hash of their secret, or by the code a person types.

use domain::accounts::Account;
use domain::device_logins::{DeviceLogin, DeviceStatus, Granted};
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement, text_column};

text_column!(DeviceStatus);
row!(DeviceLogin {
    id,
    user_code,
    status,
    account_id,
    org_id,
    minted_by,
    ip,
    user_agent,
    polled_at,
    expires_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO device_logins (id, device_hash, user_code, status, ip, user_agent, expires_at, created_at, \
              updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
);
statement!(
    BY_HASH_LOCKED: DeviceLogin = "SELECT id, user_code, status, account_id, org_id, minted_by, ip, user_agent, \
                                   polled_at, expires_at, created_at, updated_at FROM device_logins \
                                   WHERE device_hash = $1", lock "FOR UPDATE"
);
statement!(
    BY_CODE: DeviceLogin = "SELECT id, user_code, status, account_id, org_id, minted_by, ip, user_agent, polled_at, \
                            expires_at, created_at, updated_at FROM device_logins WHERE user_code = $1"
);
statement!(
    BY_CODE_LOCKED: DeviceLogin = "SELECT id, user_code, status, account_id, org_id, minted_by, ip, user_agent, \
                                   polled_at, expires_at, created_at, updated_at FROM device_logins \
                                   WHERE user_code = $1", lock "FOR UPDATE"
);
statement!(
    GRANT = "UPDATE device_logins SET status = 'approved', account_id = $1, org_id = $2, minted_by = $3, \
             updated_at = $4 WHERE id = $5 AND status = 'pending'"
);
statement!(
    DENY = "UPDATE device_logins SET status = 'denied', account_id = $1, updated_at = $2 WHERE id = $3 \
            AND status = 'pending'"
);
statement!(
    VOID = "UPDATE device_logins SET status = 'denied', updated_at = $1 WHERE account_id = $2 \
            AND status = 'approved'"
);
statement!(POLLED = "UPDATE device_logins SET polled_at = $1, updated_at = $1 WHERE id = $2");
statement!(
    USE = "UPDATE device_logins SET status = 'used', updated_at = $1 WHERE id = $2 AND status = 'approved'"
);
statement!(FORGET = "DELETE FROM device_logins WHERE expires_at < $1");

/// Adds a program that waits, under the hash of its secret.
pub async fn insert(tx: &mut Tx, device: &DeviceLogin, hash: &[u8; 32]) -> Result<()> {
    tx.push(
        &INSERT,
        args![
            device.id,
            hash,
            &device.user_code,
            device.status.as_str(),
            device.ip.as_deref(),
            device.user_agent.as_deref(),
            device.expires_at,
            device.created_at,
            device.updated_at,
        ],
    )
    .await
}

/// The program that asks for its login, for a unit that answers it.
pub async fn by_hash_locked(tx: &mut Tx, hash: &[u8; 32]) -> Result<Option<DeviceLogin>> {
    tx.opt(&BY_HASH_LOCKED, args![hash]).await
}

/// The program a person means.
pub async fn by_code(tx: &mut Tx, code: &str) -> Result<Option<DeviceLogin>> {
    tx.opt(&BY_CODE, args![code]).await
}

/// The program a person means, for a unit that answers it.
pub async fn by_code_locked(tx: &mut Tx, code: &str) -> Result<Option<DeviceLogin>> {
    tx.opt(&BY_CODE_LOCKED, args![code]).await
}

/// Grants the login.
pub async fn grant(tx: &mut Tx, device: &DeviceLogin, granted: Granted, now: Timestamp) -> Result<()> {
    let values = args![granted.account, granted.org, granted.minted_by, now, device.id];
    tx.change_one(&GRANT, values, "a device login").await
}

/// Denies the login; by whom.
pub async fn deny(tx: &mut Tx, device: &DeviceLogin, by: Id<Account>, now: Timestamp) -> Result<()> {
    tx.change_one(&DENY, args![by, now, device.id], "a device login").await
}

/// Takes back what the account granted and no program has come for yet.
pub async fn void(tx: &mut Tx, account: Id<Account>, now: Timestamp) -> Result<u64> {
    tx.exec(&VOID, args![now, account]).await
}

/// Notes that the program asked.
pub async fn polled(tx: &mut Tx, device: &DeviceLogin, now: Timestamp) -> Result<()> {
    tx.push(&POLLED, args![now, device.id]).await
}

/// Marks the grant as used; only one unit can.
pub async fn mark_used(tx: &mut Tx, device: &DeviceLogin, now: Timestamp) -> Result<()> {
    tx.change_one(&USE, args![now, device.id], "a device login").await
}

/// Forgets those that expired before this time; the audit log remembers what came of them.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![before]).await
}
