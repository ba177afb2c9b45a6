//! Outputs and archives: appended in order, read in chunks, within the organization's quota.

use domain::blobs::{Blob, CHUNK_BYTES, fits};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use records::{Tx, blobs};

use crate::HubError;

const CHUNK: i64 = CHUNK_BYTES as i64;

/// Makes an empty blob.
pub async fn create(
    tx: &mut Tx,
    id: Id<Blob>,
    org: Id<Organization>,
    kind: &str,
    now: Timestamp,
) -> Result<Blob, HubError> {
    let blob = Blob { id, org_id: org, kind: kind.into(), size: 0, created_at: now, updated_at: now };
    blobs::create(tx, &blob).await?;
    Ok(blob)
}

/// Appends bytes, if the organization's quota leaves room. The blob as it is then.
pub async fn append(
    tx: &mut Tx,
    blob: &Blob,
    mut bytes: &[u8],
    quota_bytes: i64,
    now: Timestamp,
) -> Result<Blob, HubError> {
    let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
    let used = blobs::used(tx, blob.org_id).await?;
    if !fits(unsigned(used), bytes.len() as u64, unsigned(quota_bytes)) {
        return Err(HubError::Forbidden(
            "the organization's space for outputs and archives is used up".into(),
        ));
    }
    let mut size = blob.size;
    while !bytes.is_empty() {
        let (number, filled) = (size / CHUNK, size % CHUNK);
        let mut chunk = if filled == 0 {
            Vec::new()
        } else {
            blobs::chunk(tx, blob, number)
                .await?
                .ok_or(records::Error::Misbehaved("a chunk of a blob is missing"))?
        };
        let room = usize::try_from(CHUNK - filled).unwrap_or(CHUNK_BYTES);
        let (now_in, later) = bytes.split_at(room.min(bytes.len()));
        chunk.extend_from_slice(now_in);
        blobs::put_chunk(tx, blob, number, &chunk, now).await?;
        size += i64::try_from(now_in.len()).unwrap_or(0);
        bytes = later;
    }
    blobs::grow(tx, blob, size, now).await?;
    Ok(Blob { size, updated_at: now, ..blob.clone() })
}

/// The bytes from `offset` to the end of their chunk; empty at the end of the blob.
pub async fn read(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<Blob>,
    offset: i64,
) -> Result<Vec<u8>, HubError> {
    let blob = blobs::get(tx, org, id).await?.ok_or(HubError::NotFound("blob"))?;
    if !(0..blob.size).contains(&offset) {
        return Ok(Vec::new());
    }
    let chunk = blobs::chunk(tx, &blob, offset / CHUNK).await?.unwrap_or_default();
    let start = usize::try_from(offset % CHUNK).unwrap_or(0);
    Ok(chunk.get(start..).unwrap_or_default().to_vec())
}

/// All bytes of a blob.
pub async fn whole(tx: &mut Tx, org: Id<Organization>, id: Id<Blob>) -> Result<Vec<u8>, HubError> {
    let blob = blobs::get(tx, org, id).await?.ok_or(HubError::NotFound("blob"))?;
    let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0));
    for number in 0..(blob.size + CHUNK - 1) / CHUNK {
        let chunk = blobs::chunk(tx, &blob, number).await?;
        bytes.extend(chunk.ok_or(records::Error::Misbehaved("a chunk of a blob is missing"))?);
    }
    Ok(bytes)
}
