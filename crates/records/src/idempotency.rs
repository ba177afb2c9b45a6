//! Answers kept for repeated requests, written in the unit of the change itself.

use domain::Timestamp;
use domain::idempotency::Slot;

use crate::{Result, Tx, args, row, statement};

/// An answer as it was first given.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: i64,
    /// `Location`, if there was one.
    pub location: Option<String>,
    /// The body, without secrets.
    pub body: Vec<u8>,
}

/// What is kept under a key.
pub struct Kept {
    /// SHA-256 of the request's body.
    pub body_hash: [u8; 32],
    /// The answer.
    pub answer: Answer,
}

struct Stored {
    body_hash: [u8; 32],
    status: Option<i64>,
    location: Option<String>,
    body: Option<Vec<u8>>,
}
row!(Stored { body_hash, status, location, body });

impl Stored {
    /// A slot that was taken and not filled keeps nothing.
    fn kept(self) -> Option<Kept> {
        let Self { body_hash, status, location, body } = self;
        let answer = |status| Answer { status, location, body: body.unwrap_or_default() };
        status.map(|status| Kept { body_hash, answer: answer(status) })
    }
}

// The row is taken first and filled at the end of the unit: on PostgreSQL a second server then waits at the first
// statement until this unit has ended, instead of doing the work for nothing.
statement!(
    TAKE = "INSERT INTO idempotency_keys (org_id, account_id, method, path, key, body_hash, created_at, updated_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (org_id, account_id, method, path, key) DO UPDATE SET \
            body_hash = excluded.body_hash, status = NULL, created_at = excluded.created_at, \
            updated_at = excluded.updated_at WHERE idempotency_keys.created_at < $8 OR idempotency_keys.status IS NULL"
);
statement!(
    KEPT: Stored = "SELECT body_hash, status, location, body FROM idempotency_keys WHERE org_id = $1 AND \
                    account_id = $2 AND method = $3 AND path = $4 AND key = $5"
);
statement!(
    FIND: Stored = "SELECT body_hash, status, location, body FROM idempotency_keys WHERE org_id = $1 AND \
                    account_id = $2 AND method = $3 AND path = $4 AND key = $5 AND created_at >= $6"
);
statement!(
    FILL = "UPDATE idempotency_keys SET status = $1, location = $2, body = $3, updated_at = $4 WHERE org_id = $5 AND \
            account_id = $6 AND method = $7 AND path = $8 AND key = $9"
);
statement!(FORGET = "DELETE FROM idempotency_keys WHERE created_at < $1");

/// Takes the slot for this unit, or gives what an earlier one (not older than `oldest`) left there.
pub async fn take(
    tx: &mut Tx,
    slot: &Slot,
    body_hash: &[u8; 32],
    oldest: Timestamp,
    now: Timestamp,
) -> Result<Option<Kept>> {
    let taken = tx
        .exec(
            &TAKE,
            args![
                slot.org_id,
                slot.account_id,
                &slot.method,
                &slot.path,
                slot.key.as_str(),
                body_hash,
                now,
                oldest
            ],
        )
        .await?;
    if taken == 1 {
        return Ok(None);
    }
    let values = args![slot.org_id, slot.account_id, &slot.method, &slot.path, slot.key.as_str()];
    Ok(tx.one(&KEPT, values).await?.kept())
}

/// What an earlier unit (not older than `oldest`) left in the slot.
pub async fn find(tx: &mut Tx, slot: &Slot, oldest: Timestamp) -> Result<Option<Kept>> {
    let values = args![slot.org_id, slot.account_id, &slot.method, &slot.path, slot.key.as_str(), oldest];
    Ok(tx.opt(&FIND, values).await?.and_then(Stored::kept))
}

/// Keeps the answer in the slot the unit has taken.
pub async fn fill(tx: &mut Tx, slot: &Slot, answer: &Answer, now: Timestamp) -> Result<()> {
    tx.push(
        &FILL,
        args![
            answer.status,
            answer.location.as_deref(),
            &answer.body,
            now,
            slot.org_id,
            slot.account_id,
            &slot.method,
            &slot.path,
            slot.key.as_str(),
        ],
    )
    .await
}

/// Forgets answers from before `cutoff`.
pub async fn forget(tx: &mut Tx, cutoff: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![cutoff]).await
}
