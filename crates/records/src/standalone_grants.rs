//! Standalone grants: what became of each, which tokens were used, and how many there are.

use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::standalone_grants::{GrantCounts, GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};

use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(GrantStatus, StoreKind);
row!(StandaloneGrant {
    id,
    org_id,
    store,
    ir_hash,
    token_hash,
    status,
    expires_at,
    consumed_at,
    created_by,
    consumed_by,
    acknowledged_at,
    acknowledged_by,
    created_at,
    updated_at
});

statement!(
    ADD = "INSERT INTO standalone_grants (id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
           created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
);
statement!(
    CHANGE = "UPDATE standalone_grants SET status = $1, consumed_at = $2, consumed_by = $3, acknowledged_at = $4, \
              acknowledged_by = $5, updated_at = $6 WHERE NULLIF(org_id, NULL) = $7 AND id = $8"
);
statement!(
    GET: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                            created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at \
                            FROM standalone_grants WHERE NULLIF(org_id, NULL) = $1 AND id = $2"
);
statement!(
    GET_LOCKED: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                                   created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, \
                                   updated_at FROM standalone_grants WHERE NULLIF(org_id, NULL) = $1 AND id = $2",
                                  lock "FOR UPDATE"
);
statement!(
    BY_TOKEN: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                                 created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at \
                                 FROM standalone_grants WHERE NULLIF(org_id, NULL) = $1 AND token_hash = $2"
);
statement!(
    BY_TOKEN_LOCKED: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, \
                                        consumed_at, created_by, consumed_by, acknowledged_at, acknowledged_by, \
                                        created_at, updated_at FROM standalone_grants \
                                        WHERE NULLIF(org_id, NULL) = $1 AND token_hash = $2", lock "FOR UPDATE"
);
statement!(
    PENDING: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                                created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at \
                                FROM standalone_grants WHERE org_id = $1 AND status = 'pending' AND \
                                NULLIF(expires_at, NULL) > $2 ORDER BY created_at DESC, id DESC LIMIT $3"
);
statement!(
    LIST: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                             created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at \
                             FROM standalone_grants WHERE org_id = $1 AND expires_at > $2"
                            and ["status = ?"]
                            then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    OVERDUE: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, consumed_at, \
                                created_by, consumed_by, acknowledged_at, acknowledged_by, created_at, updated_at \
                                FROM standalone_grants WHERE org_id = $1 AND status = 'pending' AND \
                                expires_at <= $2 ORDER BY expires_at, id LIMIT $3"
);
statement!(
    OF_OTHER_STORES: StandaloneGrant = "SELECT id, org_id, store, ir_hash, token_hash, status, expires_at, \
                                        consumed_at, created_by, consumed_by, acknowledged_at, acknowledged_by, \
                                        created_at, updated_at FROM standalone_grants WHERE org_id = $1 AND \
                                        status = 'pending' AND (store <> $2 OR store = 'memory') AND \
                                        created_at < $3 ORDER BY created_at DESC, id DESC LIMIT $4"
);
statement!(
    FORGET: Gone = "DELETE FROM standalone_grants WHERE id IN (SELECT id FROM standalone_grants WHERE org_id = $1 \
                    AND status <> 'pending' AND expires_at <= $2 ORDER BY expires_at, id LIMIT $3) RETURNING id"
);
statement!(REMOVE = "DELETE FROM standalone_grants WHERE NULLIF(org_id, NULL) = $1 AND id = $2");
statement!(
    USE_TOKEN = "INSERT INTO consumed_tokens (token_hash, org_id, grant_id, created_at, updated_at) \
                        VALUES ($1, $2, $3, $4, $4)"
);
statement!(FORGET_TOKEN = "DELETE FROM consumed_tokens WHERE org_id = $1 AND grant_id = $2");
statement!(
    COUNT = "INSERT INTO standalone_grant_counts (org_id, shard, pending, consumed, expired, created_at, updated_at) \
             VALUES ($1, $2, $3, 0, 0, $4, $4) ON CONFLICT (org_id, shard) DO UPDATE SET \
             pending = standalone_grant_counts.pending + excluded.pending, updated_at = excluded.updated_at"
);
statement!(
    RECOUNT = "UPDATE standalone_grant_counts SET pending = pending + $1, consumed = consumed + $2, \
               expired = expired + $3, updated_at = $4 WHERE org_id = $5 AND shard = $6"
);
statement!(
    SUMS: Sums = lite "SELECT CAST(SUM(pending) AS INTEGER) AS pending, CAST(SUM(consumed) AS INTEGER) AS consumed, \
                       CAST(SUM(expired) AS INTEGER) AS expired FROM standalone_grant_counts WHERE org_id = $1",
                 pg "SELECT CAST(SUM(pending) AS BIGINT) AS pending, CAST(SUM(consumed) AS BIGINT) AS consumed, \
                     CAST(SUM(expired) AS BIGINT) AS expired FROM standalone_grant_counts WHERE org_id = $1"
);
statement!(
    COUNT_OVERDUE: Overdue = "SELECT COUNT(*) AS overdue FROM standalone_grants WHERE org_id = $1 AND \
                              status = 'pending' AND expires_at <= $2"
);

struct Gone {
    id: Id<StandaloneGrant>,
}
row!(Gone { id });

struct Sums {
    pending: Option<i64>,
    consumed: Option<i64>,
    expired: Option<i64>,
}
row!(Sums { pending, consumed, expired });

struct Overdue {
    overdue: i64,
}
row!(Overdue { overdue });

