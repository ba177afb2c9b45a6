//! Moving finished tasks into archives, in units that each move a few whole.

use std::time::Duration;

use domain::archives::{ARCHIVE_BYTES_FULL, ARCHIVE_TASKS_MAX, Archive, ArchivedTask, Finished, Stays};
use domain::blobs::fits;
use domain::canonical::Sha256Hash;
use domain::executions::Execution;
use domain::organizations::Organization;
use domain::subject::Subject;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use records::{Tx, archives, organizations, tasks};
use serde_json::{Map, json};

use super::load::{Seals, finished};
use crate::act::{self, ByItself, Deed};
use crate::tasks::record;
use crate::{Hub, HubError, audit, blobs, settings};

/// Archives that one organization may fill before the next one's turn; what is left is looked for again soon.
const ARCHIVES_IN_TURN: usize = 4;

struct Batch {
    hub: Hub,
    org: Id<Organization>,
    tasks: Vec<Id<Task>>,
    cutoff: Timestamp,
    archive: Id<Archive>,
    now: Timestamp,
}

/// What came of a batch.
enum Moved {
    /// All of them stay.
    Nothing,
    /// Some of them left.
    Archive(Archive),
    /// The organization has no room for so many bytes.
    NoRoom { bytes: usize },
}

/// Moves what every organization has kept for long enough. Whether something was moved: then more may be due, also what
/// waited for it.
pub async fn archive_old(hub: &Hub) -> Result<bool, HubError> {
    let mut has_moved = false;
    let mut failed = Ok(());
    for organization in organizations::all(&hub.records).await? {
        match archive_of(hub, organization.id).await {
            Ok(moved) => has_moved |= moved,
            // One that is damaged must not keep the others' archives from being written.
            Err(error) => failed = Err(error),
        }
    }
    failed.map(|()| has_moved)
}

async fn archive_of(hub: &Hub, org: Id<Organization>) -> Result<bool, HubError> {
    let retention = settings::of(hub, org).await?.task_retention;
    let now = hub.clock.now();
    let cutoff = now.minus(Duration::from_secs(retention.into()));
    // The first place behind all that ended at the cutoff.
    let mut place = (cutoff.plus(Duration::from_micros(1)), Id::new(uuid::Uuid::nil()));
    let mut written = 0;
    while written < ARCHIVES_IN_TURN && !hub.lifecycle.is_stopping() {
        let due = archives::due(&hub.records, org, place, ARCHIVE_TASKS_MAX as i64).await?;
        let Some(last) = due.last() else { break };
        place = (last.ended_at, last.id);
        let mut ids: Vec<Id<Task>> = due.iter().map(|due| due.id).collect();
        // Units over several tasks take them in this order.
        ids.sort_unstable();
        let batch = Batch { hub: hub.clone(), org, tasks: ids, cutoff, archive: hub.ids.id(), now };
        match hub.records.write(batch, |tx, batch| Box::pin(unit(tx, batch))).await? {
            Moved::Nothing => {}
            Moved::Archive(archive) => {
                let Archive { id, tasks, .. } = archive;
                tracing::info!(%org, archive.id = %id, "archive {id} of {org}: {tasks} finished tasks");
                written += 1;
            }
            Moved::NoRoom { bytes } => {
                tracing::warn!(
                    %org,
                    "finished tasks of {org} stay where they are: {bytes} more bytes of archives would exceed its \
                     space for outputs and archives"
                );
                break;
            }
        }
    }
    Ok(0 < written)
}

