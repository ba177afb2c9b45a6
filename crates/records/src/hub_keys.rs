//! Fingerprints of the hub's own keys, so that a server with another key is refused.

use domain::Timestamp;

use crate::{Result, Tx, args, row, statement};

/// A key every server of this database must hold.
pub struct HubKey {
    /// `secrets` or `seal`.
    pub purpose: String,
    /// What its ciphertexts or signatures carry.
    pub key_id: String,
    /// The public half of a signing key.
    pub public_key: Option<Vec<u8>>,
}
row!(HubKey { purpose, key_id, public_key });

statement!(
    ALL: HubKey = "SELECT purpose, key_id, public_key FROM hub_keys ORDER BY purpose, created_at, key_id"
);
statement!(
    INSERT = "INSERT INTO hub_keys (purpose, key_id, public_key, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
              ON CONFLICT (purpose, key_id) DO NOTHING"
);

/// Every key, oldest first within a purpose.
pub async fn all(tx: &mut Tx) -> Result<Vec<HubKey>> {
    tx.all(&ALL, args![]).await
}

/// Notes a key.
pub async fn insert(tx: &mut Tx, key: &HubKey, now: Timestamp) -> Result<()> {
    tx.push(&INSERT, args![&key.purpose, &key.key_id, key.public_key.as_ref(), now]).await
}
