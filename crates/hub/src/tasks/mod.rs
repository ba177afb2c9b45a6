//! Tasks: written, found, changed, talked about.
//!
//! **Locks.** A unit takes projects, then tasks in the order of their ids, then what `confirm` reads. Edges change only
//! while their project is locked.

mod cancel;
mod change;
mod comments;
mod counts;
mod create;
mod delete;
mod dossier;
mod edges;
mod list;
mod offers;
mod overrides;
mod plan;
mod preview;
mod provenance;
mod put_first;
mod resubmit;
mod revisions;
pub(crate) mod risk;
mod simulate;
mod skip;
mod standing;
mod stuck;
mod submit;
mod watch;
mod withdraw;

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::executions::Execution;
use domain::grants::Skip;
use domain::json::FieldError;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::tasks::dependencies::{BlockedBy, unskipped};
use domain::tasks::{Actor, ConfigRefusal, Move, MoveRefusal, Task, TaskState, next};
use records::{Tx, archives, executions, task_dependencies, task_revisions, tasks};
use serde_json::{Map, Value, json};

pub use cancel::cancel;
pub use change::change;
pub(crate) use change::{config_value, current_config, current_revision, read_config, read_value};
pub use comments::{CommentPlace, comment, get_comment, list_comments};
pub use counts::{COUNTED_MAX, by_level, counts};
pub use create::{NewTask, create};
pub use delete::delete;
pub use dossier::{AskedFor, Dossier, Looked, Mine, Named, Neighbour, Prospect, dossier};
pub(crate) use edges::{is_waiting, prerequisites};
pub use list::{by_slug, get, list};
pub use offers::Offer;
pub use overrides::{Urgency, ask_override, force_apply};
pub use plan::{PLANNED_MAX, Plan, plan};
pub use preview::attach_preview;
pub(crate) use provenance::behind;
pub(crate) use put_first::{PUT_FIRST, put_first};
pub use resubmit::resubmit;
pub use revisions::{difference, get_revision, list_revisions};
pub use simulate::{Simulated, foresee, simulate};
pub(crate) use skip::{skip, waits_for};
pub use standing::{Alarmed, LeftBehind, Undoing};
pub use stuck::{LOOKED_AT_MAX, Stuck, stuck};
pub use submit::submit;
pub use watch::watch;
pub use withdraw::withdraw;

use crate::act::{self, Act, Deed};
use crate::identity::credential::Credential;
use crate::reviews::{self, ReviewSeen};
use crate::{Caller, HubError, audit};

const MISSING: HubError = HubError::NotFound("task");

/// A task as one caller sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The task.
    pub task: Task,
    /// The RFC 8785 bytes of its current config.
    pub config: Vec<u8>,
    /// What people call its author.
    pub author_name: String,
    /// What it waits for or waited for, in the order in which it was said.
    pub prerequisites: Vec<(Id<Task>, TaskState)>,
    /// What of that it need not wait for, because two admins signed it.
    pub skip: Option<Skip>,
    /// How its current or last review stands.
    pub review: Option<ReviewSeen>,
    /// Its newest attempt.
    pub execution: Option<Execution>,
    /// Whether the caller is shown how the risk came about; agents are not, or they would learn to stay below it.
    pub shows_score: bool,
}

impl Seen {
    /// What a reader must send to change exactly this.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(&self.task)
    }

    /// What it waits for.
    #[must_use]
    pub fn blocked_by(&self) -> Vec<BlockedBy> {
        unskipped(&self.prerequisites, self.skip.as_ref())
    }
}

fn etag(task: &Task) -> String {
    format!("\"{}\"", task.version)
}

/// Those of the tasks that are there, with what belongs to them.
pub(crate) async fn seen_of(
    tx: &mut Tx,
    caller: &Caller,
    ids: BTreeSet<Id<Task>>,
) -> Result<BTreeMap<Id<Task>, Seen>, HubError> {
    let found = tasks::these(tx, caller.credential.organization.id, ids).await?;
    let seen = seen_all(tx, caller, found).await?;
    Ok(seen.into_iter().map(|seen| (seen.task.id, seen)).collect())
}

