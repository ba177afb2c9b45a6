//! Finding archives, and reading what is in them.

use domain::Id;
use domain::archives::Archive;
use domain::permissions::Capability;
use domain::tasks::Task;
use records::archives;

use crate::{Caller, Hub, HubError, blobs};

const MISSING: HubError = HubError::NotFound("archive");

/// A place in a list of archives.
pub type ArchivePlace = archives::After;

/// Archives of the caller's organization, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    after: Option<ArchivePlace>,
    limit: i64,
) -> Result<Vec<Archive>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, after, limit);
    let read =
        hub.records.read(input, |tx, &(org, after, limit)| Box::pin(archives::list(tx, org, after, limit)));
    Ok(read.await?)
}

/// One archive.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Archive>) -> Result<Archive, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, id);
    let read = hub.records.read(input, |tx, &(org, id)| Box::pin(archives::get(tx, org, id)));
    read.await?.ok_or(MISSING)
}

/// Some of an archive's bytes from this place on; empty at its end. They contain audit rows whole, addresses included,
/// so they are for admins.
pub async fn read(hub: &Hub, caller: &Caller, archive: &Archive, offset: i64) -> Result<Vec<u8>, HubError> {
    caller.require(Capability::AuditVerify)?;
    let input = (caller.credential.organization.id, archive.blob_id, offset);
    hub.records.read(input, |tx, &(org, blob, offset)| Box::pin(blobs::read(tx, org, blob, offset))).await
}

/// The line of an archived task, with its newline.
pub async fn line_of(hub: &Hub, caller: &Caller, task: Id<Task>) -> Result<Vec<u8>, HubError> {
    caller.require(Capability::AuditVerify)?;
    let input = (caller.credential.organization.id, task);
    let read = hub.records.read(input, |tx, &(org, task)| Box::pin(archives::get_task(tx, org, task)));
    let place = read.await?.ok_or(HubError::NotFound("archived task"))?;
    let archive = get(hub, caller, place.archive_id).await?;
    let wanted = usize::try_from(place.line_bytes).unwrap_or(0);
    let mut line = Vec::with_capacity(wanted);
    while line.len() < wanted {
        let offset = place.line_offset + i64::try_from(line.len()).unwrap_or(i64::MAX);
        let piece = self::read(hub, caller, &archive, offset).await?;
        if piece.is_empty() {
            return Err(records::Error::Misbehaved("an archive is shorter than its lines").into());
        }
        line.extend_from_slice(&piece);
    }
    line.truncate(wanted);
    Ok(line)
}
