//! What an attempt writes: appended by its agent, read by everybody in the organization.

use domain::Id;
use domain::blobs::Blob;
use domain::executions::{Execution, OUTPUT_BYTES_MAX, Progress};
use domain::organizations::Organization;
use domain::permissions::Capability;
use records::{Tx, blobs as rows, executions};

use super::{MISSING, over, worker};
use crate::act::Act;
use crate::faults::reached;
use crate::{Caller, Hub, HubError, blobs};

/// The longest letter.
const LETTER_BYTES_MAX: usize = 4;

/// A part of the output.
#[derive(Clone, Debug)]
pub struct Part {
    /// What was written there.
    pub text: String,
    /// How far it goes.
    pub next_after: u64,
    /// How much there is.
    pub size: u64,
    /// Whether nothing more will come.
    pub is_over: bool,
}

/// What an agent writes, and how far it is.
#[derive(Clone, Debug)]
pub struct More {
    /// What is appended.
    pub text: String,
    /// How much there must be before.
    pub offset: Option<u64>,
    /// How far the work is, where the agent says so.
    pub progress: Option<Progress>,
}

struct Input {
    id: Id<Execution>,
    more: More,
}

/// Appends to the output of an attempt. How much there is then.
pub async fn append(hub: &Hub, caller: &Caller, id: Id<Execution>, more: More) -> Result<u64, HubError> {
    caller.require(Capability::ExecutionsWrite)?;
    let act = Act::new(hub, caller, Input { id, more });
    let size = hub.records.write(act, |tx, act| Box::pin(append_unit(tx, act))).await?;
    reached("output:answering");
    Ok(size)
}

async fn append_unit(tx: &mut Tx, act: &Act<Input>) -> Result<u64, HubError> {
    let Input { id, more: More { text, offset, progress } } = &act.input;
    let known = executions::get(tx, act.org(), *id).await?.ok_or(MISSING)?;
    worker(tx, act, known.agent_id).await?;
    let execution = executions::get_locked(tx, act.org(), *id).await?.ok_or(MISSING)?;
    execution.require_running().map_err(over)?;
    let size = unsigned(execution.output_size);
    if offset.is_some_and(|offset| offset != size) {
        return Err(HubError::Conflict(format!("the output has {size} bytes; nothing was appended")));
    }
    let mut written = written(tx, act, &execution, ("/text", text)).await?;
    if let Some(progress) = progress {
        let progressed = written.progressed(progress.clone(), act.now);
        let refused = |(name, bad)| HubError::field(format!("/progress/{name}"), format!("{bad}"));
        written = progressed.map_err(refused)?;
    }
    reached("output:appended");
    executions::update(tx, &written).await?;
    Ok(unsigned(written.output_size))
}

/// The attempt with what came in this field appended to its output; the unit writes it.
pub(super) async fn written<T>(
    tx: &mut Tx,
    act: &Act<T>,
    execution: &Execution,
    (field, text): (&str, &str),
) -> Result<Execution, HubError> {
    if text.is_empty() {
        return Ok(execution.clone());
    }
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    if execution.output_size.saturating_add(size) > OUTPUT_BYTES_MAX {
        let detail = format!("an attempt may have at most {OUTPUT_BYTES_MAX} bytes of output");
        return Err(HubError::field(field, detail));
    }
    let found = match execution.output_id {
        Some(id) => rows::get_locked(tx, act.org(), id).await?,
        None => None,
    };
    let blob = match found {
        Some(blob) => blob,
        None => blobs::create(tx, act.hub.ids.id(), act.org(), "output", act.now).await?,
    };
    blobs::append(tx, &blob, text.as_bytes(), act.hub.config.blob_quota_bytes, act.now).await?;
    Ok(execution.written(blob.id, text, act.now))
}

/// What an attempt wrote after this many bytes, as far as it is kept together.
pub async fn read(hub: &Hub, caller: &Caller, id: Id<Execution>, after: u64) -> Result<Part, HubError> {
    caller.require(Capability::ExecutionsRead)?;
    let input = (caller.credential.organization.id, id, after);
    hub.records
        .read(input, |tx, &(org, id, after)| {
            Box::pin(async move {
                let execution = executions::get(tx, org, id).await?.ok_or(MISSING)?;
                let bytes = match execution.output_id {
                    Some(blob) => bytes(tx, org, blob, after).await?,
                    None => Vec::new(),
                };
                part(&execution, bytes, after)
            })
        })
        .await
}

/// The bytes from there to the end of their chunk; to the end of the next one where only a part of a letter is left.
async fn bytes(tx: &mut Tx, org: Id<Organization>, blob: Id<Blob>, after: u64) -> Result<Vec<u8>, HubError> {
    let offset = |more: usize| i64::try_from(after).unwrap_or(i64::MAX).saturating_add(more as i64);
    let mut bytes = blobs::read(tx, org, blob, offset(0)).await?;
    let is_cut = std::str::from_utf8(&bytes).is_err_and(|error| error.valid_up_to() == 0);
    if is_cut && bytes.len() < LETTER_BYTES_MAX {
        bytes.extend(blobs::read(tx, org, blob, offset(bytes.len())).await?);
    }
    Ok(bytes)
}

/// Chunks end anywhere, letters do not.
fn part(execution: &Execution, mut bytes: Vec<u8>, after: u64) -> Result<Part, HubError> {
    let whole = match std::str::from_utf8(&bytes) {
        Ok(text) => text.len(),
        Err(error) if error.valid_up_to() > 0 => error.valid_up_to(),
        Err(_) => return Err(HubError::field("/after", "must be a `next_after` of an answer before")),
    };
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).unwrap_or_default();
    Ok(Part {
        next_after: after + text.len() as u64,
        text,
        size: unsigned(execution.output_size),
        is_over: execution.ended_at.is_some(),
    })
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