/// The tasks with what belongs to them, in the same order.
pub(crate) async fn seen_all(tx: &mut Tx, caller: &Caller, tasks: Vec<Task>) -> Result<Vec<Seen>, HubError> {
    let org = caller.credential.organization.id;
    let ids: Vec<Id<Task>> = tasks.iter().map(|task| task.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut current = task_revisions::current(tx, org, &ids).await?;
    let waiting = task_dependencies::prerequisites(tx, org, &ids).await?;
    let mut attempts = executions::latest(tx, org, &ids).await?;
    let shows_score = caller.credential.agent.is_none();
    let reviews = reviews::seen_all(tx, &tasks).await?;
    let mut skips = Vec::with_capacity(tasks.len());
    for task in &tasks {
        let open = waiting.iter().any(|one| one.dependent == task.id && one.state != TaskState::Completed);
        skips.push(if open { skip::of_task(tx, task).await? } else { None });
    }
    let seen = tasks.into_iter().zip(reviews.into_iter().zip(skips)).map(|(task, (review, skip))| {
        let place = current.iter().position(|current| current.task_id == task.id);
        // A task without its revision is damage.
        let place = place.ok_or(records::Error::Misbehaved("a task has no current revision"))?;
        let current = current.swap_remove(place);
        let prerequisites = waiting.iter().filter(|waiting| waiting.dependent == task.id);
        let attempt = attempts.iter().position(|attempt| attempt.task_id == task.id);
        Ok(Seen {
            execution: attempt.map(|place| attempts.swap_remove(place)),
            prerequisites: prerequisites.map(|waiting| (waiting.task_id, waiting.state)).collect(),
            skip,
            task,
            config: current.config,
            author_name: current.author_name,
            review,
            shows_score,
        })
    });
    seen.collect()
}

/// The task with what belongs to it.
pub(crate) async fn seen(tx: &mut Tx, caller: &Caller, task: Task) -> Result<Seen, HubError> {
    let one = seen_all(tx, caller, vec![task]).await?.into_iter().next();
    one.ok_or(MISSING)
}

/// What the caller is to the task, beside what only its review knows.
pub(crate) fn actor(current: &Credential, task: &Task) -> Actor {
    Actor {
        is_author: current.account.id == task.author_id,
        is_admin: current.standing().is_org_admin(),
        is_reviewer: false,
        is_hub: false,
    }
}

/// The caller as it is now, if it may write tasks at all.
pub(crate) async fn writer<T>(tx: &mut Tx, act: &Act<T>) -> Result<Credential, HubError> {
    act.reread_with(tx, Capability::TasksWrite).await
}

/// Refuses a move that does not lead anywhere, or is not the caller's.
pub(crate) fn require(current: &Credential, task: &Task, wanted: Move) -> Result<TaskState, HubError> {
    next(task.state, wanted, actor(current, task)).map_err(refused)
}

pub(crate) fn refused(refusal: MoveRefusal) -> HubError {
    match refusal {
        MoveRefusal::NotYours { .. } => HubError::Forbidden(refusal.to_string()),
        MoveRefusal::WrongState { state, .. } => {
            HubError::InvalidState { state: state.as_str().to_owned(), detail: refusal.to_string() }
        }
    }
}

pub(crate) fn subject(task: Id<Task>) -> Subject {
    Subject::new("task", task)
}

/// Puts on record what was done to a task, with the states it went between.
pub(crate) async fn record(
    tx: &mut Tx,
    act: &impl Deed,
    action: &str,
    (before, after): (Option<TaskState>, &Task),
    details: Map<String, Value>,
) -> Result<(), HubError> {
    let mut entry = act.entry(action, subject(after.id));
    entry.details = details;
    if before != Some(after.state) {
        entry.from_state = before.map(|state| state.as_str().to_owned());
        entry.to_state = Some(after.state.as_str().to_owned());
    }
    audit::record(tx, &entry).await
}

/// Tells of a task: ids, states and hashes.
pub(crate) async fn announce(
    tx: &mut Tx,
    act: &impl Deed,
    event_type: &str,
    task: &Task,
) -> Result<(), HubError> {
    act::announce(tx, act, event_type, subject(task.id), told(task)).await
}

/// Tells how a task's review ended: a time that was over is not somebody's no.
pub(crate) async fn announce_resolved(
    tx: &mut Tx,
    act: &impl Deed,
    event_type: &str,
    (task, resolution): (&Task, Option<&str>),
) -> Result<(), HubError> {
    let mut payload = told(task);
    payload["resolution"] = json!(resolution);
    act::announce(tx, act, event_type, subject(task.id), payload).await
}

fn told(task: &Task) -> Value {
    json!({
        "task_id": task.id.to_string(), "project_id": task.project_id.to_string(),
        "author_id": task.author_id.to_string(), "state": task.state.as_str(), "status": task.status.as_str(),
        "revision": task.revision, "content_hash": task.content_hash.to_string(), "version": task.version,
        "needs_attention": task.needs_attention,
    })
}

/// Tells that a task is in another state (TASK-38).
pub(crate) async fn announce_move(
    tx: &mut Tx,
    act: &impl Deed,
    (from, task): (TaskState, &Task),
) -> Result<(), HubError> {
    if from == task.state {
        return Ok(());
    }
    let payload = json!({"task_id": task.id.to_string(), "from": from.as_str(), "to": task.state.as_str()});
    act::announce(tx, act, "task:state_changed", subject(task.id), payload).await
}

/// What is decided about a task, for the audit; what it does stands in its revisions.
fn facts(task: &Task, depends_on: &[Id<Task>]) -> Value {
    json!({
        "project_id": task.project_id.to_string(), "slug": task.slug, "path": task.path,
        "revision": task.revision, "content_hash": task.content_hash.to_string(),
        "assignee": task.assignee.map(|id| id.to_string()), "due_at": task.due_at.map(|at| at.to_string()),
        "tags": task.tags, "metadata": task.metadata,
        "depends_on": depends_on.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn invalid(errors: Vec<FieldError>) -> HubError {
    HubError::Invalid(errors)
}

fn config_refused(refusal: ConfigRefusal) -> HubError {
    match refusal {
        ConfigRefusal::Invalid(errors) => HubError::Invalid(errors),
        ConfigRefusal::ExecutorDisabled(kind) => HubError::ExecutorDisabled(kind),
    }
}

fn taken(slug: &str) -> String {
    format!("slug: a task with the slug `{slug}` exists already in this project")
}

/// The task, for a unit that is about to decide about it.
pub(crate) async fn locked<T>(tx: &mut Tx, act: &Act<T>, id: Id<Task>) -> Result<Task, HubError> {
    let task = tasks::get_locked(tx, act.org(), id).await?;
    found(tx, (act.org(), id), task).await
}

/// The task that was looked for, or why it is not there: no task of the organization was ever called so, or it is
/// archived.
pub(crate) async fn found(
    tx: &mut Tx,
    (org, id): (Id<Organization>, Id<Task>),
    task: Option<Task>,
) -> Result<Task, HubError> {
    if let Some(task) = task {
        return Ok(task);
    }
    let archived = archives::get_task(tx, org, id).await?.ok_or(MISSING)?;
    Err(HubError::TaskArchived {
        archive_id: archived.archive_id.to_string(),
        archived_at: archived.created_at.to_string(),
    })
}

/// The task, as it is now.
pub(crate) async fn known(tx: &mut Tx, org: Id<Organization>, id: Id<Task>) -> Result<Task, HubError> {
    let task = tasks::get(tx, org, id).await?;
    found(tx, (org, id), task).await
}
