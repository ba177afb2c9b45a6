//! The upper half of fencing tokens: one epoch per incarnation of a lock engine.

use domain::Timestamp;

use crate::{Result, Tx, args, row, statement};

struct Epoch {
    epoch: i64,
}
row!(Epoch { epoch });

statement!(
    RAISE: Epoch = "INSERT INTO fence_epochs (engine, epoch, created_at, updated_at) VALUES ($1, $2, $3, $3) \
                    ON CONFLICT (engine) DO UPDATE SET epoch = fence_epochs.epoch + excluded.epoch, \
                    updated_at = excluded.updated_at RETURNING epoch"
);

/// Raises the engine's epoch by `step`; the new one.
pub async fn raise(tx: &mut Tx, engine: &str, step: i64, now: Timestamp) -> Result<i64> {
    Ok(tx.one(&RAISE, args![engine, step, now]).await?.epoch)
}
