//! What is sent to webhooks, and what came of it.

use domain::organizations::Organization;
use domain::webhooks::{Delivery, DeliveryState, Webhook};
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(DeliveryState);
row!(Delivery {
    id,
    org_id,
    webhook_id,
    event_seq,
    event_type,
    body,
    state,
    attempts,
    next_attempt_at,
    first_attempt_at,
    last_attempt_at,
    took_ms,
    request_headers,
    response_status,
    response_body,
    error,
    created_at,
    updated_at
});

struct Next {
    next_at: Option<Timestamp>,
}
row!(Next { next_at });

statement!(
    INSERT = "INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_seq, event_type, body, state, attempts, \
              next_attempt_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
              ON CONFLICT DO NOTHING"
);
statement!(
    GET: Delivery = "SELECT id, org_id, webhook_id, event_seq, event_type, body, state, attempts, next_attempt_at, \
                     first_attempt_at, last_attempt_at, took_ms, request_headers, response_status, response_body, error, \
                     created_at, updated_at FROM webhook_deliveries WHERE NULLIF(org_id, NULL) = $1 AND webhook_id = $2 \
                     AND id = $3"
);
statement!(
    GET_LOCKED: Delivery = "SELECT id, org_id, webhook_id, event_seq, event_type, body, state, attempts, \
                            next_attempt_at, first_attempt_at, last_attempt_at, took_ms, request_headers, \
                            response_status, response_body, error, created_at, updated_at FROM webhook_deliveries \
                            WHERE NULLIF(org_id, NULL) = $1 AND webhook_id = $2 AND id = $3", lock "FOR UPDATE"
);
statement!(
    LIST: Delivery = "SELECT id, org_id, webhook_id, event_seq, event_type, body, state, attempts, next_attempt_at, \
                      first_attempt_at, last_attempt_at, took_ms, request_headers, response_status, response_body, \
                      error, created_at, updated_at FROM webhook_deliveries WHERE NULLIF(org_id, NULL) = $1 AND \
                      webhook_id = $2"
                     and ["state = ?", "(created_at, id) < (?, ?)"]
                     then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    DUE: Delivery = "SELECT id, org_id, webhook_id, event_seq, event_type, body, state, attempts, next_attempt_at, \
                     first_attempt_at, last_attempt_at, took_ms, request_headers, response_status, response_body, error, \
                     created_at, updated_at FROM webhook_deliveries WHERE NULLIF(org_id, NULL) = $1 AND webhook_id = $2 \
                     AND state = 'pending' AND next_attempt_at <= $3 ORDER BY next_attempt_at, id LIMIT $4"
);
statement!(
    NEXT: Next = "SELECT MIN(next_attempt_at) AS next_at FROM webhook_deliveries WHERE NULLIF(org_id, NULL) = $1 AND \
                  webhook_id = $2 AND state = 'pending'"
);
statement!(
    UPDATE = "UPDATE webhook_deliveries SET state = $1, attempts = $2, next_attempt_at = $3, first_attempt_at = $4, \
              last_attempt_at = $5, took_ms = $6, request_headers = $7, response_status = $8, response_body = $9, \
              error = $10, updated_at = $11 WHERE NULLIF(org_id, NULL) = $12 AND id = $13 AND updated_at = $14"
);
statement!(
    FORGET = "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE state <> 'pending' \
              AND updated_at < $1 ORDER BY updated_at, id LIMIT $2)"
);

/// A place in a list of deliveries, newest first.
pub type After = (Timestamp, Uuid);

/// Whose deliveries.
pub type Of = (Id<Organization>, Id<Webhook>);

/// Puts one in line; the same event twice is one delivery.
pub async fn insert(tx: &mut Tx, delivery: &Delivery) -> Result<()> {
    let values = args![
        delivery.id,
        delivery.org_id,
        delivery.webhook_id,
        delivery.event_seq,
        &delivery.event_type,
        &delivery.body,
        delivery.state.as_str(),
        delivery.attempts,
        delivery.next_attempt_at,
        delivery.created_at,
        delivery.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The delivery.
pub async fn get(tx: &mut Tx, (org, webhook): Of, id: Id<Delivery>) -> Result<Option<Delivery>> {
    tx.opt(&GET, args![org, webhook, id]).await
}

/// The delivery, which nobody else changes until the unit ends.
pub async fn get_locked(tx: &mut Tx, (org, webhook): Of, id: Id<Delivery>) -> Result<Option<Delivery>> {
    tx.opt(&GET_LOCKED, args![org, webhook, id]).await
}

/// Deliveries to an endpoint, newest first.
pub async fn list(
    db: &Db,
    (org, webhook): Of,
    state: Option<DeliveryState>,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let mut search = LIST.with(args![org, webhook]);
    if let Some(state) = state {
        LIST.and(&mut search, "state = ?", args![state.as_str()]);
    }
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// What is to be sent to an endpoint by now, the longest due first.
pub async fn due(db: &Db, (org, webhook): Of, now: Timestamp, limit: i64) -> Result<Vec<Delivery>> {
    db.all(&DUE, args![org, webhook, now, limit]).await
}

/// When the next one is due.
pub async fn next_at(db: &Db, (org, webhook): Of) -> Result<Option<Timestamp>> {
    Ok(db.opt(&NEXT, args![org, webhook]).await?.and_then(|next| next.next_at))
}

/// Writes what became of one, unless somebody has changed it since it was read.
pub async fn update(tx: &mut Tx, before: &Delivery, after: &Delivery) -> Result<bool> {
    let values = args![
        after.state.as_str(),
        after.attempts,
        after.next_attempt_at,
        after.first_attempt_at,
        after.last_attempt_at,
        after.took_ms,
        after.request_headers.as_ref(),
        after.response_status,
        after.response_body.as_deref(),
        after.error.as_deref(),
        after.updated_at,
        after.org_id,
        after.id,
        before.updated_at,
    ];
    Ok(tx.exec(&UPDATE, values).await? == 1)
}

/// Deletes a bounded number of those that were over before `cutoff`. How many.
pub async fn forget(tx: &mut Tx, cutoff: Timestamp, limit: i64) -> Result<u64> {
    tx.exec(&FORGET, args![cutoff, limit]).await
}
