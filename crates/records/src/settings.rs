//! Settings an organization has changed; the defaults are in `domain`.

use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

/// One changed setting.
pub struct Override {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: serde_json::Value,
    /// When it was changed.
    pub updated_at: Timestamp,
}
row!(Override { name, value, updated_at });

statement!(ALL: Override = "SELECT name, value, updated_at FROM settings WHERE org_id = $1 ORDER BY name");
statement!(
    PUT = "INSERT INTO settings (org_id, name, value, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
           ON CONFLICT (org_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"
);
statement!(RESET = "DELETE FROM settings WHERE org_id = $1 AND name = $2");

/// What the organization has changed.
pub async fn all(tx: &mut Tx, org: Id<Organization>) -> Result<Vec<Override>> {
    tx.all(&ALL, args![org]).await
}

/// Changes a setting; without a value it goes back to the default.
pub async fn set(
    tx: &mut Tx,
    org: Id<Organization>,
    name: &str,
    value: Option<&serde_json::Value>,
    now: Timestamp,
) -> Result<()> {
    tx.wakes.settings = true;
    match value {
        Some(value) => tx.push(&PUT, args![org, name, value, now]).await,
        None => tx.push(&RESET, args![org, name]).await,
    }
}
