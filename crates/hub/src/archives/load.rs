//! Everything a finished task leaves behind, if it may leave.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use domain::approvals::Approval;
use domain::archives::{Finished, Proof, ROWS_PER_TASK_MAX, Stays, Surroundings, may_leave};
use domain::audit::{Chain, Seal};
use domain::executions::{Execution, Phase};
use domain::tasks::Task;
use domain::{Id, Timestamp};
use records::approvals::Filter;
use records::audit::rows::{self, About};
use records::audit::seals;
use records::{
    Tx, approvals, archives, executions, grants, reviews, task_comments, task_dependencies, task_revisions,
};
use uuid::Uuid;

use crate::audit::not_what_was_sealed;
use crate::{HubError, blobs};

/// One more than there may be is enough to know that there are too many.
const READ_MAX: i64 = ROWS_PER_TASK_MAX as i64 + 1;

/// Seals that were read in this unit. Tasks of one time share them.
pub(super) type Seals = BTreeMap<Uuid, Seal>;

/// The task with all that belongs to it, or why it stays. Whoever calls this has locked the task.
pub(super) async fn finished(
    tx: &mut Tx,
    task: Task,
    cutoff: Timestamp,
    known: &mut Seals,
) -> Result<Result<Finished, Stays>, HubError> {
    let org = task.org_id;
    let mut executions = executions::list(tx, (org, task.id), None, READ_MAX).await?;
    executions.reverse();
    let by_task = Filter { task: Some(task.id), ..Filter::default() };
    let approvals = approvals::list(tx, org, &by_task, READ_MAX).await?;
    let record = rows::about(tx, org, &subjects(&task, &approvals, &executions), READ_MAX).await?;
    let mut comments = task_comments::list(tx, org, task.id, None, READ_MAX).await?;
    comments.reverse();
    let revisions = task_revisions::all(tx, org, task.id, READ_MAX).await?;
    let lengths = [executions.len(), approvals.len(), record.len(), comments.len(), revisions.len()];
    let around = Surroundings {
        is_needed: archives::is_needed(tx, &task).await?,
        is_running: executions.iter().any(|execution| execution.phase() != Phase::Ended),
        is_sealed: record.iter().all(|row| row.seal_id.is_some()),
        rows_max: lengths.into_iter().max().unwrap_or(0),
        output_bytes: executions.iter().map(|execution| execution.output_size).sum(),
    };
    if let Err(stays) = may_leave(&task, &around, cutoff) {
        return Ok(Err(stays));
    }
    let waiting = task_dependencies::prerequisites(tx, org, &[task.id]).await?;
    Ok(Ok(Finished {
        depends_on: waiting.iter().map(|waiting| waiting.task_id).collect(),
        revisions,
        comments,
        reviews: reviews::of_task(tx, org, task.id, READ_MAX).await?,
        approvals,
        grants: grants::of_task(tx, org, task.id, READ_MAX).await?,
        outputs: outputs(tx, &executions).await?,
        executions,
        proofs: proofs(tx, Chain::Organization(org), record, known).await?,
        task,
    }))
}

/// All that its attempts wrote.
async fn outputs(tx: &mut Tx, executions: &[Execution]) -> Result<BTreeMap<Id<Execution>, String>, HubError> {
    let mut outputs = BTreeMap::new();
    for execution in executions {
        let Some(blob) = execution.output_id else { continue };
        let bytes = blobs::whole(tx, execution.org_id, blob).await?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| records::Error::Misbehaved("an output that is not text"))?;
        outputs.insert(execution.id, text);
    }
    Ok(outputs)
}

/// What the audit trail calls the task and its parts.
fn subjects(task: &Task, approvals: &[Approval], executions: &[Execution]) -> Vec<String> {
    let parts = approvals.iter().map(|approval| approval.id.to_string());
    let attempts = executions.iter().map(|execution| execution.id.to_string());
    parts.chain(attempts).chain([task.id.to_string()]).collect()
}

async fn proofs(
    tx: &mut Tx,
    chain: Chain,
    record: Vec<About>,
    known: &mut Seals,
) -> Result<Vec<Proof>, HubError> {
    let mut proofs = Vec::with_capacity(record.len());
    for row in record {
        let id = row.seal_id.ok_or_else(not_what_was_sealed)?;
        let seal = match known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                unknown.insert(seals::get(tx, chain, id).await?.ok_or_else(not_what_was_sealed)?)
            }
        };
        proofs.push(Proof::of(row.body, seal).ok_or_else(not_what_was_sealed)?);
    }
    Ok(proofs)
}
