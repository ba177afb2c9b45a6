//! A person has an attempt undone that nobody has undone.

use domain::executions::{Execution, RollbackRefusal};
use domain::tasks::{RollbackStrategy, Task};
use domain::{Id, Timestamp};
use records::{Tx, executions, tasks};
use serde_json::{Map, json};

use super::MISSING;
use crate::act::Act;
use crate::faults::reached;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::tasks::{Offer, announce, current_config, current_revision, locked, require, subject};
use crate::{Caller, Hub, HubError, audit};

struct Input {
    id: Id<Execution>,
    reason: String,
}

/// Asks for the last attempt of a failed task to be undone. It waits for an agent then, and happens once.
pub async fn ask_rollback(
    hub: &Hub,
    caller: &Caller,
    id: Id<Execution>,
    reason: String,
    once: Option<Once<Execution>>,
) -> Result<Outcome<Execution>, HubError> {
    caller.require(Offer::Undo.needs())?;
    let input = Act::new(hub, caller, Input { id, reason });
    let asked = write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await?;
    reached("rollback:answering");
    Ok(asked)
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Execution, HubError> {
    let known = executions::get(tx, act.org(), act.input.id).await?.ok_or(MISSING)?;
    let before = locked(tx, act, known.task_id).await?;
    let current = crate::tasks::writer(tx, act).await?;
    let execution = executions::get_locked(tx, act.org(), act.input.id).await?.ok_or(MISSING)?;
    let config = current_config(&current_revision(tx, &before).await?)?;
    let latest = executions::latest(tx, act.org(), &[before.id]).await?.into_iter().next();
    let last = (latest.ok_or(MISSING)?.id, config.rollback_strategy);
    let asked = rollback(&current, (&before, &execution), last, act.now)?;
    require(&current, &before, Offer::Undo.of(before.state))?;
    let task = before.touched(act.now);
    tasks::save(tx, &before, &task).await?;
    executions::update(tx, &asked).await?;
    reached("rollback:written");
    let mut entry = act.entry("task:rollback_asked", subject(task.id));
    entry.reason = Some(act.input.reason.clone());
    entry.details = Map::from_iter([("execution_id".to_owned(), json!(asked.id.to_string()))]);
    audit::record(tx, &entry).await?;
    announce(tx, act, "task:rollback_asked", &task).await?;
    Ok(asked)
}

/// The attempt after this person asked for it to be undone: the same for whoever asks and for whoever is offered to.
pub(crate) fn rollback(
    credential: &Credential,
    (task, execution): (&Task, &Execution),
    last: (Id<Execution>, RollbackStrategy),
    now: Timestamp,
) -> Result<Execution, HubError> {
    if credential.agent.is_some() {
        return Err(HubError::Forbidden("a person decides whether what was left behind is undone".into()));
    }
    execution.rollback_asked(task, last, now).map_err(rollback_refused)
}

pub(crate) fn rollback_refused(refusal: RollbackRefusal) -> HubError {
    let state = match refusal {
        RollbackRefusal::NotFailed(state) => state.as_str(),
        RollbackRefusal::NotTheLast => "superseded",
        RollbackRefusal::NotApproved => "final",
        RollbackRefusal::Tried => "tried",
    };
    HubError::InvalidState { state: state.to_owned(), detail: refusal.to_string() }
}