async fn unit(tx: &mut Tx, batch: &Batch) -> Result<Moved, HubError> {
    let act = ByItself::new(tx, &batch.hub, batch.org, batch.now).await?;
    let leaving = leaving(tx, batch).await?;
    if leaving.is_empty() {
        return Ok(Moved::Nothing);
    }
    let text: String = leaving.iter().map(|(_, line)| line.as_str()).collect();
    let quota = batch.hub.config.blob_quota_bytes;
    // What the attempts wrote is in the lines now, and leaves its own place.
    let outputs: Vec<&Execution> = leaving.iter().flat_map(|(finished, _)| &finished.executions).collect();
    let freed: i64 = outputs.iter().map(|execution| execution.output_size).sum();
    let used = records::blobs::used(tx, batch.org).await? - freed;
    let unsigned = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    if !fits(unsigned(used), text.len() as u64, unsigned(quota)) {
        // Nothing but the news is written: what cannot be kept there is kept here.
        let payload = json!({"needed_bytes": text.len(), "used_bytes": used, "quota_bytes": quota});
        let organization = Subject::new("organization", batch.org);
        act::announce(tx, &act, "archive:stalled", organization, payload).await?;
        return Ok(Moved::NoRoom { bytes: text.len() });
    }
    for blob in outputs.iter().filter_map(|execution| execution.output_id) {
        records::blobs::delete(tx, batch.org, blob).await?;
    }
    let archive = keep(tx, &act, batch, (&leaving, &text)).await?;
    let mut line_offset = 0;
    for (finished, line) in &leaving {
        let line_bytes = i64::try_from(line.len()).unwrap_or(i64::MAX);
        let place = ArchivedTask {
            task_id: finished.task.id,
            org_id: batch.org,
            archive_id: archive.id,
            line_offset,
            line_bytes,
            created_at: batch.now,
        };
        leave(tx, &act, &finished.task, &place).await?;
        line_offset += line_bytes;
    }
    Ok(Moved::Archive(archive))
}

/// Those of the batch that may leave, each with its line; as many as an archive holds.
async fn leaving(tx: &mut Tx, batch: &Batch) -> Result<Vec<(Finished, String)>, HubError> {
    let keys = batch.hub.config.keys.verifying_keys();
    let (mut leaving, mut bytes, mut seals) = (Vec::new(), 0, Seals::new());
    for id in &batch.tasks {
        let Some(task) = tasks::get_locked(tx, batch.org, *id).await? else { continue };
        match finished(tx, task, batch.cutoff, &mut seals).await? {
            Ok(finished) => {
                let line = finished.line(batch.archive, batch.now, &keys);
                bytes += line.len();
                leaving.push((finished, line));
            }
            Err(stays @ Stays::TooLarge) => tracing::warn!("task {id} is not archived: {stays}"),
            Err(stays) => tracing::debug!("task {id} is not archived yet: {stays}"),
        }
        if bytes >= ARCHIVE_BYTES_FULL {
            break;
        }
    }
    Ok(leaving)
}

/// Writes the archive, with its hash on record.
async fn keep(
    tx: &mut Tx,
    act: &ByItself,
    batch: &Batch,
    (leaving, text): (&[(Finished, String)], &str),
) -> Result<Archive, HubError> {
    let ids = &batch.hub.ids;
    let blob = blobs::create(tx, ids.id(), batch.org, "archive", batch.now).await?;
    let quota = batch.hub.config.blob_quota_bytes;
    let blob = blobs::append(tx, &blob, text.as_bytes(), quota, batch.now).await?;
    let ends = leaving.iter().filter_map(|(finished, _)| finished.task.ended_at);
    let subject = Subject::new("archive", batch.archive);
    let mut entry = act.entry("archive:written", subject.clone());
    let archive = Archive {
        id: batch.archive,
        org_id: batch.org,
        blob_id: blob.id,
        audit_id: entry.id,
        tasks: i64::try_from(leaving.len()).unwrap_or(i64::MAX),
        approvals: leaving.iter().map(|(finished, _)| finished.approvals.len() as i64).sum(),
        bytes: blob.size,
        sha256: Sha256Hash::of(text.as_bytes()),
        first_ended_at: ends.clone().min().unwrap_or(batch.now),
        last_ended_at: ends.max().unwrap_or(batch.now),
        created_at: batch.now,
    };
    archives::insert(tx, &archive).await?;
    let facts = json!({
        "tasks": archive.tasks, "approvals": archive.approvals, "bytes": archive.bytes,
        "sha256": archive.sha256.to_string(),
    });
    entry.details = facts.as_object().cloned().unwrap_or_default();
    audit::record(tx, &entry).await?;
    act::announce(tx, act, "archive:written", subject, facts).await?;
    Ok(archive)
}

/// Takes the task away, with its revisions, reviews, requests, Grants, executions and comments.
async fn leave(tx: &mut Tx, act: &ByItself, task: &Task, place: &ArchivedTask) -> Result<(), HubError> {
    tasks::delete(tx, task).await?;
    archives::insert_task(tx, place).await?;
    let details = Map::from_iter([("archive_id".to_owned(), json!(place.archive_id.to_string()))]);
    record(tx, act, "task:archived", (Some(task.state), task), details).await
}
