//! Blobs: outputs and archives, in chunks, within the organization's quota.

use domain::blobs::Blob;
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

row!(Blob { id, org_id, kind, size, created_at, updated_at });

struct Used {
    used: i64,
}
row!(Used { used });
struct Chunk {
    bytes: Vec<u8>,
}
row!(Chunk { bytes });

statement!(
    CREATE =
        "INSERT INTO blobs (id, org_id, kind, size, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(
    GET: Blob = "SELECT id, org_id, kind, size, created_at, updated_at FROM blobs WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_LOCKED: Blob = "SELECT id, org_id, kind, size, created_at, updated_at FROM blobs WHERE org_id = $1 AND id = $2",
    lock "FOR UPDATE"
);
statement!(GROW = "UPDATE blobs SET size = $1, updated_at = $2 WHERE org_id = $3 AND id = $4 AND size = $5");
statement!(
    PUT_CHUNK = "INSERT INTO blob_chunks (blob_id, number, bytes, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
                 ON CONFLICT (blob_id, number) DO UPDATE SET bytes = excluded.bytes, updated_at = excluded.updated_at"
);
statement!(CHUNK: Chunk = "SELECT bytes FROM blob_chunks WHERE blob_id = $1 AND number = $2");
statement!(
    USED: Used = lite "SELECT COALESCE(SUM(size), 0) AS used FROM blobs WHERE org_id = $1",
                 pg "SELECT COALESCE(SUM(size), 0)::BIGINT AS used FROM blobs WHERE org_id = $1"
);
statement!(DELETE = "DELETE FROM blobs WHERE org_id = $1 AND id = $2");

/// Adds a blob without chunks.
pub async fn create(tx: &mut Tx, blob: &Blob) -> Result<()> {
    let values = args![blob.id, blob.org_id, &blob.kind, blob.size, blob.created_at, blob.updated_at];
    tx.push(&CREATE, values).await
}

/// The blob.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Blob>) -> Result<Option<Blob>> {
    tx.opt(&GET, args![org, id]).await
}

/// The blob, for a unit that is about to append to it.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Blob>) -> Result<Option<Blob>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// Bytes the organization's blobs take.
pub async fn used(tx: &mut Tx, org: Id<Organization>) -> Result<i64> {
    Ok(tx.one(&USED, args![org]).await?.used)
}

/// Sets the size, if it is still what the unit saw.
pub async fn grow(tx: &mut Tx, blob: &Blob, size: i64, now: Timestamp) -> Result<()> {
    tx.change_one(&GROW, args![size, now, blob.org_id, blob.id, blob.size], "a blob").await
}

/// Writes one chunk whole. The caller has loaded the blob in its organization.
pub async fn put_chunk(tx: &mut Tx, blob: &Blob, number: i64, bytes: &[u8], now: Timestamp) -> Result<()> {
    tx.push(&PUT_CHUNK, args![blob.id, number, bytes, now]).await
}

/// One chunk. The caller has loaded the blob in its organization.
pub async fn chunk(tx: &mut Tx, blob: &Blob, number: i64) -> Result<Option<Vec<u8>>> {
    Ok(tx.opt(&CHUNK, args![blob.id, number]).await?.map(|chunk| chunk.bytes))
}

/// Deletes the blob and its chunks. False if it is not there.
pub async fn delete(tx: &mut Tx, org: Id<Organization>, id: Id<Blob>) -> Result<bool> {
    Ok(tx.exec(&DELETE, args![org, id]).await? == 1)
}
