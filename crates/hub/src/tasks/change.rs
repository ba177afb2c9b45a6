//! Changing a task: what is said about it, and what it will do.

use domain::Id;
use domain::canonical::read_canonical;
use domain::permissions::Capability;
use domain::projects::Project;
use domain::settings::Settings;
use domain::tasks::dependencies::is_blocked;
use domain::tasks::{
    Actor, Defaults, Frozen, Move, Revision, Task, TaskChange, TaskConfig, TaskState, freeze, thaw,
};
use records::{Tx, projects, task_dependencies, task_revisions, tasks};

use serde_json::Value;

use super::create::{require_member, revision};
use super::edges::{self, Asking};
use super::provenance::behind;
use super::risk::{self, Assessed};
use super::{
    Seen, actor, announce, config_refused, facts, invalid, known, locked, record, require, seen, taken,
    writer,
};
use crate::act::{Act, differences};
use crate::identity::credential::Credential;
use crate::reviews::{begin, of_task, void};
use crate::{Caller, Hub, HubError, etag, rules, settings};

struct Change {
    id: Id<Task>,
    change: TaskChange,
    frozen: Option<Frozen>,
    if_match: Option<String>,
    settings: Settings,
}

/// Changes a task. What reviewers decide about changes in a draft; under review it begins the review anew.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    change: TaskChange,
    if_match: Option<String>,
) -> Result<Seen, HubError> {
    caller.require(Capability::TasksWrite)?;
    let settings = settings::of(hub, caller.credential.organization.id).await?;
    let defaults = Defaults { timeout_seconds: settings.task_default_timeout };
    let frozen = change.config.as_ref().map(|config| freeze(config, &defaults)).transpose();
    let frozen = frozen.map_err(config_refused)?;
    let taken = taken(change.slug.as_ref().and_then(Option::as_deref).unwrap_or_default());
    let settings = (*settings).clone();
    let input = Act::new(hub, caller, Change { id, change, frozen, if_match, settings });
    let changed = hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await;
    changed.map_err(|error: HubError| error.or_taken(|| taken))
}

async fn unit(tx: &mut Tx, act: &Act<Change>) -> Result<Seen, HubError> {
    let before = alone(tx, act).await?;
    let current = writer(tx, act).await?;
    require(&current, &before, Move::Describe)?;
    etag::require(act.input.if_match.as_deref(), &super::etag(&before))?;
    let (depends_on, wanted, waits) = prerequisites(tx, act, &before).await?;
    let mut after = before.described(&act.input.change).map_err(invalid)?;
    let rewritten = act.input.frozen.as_ref().filter(|frozen| frozen.hash != before.content_hash);
    if let Some(frozen) = rewritten {
        after = after.rewritten(frozen);
    }
    let other_edges = depends_on != wanted;
    let is_edited = other_edges || before.is_edited_in(&after);
    if is_edited {
        require(&current, &before, Move::Edit)?;
    }
    if !other_edges && after == before {
        return seen(tx, &act.caller, before).await;
    }
    check_moved(tx, act, &before, &after).await?;
    if after.assignee != before.assignee {
        require_member(tx, act, after.assignee).await?;
    }
    let restarts = is_edited && before.state == TaskState::Reviewing;
    match rewritten {
        Some(frozen) => {
            let previous = current_revision(tx, &before).await?;
            rewrite(tx, act, (&current, &previous), (&mut after, frozen)).await?;
        }
        // Reviewers decide about that too, so whoever changed it has a hand in it: the same bytes are a new revision
        // (DECISIONS.md 25).
        None if is_edited => renew(tx, act, &current, &mut after).await?,
        None => (),
    }
    let after = after.next_version(waits, act.now);
    tasks::save(tx, &before, &after).await?;
    edges::set(tx, act, after.id, (&depends_on, &wanted)).await?;
    let details = differences(&facts(&before, &depends_on), &facts(&after, &wanted));
    record(tx, act, "task:updated", (Some(before.state), &after), details).await?;
    announce(tx, act, "task:updated", &after).await?;
    let after = match restarts {
        true => {
            let who = actor(&current, &after);
            review_anew(tx, act, after, who).await?
        }
        false => after,
    };
    seen(tx, &act.caller, after).await
}

/// A new revision of the same bytes.
pub(super) async fn renew<T>(
    tx: &mut Tx,
    act: &Act<T>,
    current: &Credential,
    after: &mut Task,
) -> Result<(), HubError> {
    let previous = current_revision(tx, after).await?;
    after.revision += 1;
    let behind = behind(tx, current).await?;
    let next = revision(act, (after, &previous.config), previous.provenance.with(&behind));
    Ok(task_revisions::insert(tx, act.org(), &next).await?)
}

/// Voids the review of what was there before, and begins one of what is there now.
pub(super) async fn review_anew<T>(
    tx: &mut Tx,
    act: &Act<T>,
    task: Task,
    who: Actor,
) -> Result<Task, HubError> {
    let open = of_task(tx, &task).await?.filter(|review| review.resolution.is_none());
    if let Some(review) = open {
        void(tx, act, &review, act.actor()).await?;
    }
    begin(tx, act, &task, task.clone(), (Move::Edit, who)).await
}

