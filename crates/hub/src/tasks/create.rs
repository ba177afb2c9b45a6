//! Writing tasks.

use domain::accounts::Account;
use domain::permissions::Capability;
use domain::projects::{DEFAULT_SLUG, Project};
use domain::settings::Settings;
use domain::tasks::dependencies::is_blocked;
use domain::tasks::metadata::Metadata;
use domain::tasks::{
    Defaults, Frozen, OPEN_MAX, Provenance, Revision, Task, TaskState, TaskStatus, check_place, freeze,
    queue_rank,
};
use domain::{Id, Timestamp};
use records::{Tx, members, projects, task_revisions, tasks};
use serde_json::{Map, Value};

use super::edges::{self, Asking};
use super::provenance::behind;
use super::risk::{self, Assessed};
use super::submit::hand_in;
use super::{Seen, announce, config_refused, facts, invalid, record, seen, taken, writer};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::{Caller, Hub, HubError, rules, settings};

/// What a new task should be.
pub struct NewTask {
    /// What it will do.
    pub config: Value,
    /// What is said about it.
    pub metadata: Map<String, Value>,
    /// Where it lives; none: in the default project.
    pub project_id: Option<Id<Project>>,
    /// Its short name.
    pub slug: Option<String>,
    /// Its place in the plan.
    pub path: Option<String>,
    /// Who shall apply it.
    pub assignee: Option<Id<Account>>,
    /// Until when it should be done.
    pub due_at: Option<Timestamp>,
    /// What it waits for.
    pub depends_on: Vec<Id<Task>>,
    /// Whether it is handed in at once.
    pub submit: bool,
}

/// A new task whose own fields are right; what else there is decides in the unit.
pub(crate) struct Prepared {
    pub(crate) id: Id<Task>,
    pub(crate) wanted: NewTask,
    pub(crate) frozen: Frozen,
    pub(crate) said: Metadata,
    pub(crate) settings: Settings,
    /// Who had a hand in these bytes before; nobody in those of a new task.
    pub(crate) inherited: Provenance,
}

/// Checks what can be checked without the records, and freezes the config.
pub(crate) async fn prepare(hub: &Hub, caller: &Caller, wanted: NewTask) -> Result<Prepared, HubError> {
    caller.require(Capability::TasksWrite)?;
    let settings = settings::of(hub, caller.credential.organization.id).await?;
    let frozen = freeze(&wanted.config, &Defaults { timeout_seconds: settings.task_default_timeout });
    let said = Metadata::default().merged(&wanted.metadata);
    let place = check_place(wanted.slug.as_deref(), wanted.path.as_deref());
    let frozen = frozen.map_err(config_refused)?;
    let mut errors = place.err().unwrap_or_default();
    let said = said.map_err(|wrong| errors.extend(wrong)).unwrap_or_default();
    if !errors.is_empty() {
        return Err(invalid(errors));
    }
    Ok(Prepared {
        id: hub.ids.id(),
        wanted,
        frozen,
        said,
        settings: (*settings).clone(),
        inherited: Provenance::default(),
    })
}

/// Writes a draft, and hands it in if that is wanted.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: NewTask,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    let taken = taken(wanted.slug.as_deref().unwrap_or_default());
    let prepared = prepare(hub, caller, wanted).await?;
    let input = Act::new(hub, caller, prepared);
    let made = write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await;
    made.map_err(|error| error.or_taken(|| taken))
}

async fn unit(tx: &mut Tx, act: &Act<Prepared>) -> Result<Seen, HubError> {
    let mut task = make(tx, act, &act.input).await?;
    if act.input.wanted.submit {
        let current = writer(tx, act).await?;
        task = hand_in(tx, act, &current, &task).await?;
    }
    seen(tx, &act.caller, task).await
}

/// Writes a draft as a part of a unit.
pub(crate) async fn make<T>(tx: &mut Tx, act: &Act<T>, prepared: &Prepared) -> Result<Task, HubError> {
    let wanted = &prepared.wanted;
    let (task, revision, _) = proposed(tx, act, prepared).await?;
    tasks::insert(tx, &task, &prepared.frozen.config.resources).await?;
    task_revisions::insert(tx, act.org(), &revision).await?;
    edges::set(tx, act, task.id, (&[], &wanted.depends_on)).await?;
    let details = facts(&task, &wanted.depends_on).as_object().cloned().unwrap_or_default();
    record(tx, act, "task:created", (None, &task), details).await?;
    announce(tx, act, "task:created", &task).await?;
    Ok(task)
}