/// Writes a new grant.
pub async fn add(tx: &mut Tx, grant: &StandaloneGrant) -> Result<()> {
    let values = args![
        grant.id,
        grant.org_id,
        grant.store.as_str(),
        &grant.ir_hash,
        grant.token_hash,
        grant.status.as_str(),
        grant.expires_at,
        grant.consumed_at,
        &grant.created_by,
        grant.consumed_by.as_deref(),
        grant.acknowledged_at,
        grant.acknowledged_by.as_deref(),
        grant.created_at,
        grant.updated_at,
    ];
    tx.push(&ADD, values).await
}

/// Writes what became of a grant. Whoever does has its row locked.
pub async fn change(tx: &mut Tx, grant: &StandaloneGrant) -> Result<()> {
    let values = args![
        grant.status.as_str(),
        grant.consumed_at,
        grant.consumed_by.as_deref(),
        grant.acknowledged_at,
        grant.acknowledged_by.as_deref(),
        grant.updated_at,
        grant.org_id,
        grant.id,
    ];
    tx.change_one(&CHANGE, values, "a standalone grant").await
}

/// The grant.
pub async fn get(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<StandaloneGrant>,
) -> Result<Option<StandaloneGrant>> {
    tx.opt(&GET, args![org, id]).await
}

/// The grant, for a unit that is about to change it.
pub async fn get_locked(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<StandaloneGrant>,
) -> Result<Option<StandaloneGrant>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// The grant of a token.
pub async fn by_token(
    tx: &mut Tx,
    org: Id<Organization>,
    token_hash: Sha256Hash,
) -> Result<Option<StandaloneGrant>> {
    tx.opt(&BY_TOKEN, args![org, token_hash]).await
}

/// The grant of a token, for a unit that is about to use it.
pub async fn by_token_locked(
    tx: &mut Tx,
    org: Id<Organization>,
    token_hash: Sha256Hash,
) -> Result<Option<StandaloneGrant>> {
    tx.opt(&BY_TOKEN_LOCKED, args![org, token_hash]).await
}

/// Those that can be used, newest first.
pub async fn pending(
    tx: &mut Tx,
    org: Id<Organization>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<StandaloneGrant>> {
    tx.all(&PENDING, args![org, now, limit]).await
}

/// Those whose time is not over, newest first; those of one status where asked. However many ended since, all are looked at.
pub async fn list(
    tx: &mut Tx,
    org: Id<Organization>,
    status: Option<GrantStatus>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<StandaloneGrant>> {
    let mut search = LIST.with(args![org, now]);
    if let Some(status) = status {
        LIST.and(&mut search, "status = ?", args![status.as_str()]);
    }
    tx.found(&LIST.finish(search, args![limit])).await
}

/// Those whose time is over and that nobody has noted, the first to end first.
pub async fn overdue(
    db: &Db,
    org: Id<Organization>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<StandaloneGrant>> {
    db.all(&OVERDUE, args![org, now, limit]).await
}

/// Pending ones from before a start that this store cannot have: another one made them, or a memory that is gone.
pub async fn of_other_stores(
    db: &Db,
    org: Id<Organization>,
    store: StoreKind,
    started_at: Timestamp,
    limit: i64,
) -> Result<Vec<StandaloneGrant>> {
    db.all(&OF_OTHER_STORES, args![org, store.as_str(), started_at, limit]).await
}

/// Deletes a bounded number of those that ended before `cutoff`, and the marks of their tokens. How many.
pub async fn forget(tx: &mut Tx, org: Id<Organization>, cutoff: Timestamp, limit: i64) -> Result<usize> {
    let gone = tx.all(&FORGET, args![org, cutoff, limit]).await?;
    for grant in &gone {
        tx.push(&FORGET_TOKEN, args![org, grant.id]).await?;
    }
    Ok(gone.len())
}

/// Deletes the grant. Whoever does has its row locked.
pub async fn remove(tx: &mut Tx, grant: &StandaloneGrant) -> Result<()> {
    tx.exec(&REMOVE, args![grant.org_id, grant.id]).await.map(drop)
}

/// Marks the grant's token as used. [`crate::Error::Duplicate`] if it was used before: this decides.
pub async fn use_token(tx: &mut Tx, grant: &StandaloneGrant, now: Timestamp) -> Result<()> {
    tx.exec(&USE_TOKEN, args![grant.token_hash, grant.org_id, grant.id, now]).await.map(drop)
}

/// Adds to one part of an organization's counts. Units take several parts in their order.
pub async fn count(
    tx: &mut Tx,
    org: Id<Organization>,
    shard: u8,
    by: GrantCounts,
    now: Timestamp,
) -> Result<()> {
    let changes = args![by.pending, by.consumed, by.expired, now, org, i64::from(shard)];
    if tx.exec(&RECOUNT, changes).await? == 0 {
        tx.push(&COUNT, args![org, i64::from(shard), by.pending, now]).await?;
    }
    Ok(())
}

/// How many there are of each.
pub async fn counts(tx: &mut Tx, org: Id<Organization>, now: Timestamp) -> Result<GrantCounts> {
    let sums = tx.one(&SUMS, args![org]).await?;
    let overdue = tx.one(&COUNT_OVERDUE, args![org, now]).await?.overdue;
    let counted = GrantCounts {
        pending: sums.pending.unwrap_or(0),
        consumed: sums.consumed.unwrap_or(0),
        expired: sums.expired.unwrap_or(0),
    };
    Ok(counted.with_overdue(overdue))
}
