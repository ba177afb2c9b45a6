//! Webhooks: endpoints, and how far the log was turned into deliveries.

use domain::organizations::Organization;
use domain::webhooks::{Format, Webhook};
use domain::{Id, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(Format);
row!(Webhook {
    id,
    org_id,
    url,
    types,
    format,
    active,
    secret,
    previous_secret,
    previous_until,
    after_seq,
    version,
    created_by,
    created_at,
    updated_at
});

struct Count {
    count: i64,
}
row!(Count { count });

struct Progress {
    seq: i64,
}
row!(Progress { seq });

statement!(
    GET: Webhook = "SELECT id, org_id, url, types, format, active, secret, previous_secret, previous_until, after_seq, \
                    version, created_by, created_at, updated_at FROM webhooks WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_LOCKED: Webhook = "SELECT id, org_id, url, types, format, active, secret, previous_secret, previous_until, \
                           after_seq, version, created_by, created_at, updated_at FROM webhooks \
                           WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    BY_ID: Webhook = "SELECT id, org_id, url, types, format, active, secret, previous_secret, previous_until, after_seq, \
                      version, created_by, created_at, updated_at FROM webhooks WHERE id = $1"
);
statement!(
    ACTIVE: Webhook = "SELECT id, org_id, url, types, format, active, secret, previous_secret, previous_until, \
                       after_seq, version, created_by, created_at, updated_at FROM webhooks WHERE active = true \
                       ORDER BY id"
);
statement!(
    LIST: Webhook = "SELECT id, org_id, url, types, format, active, secret, previous_secret, previous_until, after_seq, \
                     version, created_by, created_at, updated_at FROM webhooks WHERE org_id = $1"
                    and ["(created_at, id) < (?, ?)"]
                    then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    INSERT = "INSERT INTO webhooks (id, org_id, url, types, format, active, secret, previous_secret, previous_until, \
              after_seq, version, created_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
              $11, $12, $13, $14)"
);
statement!(
    UPDATE = "UPDATE webhooks SET url = $1, types = $2, format = $3, active = $4, secret = $5, previous_secret = $6, \
              previous_until = $7, after_seq = $8, version = $9, updated_at = $10 WHERE org_id = $11 AND id = $12 AND \
              version = $9 - 1"
);
statement!(DELETE = "DELETE FROM webhooks WHERE org_id = $1 AND id = $2");
statement!(COUNT: Count = "SELECT count(*) AS count FROM webhooks WHERE org_id = $1");
statement!(PROGRESS: Progress = "SELECT seq FROM webhook_progress WHERE id = 1");
statement!(
    BEGIN_PROGRESS = "INSERT INTO webhook_progress (id, seq, created_at, updated_at) VALUES (1, $1, $2, $2) \
                      ON CONFLICT (id) DO NOTHING"
);
statement!(PROGRESS_TO = "UPDATE webhook_progress SET seq = $1, updated_at = $2 WHERE id = 1 AND seq = $3");

/// A place in a list of endpoints, newest first.
pub type After = (Timestamp, Uuid);

/// The endpoint.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Webhook>) -> Result<Option<Webhook>> {
    tx.opt(&GET, args![org, id]).await
}

/// The endpoint, which nobody else changes until the unit ends.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Webhook>) -> Result<Option<Webhook>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// The endpoint of a job, which knows nothing but its id.
pub async fn by_id(db: &Db, id: Id<Webhook>) -> Result<Option<Webhook>> {
    db.opt(&BY_ID, args![id]).await
}

/// Every endpoint to which anything is sent.
pub async fn active(db: &Db) -> Result<Vec<Webhook>> {
    db.all(&ACTIVE, args![]).await
}

/// Endpoints of the organization, newest first.
pub async fn list(db: &Db, org: Id<Organization>, after: Option<After>, limit: i64) -> Result<Vec<Webhook>> {
    let mut search = LIST.with(args![org]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// How many the organization has.
pub async fn count(tx: &mut Tx, org: Id<Organization>) -> Result<i64> {
    Ok(tx.one(&COUNT, args![org]).await?.count)
}

/// Adds an endpoint.
pub async fn insert(tx: &mut Tx, webhook: &Webhook) -> Result<()> {
    let values = args![
        webhook.id,
        webhook.org_id,
        &webhook.url,
        &json!(webhook.types),
        webhook.format.as_str(),
        webhook.active,
        &webhook.secret,
        webhook.previous_secret.as_ref(),
        webhook.previous_until,
        webhook.after_seq,
        webhook.version,
        webhook.created_by,
        webhook.created_at,
        webhook.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// Writes the next version of an endpoint.
pub async fn update(tx: &mut Tx, webhook: &Webhook) -> Result<()> {
    let values = args![
        &webhook.url,
        &json!(webhook.types),
        webhook.format.as_str(),
        webhook.active,
        &webhook.secret,
        webhook.previous_secret.as_ref(),
        webhook.previous_until,
        webhook.after_seq,
        webhook.version,
        webhook.updated_at,
        webhook.org_id,
        webhook.id,
    ];
    tx.change_one(&UPDATE, values, "a webhook").await
}

/// Deletes an endpoint with all that was sent there.
pub async fn delete(tx: &mut Tx, org: Id<Organization>, id: Id<Webhook>) -> Result<()> {
    tx.exec(&DELETE, args![org, id]).await.map(drop)
}

/// How far the log was turned into deliveries; none before the first time.
pub async fn progress(db: &Db) -> Result<Option<i64>> {
    Ok(db.opt(&PROGRESS, args![]).await?.map(|progress| progress.seq))
}

/// Begins here, unless somebody has begun.
pub async fn begin_progress(tx: &mut Tx, seq: i64, now: Timestamp) -> Result<()> {
    tx.push(&BEGIN_PROGRESS, args![seq, now]).await
}

/// Goes on from one number to another. False if another server has done so.
pub async fn move_progress(tx: &mut Tx, from: i64, to: i64, now: Timestamp) -> Result<bool> {
    Ok(tx.exec(&PROGRESS_TO, args![to, now, from]).await? == 1)
}
