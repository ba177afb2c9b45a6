//! Archives: where finished tasks go when their organization keeps them no longer.
//!
//! [`Finished`] is everything a task leaves behind, [`Finished::line`] the one line of NDJSON it becomes, and
//! [`verify`] what proves such a line without the hub: the rows of the audit trail about the task travel in it with
//! their Merkle proofs.

mod line;
mod proofs;
#[cfg(test)]
mod tests;
pub mod verify;

use std::collections::BTreeMap;

use crate::approvals::Approval;
use crate::blobs::Blob;
use crate::canonical::Sha256Hash;
use crate::executions::Execution;
use crate::grants::Grant;
use crate::organizations::Organization;
use crate::reviews::Review;
use crate::tasks::comments::Comment;
use crate::tasks::{Revision, Task, TaskState};
use crate::{Id, Timestamp};

pub use proofs::Proof;

/// Tasks in one archive at most: what one unit moves.
pub const ARCHIVE_TASKS_MAX: usize = 50;
/// An archive that has this many bytes takes no further task.
pub const ARCHIVE_BYTES_FULL: usize = 4 * 1024 * 1024;
/// Of each kind of row a task may have this many; one that has more stays where it is.
pub const ROWS_PER_TASK_MAX: usize = 2_000;
/// What a task's attempts wrote may have this many bytes; one with more stays where it is.
pub const OUTPUT_BYTES_ARCHIVED_MAX: i64 = 32 * 1024 * 1024;

/// Finished tasks that left together. It never changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archive {
    /// Its id.
    pub id: Id<Archive>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Where its bytes are.
    pub blob_id: Id<Blob>,
    /// The audit row that tells of it and of the hash of its bytes.
    pub audit_id: Id<crate::audit::AuditEntry>,
    /// How many tasks are in it.
    pub tasks: i64,
    /// How many requests for review are in it.
    pub approvals: i64,
    /// How many bytes it has.
    pub bytes: i64,
    /// The hash of its bytes.
    pub sha256: Sha256Hash,
    /// When the first of its tasks ended.
    pub first_ended_at: Timestamp,
    /// When the last of its tasks ended.
    pub last_ended_at: Timestamp,
    /// When it was written.
    pub created_at: Timestamp,
}

/// Where an archived task is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivedTask {
    /// The task that was.
    pub task_id: Id<Task>,
    /// Whose it was.
    pub org_id: Id<Organization>,
    /// In which archive.
    pub archive_id: Id<Archive>,
    /// Where its line begins.
    pub line_offset: i64,
    /// How long its line is, with the newline.
    pub line_bytes: i64,
    /// When it was archived.
    pub created_at: Timestamp,
}

/// What can be said of a task besides itself when it is to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Whether a task that is still here waited for it, or was made from it.
    pub is_needed: bool,
    /// Whether an attempt, or its undoing, is under way or waits for an agent.
    pub is_running: bool,
    /// Whether every audit row about it is under a seal.
    pub is_sealed: bool,
    /// The most rows it has of one kind.
    pub rows_max: usize,
    /// How much its attempts wrote.
    pub output_bytes: i64,
}

/// Why a task stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stays {
    /// It is not at its end.
    #[error("it is not at its end")]
    NotOver,
    /// It ended too short a time ago.
    #[error("it is kept for longer")]
    Kept,
    /// Another would point at nothing.
    #[error("a task that is still here waited for it, or was made from it")]
    Needed,
    /// Somebody works on it.
    #[error("an execution of it has not ended")]
    Running,
    /// Its record cannot be proven yet.
    #[error("its record is not sealed yet")]
    Unsealed,
    /// One unit would have too much to do.
    #[error(
        "it has more than {ROWS_PER_TASK_MAX} rows of one kind, or {OUTPUT_BYTES_ARCHIVED_MAX} bytes of output"
    )]
    TooLarge,
}

/// Whether a task that ended at `cutoff` or before may leave.
///
/// # Errors
/// Why it stays.
pub fn may_leave(task: &Task, around: &Surroundings, cutoff: Timestamp) -> Result<(), Stays> {
    let ended_at = task.ended_at.filter(|_| task.state.is_final()).ok_or(Stays::NotOver)?;
    if ended_at > cutoff {
        return Err(Stays::Kept);
    }
    if around.is_needed {
        return Err(Stays::Needed);
    }
    if around.is_running {
        return Err(Stays::Running);
    }
    if around.rows_max > ROWS_PER_TASK_MAX || around.output_bytes > OUTPUT_BYTES_ARCHIVED_MAX {
        return Err(Stays::TooLarge);
    }
    if around.is_sealed { Ok(()) } else { Err(Stays::Unsealed) }
}

/// Everything a task leaves behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The task.
    pub task: Task,
    /// What it waited for, in the order in which it was said.
    pub depends_on: Vec<Id<Task>>,
    /// What it was to do, the first first.
    pub revisions: Vec<Revision>,
    /// What was said about it, the first first.
    pub comments: Vec<Comment>,
    /// Its reviews, the first first.
    pub reviews: Vec<Review>,
    /// Whom they asked, and the answers.
    pub approvals: Vec<Approval>,
    /// What came of them.
    pub grants: Vec<Grant>,
    /// What was tried.
    pub executions: Vec<Execution>,
    /// What each of them wrote, if it wrote anything.
    pub outputs: BTreeMap<Id<Execution>, String>,
    /// What is on record about it, the first first, each with its proof.
    pub proofs: Vec<Proof>,
}

impl Finished {
    /// Where it ended.
    #[must_use]
    pub const fn state(&self) -> TaskState {
        self.task.state
    }
}
