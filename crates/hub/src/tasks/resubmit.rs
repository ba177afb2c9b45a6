//! Making a new draft of a task that did not come through.

use domain::Id;
use domain::tasks::dependencies::Edge;
use domain::tasks::{Actor, Defaults, Move, Task, TaskState, freeze};
use records::{Tx, task_dependencies, tasks};
use serde_json::Map;

use super::change::{config_value, current_revision, renew, review_anew};
use super::create::{NewTask, Prepared, make};
use super::{Offer, Seen, announce, config_refused, known, locked, record, require, seen, writer};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::{Caller, Hub, HubError, settings};

struct Input {
    id: Id<Task>,
    take_over_dependents: bool,
    new_id: Id<Task>,
    settings: domain::settings::Settings,
}

/// Makes a draft like the task, which stays as it is. Whoever waited for it waits for the new one from then on, if that
/// is wanted and they are not approved yet.
pub async fn resubmit(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    take_over_dependents: bool,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::Resubmit.needs())?;
    let settings = settings::of(hub, caller.credential.organization.id).await?;
    let settings = (*settings).clone();
    let input = Input { id, take_over_dependents, new_id: hub.ids.id(), settings };
    let input = Act::new(hub, caller, input);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Seen, HubError> {
    let known = known(tx, act.org(), act.input.id).await?;
    // Edges move, so the project is this unit's alone.
    records::projects::get_locked(tx, act.org(), known.project_id).await?;
    let old = locked(tx, act, act.input.id).await?;
    if old.project_id != known.project_id {
        return Err(records::Error::LostRace { what: "a task".to_owned() }.into());
    }
    let current = writer(tx, act).await?;
    require(&current, &old, Move::Resubmit)?;
    let revision = current_revision(tx, &old).await?;
    let config = config_value(&revision)?;
    let defaults = Defaults { timeout_seconds: act.input.settings.task_default_timeout };
    let frozen = freeze(&config, &defaults).map_err(config_refused)?;
    let waits = task_dependencies::prerequisites(tx, act.org(), &[old.id]).await?;
    let said = old.said();
    let prepared = Prepared {
        id: act.input.new_id,
        frozen,
        inherited: revision.provenance,
        settings: act.input.settings.clone(),
        wanted: NewTask {
            config,
            metadata: Map::new(),
            project_id: Some(old.project_id),
            // The old one keeps its name.
            slug: None,
            path: old.path.clone(),
            assignee: old.assignee,
            due_at: old.due_at,
            depends_on: waits.iter().map(|waiting| waiting.task_id).collect(),
            submit: false,
        },
        said,
    };
    let made = make(tx, act, &prepared).await?;
    let new = Task { resubmitted_from: Some(old.id), ..made.touched(act.now) };
    tasks::save(tx, &made, &new).await?;
    if act.input.take_over_dependents {
        take_over(tx, act, &current, (&old, &new)).await?;
    }
    let mut details = Map::new();
    details.insert("resubmitted_as".into(), new.id.to_string().into());
    record(tx, act, "task:resubmitted", (Some(old.state), &old), details).await?;
    seen(tx, &act.caller, new).await
}

/// Moves the edges of those who wait for the old task and are not approved yet (DECISIONS.md 28).
async fn take_over(
    tx: &mut Tx,
    act: &Act<Input>,
    current: &Credential,
    (old, new): (&Task, &Task),
) -> Result<(), HubError> {
    let mut waiting = task_dependencies::dependents(tx, act.org(), old.id).await?;
    waiting.sort_unstable();
    for id in waiting {
        let Some(dependent) = tasks::get_locked(tx, act.org(), id).await? else { continue };
        if !dependent.state.is_before_approval() {
            continue;
        }
        task_dependencies::delete(tx, act.org(), Edge { depends_on: old.id, dependent: id }).await?;
        let edge_id: Id<Edge> = act.hub.ids.id();
        let edge = Edge { depends_on: new.id, dependent: id };
        task_dependencies::insert(tx, act.org(), (edge_id.raw(), edge), act.now).await?;
        // What it waits for is decided about too: a new revision, and under review a new review (DECISIONS.md 25).
        let mut after = dependent.next_version(true, act.now);
        renew(tx, act, current, &mut after).await?;
        tasks::save(tx, &dependent, &after).await?;
        let mut details = Map::new();
        details.insert("waits_for".into(), new.id.to_string().into());
        details.insert("instead_of".into(), old.id.to_string().into());
        record(tx, act, "task:dependency_moved", (Some(dependent.state), &after), details).await?;
        announce(tx, act, "task:updated", &after).await?;
        if after.state == TaskState::Reviewing {
            review_anew(tx, act, after, Actor::HUB).await?;
        }
    }
    Ok(())
}