/// A draft that may be written, its first revision, and the caller as it is now.
pub(super) async fn proposed<T>(
    tx: &mut Tx,
    act: &Act<T>,
    prepared: &Prepared,
) -> Result<(Task, Revision, Credential), HubError> {
    let wanted = &prepared.wanted;
    let project = project(tx, act, wanted).await?;
    let asking =
        Asking { task: prepared.id, is_new: true, project: project.id, depends_on: &wanted.depends_on };
    let prerequisites = edges::checked(tx, act, &asking).await?;
    let current = writer(tx, act).await?;
    require_member(tx, act, wanted.assignee).await?;
    let rules = rules::load(tx, &act.hub, act.org()).await?;
    let asked = Assessed {
        config: &prepared.frozen.config,
        preview: None,
        catalogue: rules.catalogue(),
        dependents: 0,
        thresholds: prepared.settings.risk_thresholds,
        now: act.now,
    };
    let risk = risk::of(tx, act.org(), &asked).await?;
    let waits = is_blocked(prerequisites.iter().map(|found| found.state));
    let task = draft(act, prepared, project.id, (risk, waits));
    let open = tasks::count_open(tx, &task).await?;
    if open >= OPEN_MAX {
        return Err(HubError::TooManyOpen { open });
    }
    let behind = behind(tx, &current).await?;
    let provenance = prepared.inherited.clone().with(&behind);
    let revision = revision(act, (&task, &prepared.frozen.bytes), provenance);
    Ok((task, revision, current))
}

/// The project it is to live in; whoever changes edges has it alone.
async fn project<T>(tx: &mut Tx, act: &Act<T>, wanted: &NewTask) -> Result<Project, HubError> {
    let id = match wanted.project_id {
        Some(id) => Some(id),
        None => projects::by_slug(tx, act.org(), DEFAULT_SLUG).await?.map(|project| project.id),
    };
    let missing = || HubError::field("/project_id", "there is no such project");
    let id = id.ok_or_else(missing)?;
    let project = match wanted.depends_on.is_empty() {
        true => projects::get_shared(tx, act.org(), id).await?,
        false => projects::get_locked(tx, act.org(), id).await?,
    };
    project.ok_or_else(missing)
}

fn draft<T>(
    act: &Act<T>,
    prepared: &Prepared,
    project_id: Id<Project>,
    (risk, waits): (domain::risk::Risk, bool),
) -> Task {
    let (wanted, config) = (&prepared.wanted, &prepared.frozen.config);
    Task {
        id: prepared.id,
        org_id: act.org(),
        project_id,
        author_id: act.actor(),
        slug: wanted.slug.clone(),
        path: wanted.path.clone(),
        state: TaskState::Draft,
        status: TaskStatus::of(TaskState::Draft, waits),
        revision: 1,
        content_hash: prepared.frozen.hash,
        version: 1,
        task_type: config.task_type.clone(),
        priority: i64::from(config.priority),
        assignee: wanted.assignee,
        due_at: wanted.due_at,
        tags: prepared.said.tags.clone(),
        metadata: prepared.said.members.clone(),
        risk,
        preview: None,
        effect_hash: None,
        review_id: None,
        queue_rank: queue_rank(config.priority.into()),
        not_before: None,
        needs_attention: false,
        resubmitted_from: None,
        submitted_at: None,
        approved_at: None,
        applying_at: None,
        completed_at: None,
        ended_at: None,
        created_at: act.now,
        updated_at: act.now,
    }
}

/// Refuses an assignee who is not of the organization.
pub(super) async fn require_member<T>(
    tx: &mut Tx,
    act: &Act<T>,
    assignee: Option<Id<Account>>,
) -> Result<(), HubError> {
    let Some(assignee) = assignee else { return Ok(()) };
    match members::get_shared(tx, act.org(), assignee).await? {
        Some(_) => Ok(()),
        None => Err(HubError::field("/assignee", "there is no such account in this organization")),
    }
}

/// The bytes of the task's current revision, with everybody who had a hand in it.
pub(super) fn revision<T>(act: &Act<T>, (task, bytes): (&Task, &[u8]), provenance: Provenance) -> Revision {
    Revision {
        id: act.hub.ids.id(),
        task_id: task.id,
        number: task.revision,
        config: bytes.to_vec(),
        content_hash: task.content_hash,
        edited_by: act.actor(),
        provenance,
        created_at: act.now,
    }
}