/// The task, locked; before it its projects, if its edges or its place among them may change.
async fn alone(tx: &mut Tx, act: &Act<Change>) -> Result<Task, HubError> {
    let change = &act.input.change;
    if change.depends_on.is_none() && change.project_id.is_none() {
        return locked(tx, act, act.input.id).await;
    }
    let known = known(tx, act.org(), act.input.id).await?;
    let mut homes: Vec<Id<Project>> =
        [Some(known.project_id), change.project_id].into_iter().flatten().collect();
    homes.sort();
    homes.dedup();
    for home in homes {
        let found = projects::get_locked(tx, act.org(), home).await?;
        found.ok_or_else(|| HubError::field("/project_id", "there is no such project"))?;
    }
    let task = locked(tx, act, act.input.id).await?;
    if task.project_id != known.project_id {
        return Err(records::Error::LostRace { what: "a task".to_owned() }.into());
    }
    Ok(task)
}

/// What the task waits for, what it shall wait for, and whether any of that is not done.
async fn prerequisites(
    tx: &mut Tx,
    act: &Act<Change>,
    before: &Task,
) -> Result<(Vec<Id<Task>>, Vec<Id<Task>>, bool), HubError> {
    let waiting = task_dependencies::prerequisites(tx, act.org(), &[before.id]).await?;
    let has: Vec<Id<Task>> = waiting.iter().map(|waiting| waiting.task_id).collect();
    let change = &act.input.change;
    if change.depends_on.is_none() && change.project_id.is_none() {
        return Ok((has.clone(), has, is_blocked(waiting.iter().map(|waiting| waiting.state))));
    }
    let wanted = change.depends_on.clone().unwrap_or_else(|| has.clone());
    let project = change.project_id.unwrap_or(before.project_id);
    let asking = Asking { task: before.id, is_new: false, project, depends_on: &wanted };
    let found = edges::checked(tx, act, &asking).await?;
    // The order in which they are named says nothing.
    let same = has.len() == wanted.len() && wanted.iter().all(|id| has.contains(id));
    let wanted = if same { has.clone() } else { wanted };
    Ok((has, wanted, is_blocked(found.iter().map(|found| found.state))))
}

/// A task others wait for stays with them.
async fn check_moved(tx: &mut Tx, act: &Act<Change>, before: &Task, after: &Task) -> Result<(), HubError> {
    if before.project_id == after.project_id {
        return Ok(());
    }
    if task_dependencies::dependents(tx, act.org(), before.id).await?.is_empty() {
        return Ok(());
    }
    Err(HubError::field("/project_id", "tasks of its project wait for it, so it cannot leave"))
}

/// Keeps the new revision and assesses its risk.
async fn rewrite(
    tx: &mut Tx,
    act: &Act<Change>,
    (current, previous): (&Credential, &Revision),
    (after, frozen): (&mut Task, &Frozen),
) -> Result<(), HubError> {
    let rules = rules::load(tx, &act.hub, act.org()).await?;
    let asked = Assessed {
        config: &frozen.config,
        preview: None,
        catalogue: rules.catalogue(),
        dependents: task_dependencies::dependents(tx, act.org(), after.id).await?.len(),
        thresholds: act.input.settings.risk_thresholds,
        now: act.now,
    };
    after.risk = risk::of(tx, act.org(), &asked).await?;
    let behind = behind(tx, current).await?;
    let next = revision(act, (after, &frozen.bytes), previous.provenance.with(&behind));
    task_revisions::insert(tx, act.org(), &next).await?;
    Ok(tasks::set_resources(tx, after, &frozen.config.resources).await?)
}

/// The revision a task is at.
pub(crate) async fn current_revision(tx: &mut Tx, task: &Task) -> Result<Revision, HubError> {
    let found = task_revisions::get(tx, task.org_id, task.id, task.revision).await?;
    Ok(found.ok_or(records::Error::Misbehaved("a task has no current revision"))?)
}

/// What a revision says, as JSON.
pub(crate) fn config_value(revision: &Revision) -> Result<Value, HubError> {
    read_value(&revision.config)
}

/// What a revision says.
pub(crate) fn current_config(revision: &Revision) -> Result<TaskConfig, HubError> {
    read_config(&revision.config)
}

/// What the bytes of a revision say, as JSON.
pub(crate) fn read_value(bytes: &[u8]) -> Result<Value, HubError> {
    let damaged = || records::Error::BadRow { column: "config", reason: "not canonical JSON".to_owned() };
    Ok(read_canonical(bytes).ok_or_else(damaged)?)
}

/// What the bytes of a revision say.
pub(crate) fn read_config(bytes: &[u8]) -> Result<TaskConfig, HubError> {
    let unreadable = |error: domain::tasks::Unreadable| records::Error::BadRow {
        column: "config",
        reason: error.to_string(),
    };
    Ok(thaw(bytes).map_err(unreadable)?)
}
