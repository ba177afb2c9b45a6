//! Logins on their way to a provider: found by the hash of what comes back, deleted when it does.

use domain::Timestamp;
use domain::oidc_flows::OidcFlow;

use crate::{Result, Tx, args, row, statement};

row!(OidcFlow {
    id,
    browser_hash,
    nonce,
    verifier,
    next,
    link_account_id,
    expires_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO oidc_flows (id, state_hash, browser_hash, nonce, verifier, next, link_account_id, \
              expires_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);
statement!(
    BY_STATE_LOCKED: OidcFlow = "SELECT id, browser_hash, nonce, verifier, next, link_account_id, expires_at, \
                                 created_at, updated_at FROM oidc_flows WHERE state_hash = $1", lock "FOR UPDATE"
);
statement!(DELETE = "DELETE FROM oidc_flows WHERE id = $1");
statement!(FORGET = "DELETE FROM oidc_flows WHERE expires_at < $1");

/// Adds a flow under the hash of its state.
pub async fn insert(tx: &mut Tx, flow: &OidcFlow, state_hash: &[u8; 32]) -> Result<()> {
    let values = args![
        flow.id,
        state_hash,
        &flow.browser_hash,
        &flow.nonce,
        &flow.verifier,
        flow.next.as_deref(),
        flow.link_account_id,
        flow.expires_at,
        flow.created_at,
        flow.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The flow somebody comes back with, for a unit that is about to end it.
pub async fn by_state_locked(tx: &mut Tx, state_hash: &[u8; 32]) -> Result<Option<OidcFlow>> {
    tx.opt(&BY_STATE_LOCKED, args![state_hash]).await
}

/// Ends a flow; only one unit can.
pub async fn delete(tx: &mut Tx, flow: &OidcFlow) -> Result<()> {
    tx.change_one(&DELETE, args![flow.id], "a login on its way").await
}

/// Forgets those that expired before this time.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![before]).await
}
