//! What follows from the end of an attempt, written in the unit of whoever ended it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use domain::Id;
use domain::executions::{Execution, ExecutionResult, Matter, Outcome, Phase, Purpose, Report, settle};
use domain::gate::{Claim, released};
use domain::locks::Hold;
use domain::subject::Subject;
use domain::tasks::dependencies::is_blocked;
use domain::tasks::{Resource, Task, TaskConfig, TaskState};
use records::{
    Tx, execution_history, executions, grants, resource_claims, task_dependencies, task_revisions, tasks,
};
use serde_json::{Map, Value, json};

use super::start::told;
use super::{ENDED, keys, over};
use crate::act::{self, Deed};
use crate::faults::reached;
use crate::reviews::tell_dependents;
use crate::tasks::{announce, announce_move, current_config, record};
use crate::{Hub, HubError};

/// Chance from 0 to 1.
pub(super) fn chance(hub: &Hub) -> f64 {
    (RandomState::new().hash_one(hub.clock.now()) % 1000) as f64 / 1000.0
}

/// Writes what follows from a report on an attempt, and gives it as it is then. The unit has locked both.
pub(super) async fn write(
    tx: &mut Tx,
    deed: &impl Deed,
    (task, execution): (&Task, &Execution),
    report: &Report,
) -> Result<Execution, HubError> {
    execution.require_running().map_err(over)?;
    let (grant, config) = approved(tx, task, execution).await?;
    let now = deed.now();
    let jitter = chance(deed.hub());
    let matter = Matter { task, execution, grant: &grant, config: &config, jitter, now };
    let settled = settle(&matter, report).map_err(over)?;
    tasks::save(tx, task, &settled.task).await?;
    reached("settle:task");
    executions::update(tx, &settled.execution).await?;
    reached("settle:execution");
    if settled.execution.ended_at.is_some() {
        free(tx, deed, &settled.execution, &config).await?;
        reached("settle:claims");
        note(tx, deed, &settled.execution, &config).await?;
        reached("settle:history");
    }
    if let Purpose::Rollback = execution.purpose
        && let Some(undone) = executions::undone_by(tx, execution).await?
    {
        executions::update(tx, &settled.execution.undoes(&undone, now)).await?;
    }
    tell(tx, deed, task, (&settled.task, &settled.execution)).await?;
    reached("settle:announced");
    Ok(settled.execution)
}

/// The Grant an attempt was taken from, and what it is for.
async fn approved(
    tx: &mut Tx,
    task: &Task,
    execution: &Execution,
) -> Result<(domain::grants::Grant, TaskConfig), HubError> {
    let grant = grants::standing_locked(tx, task.org_id, task.id).await?;
    let grant = grant.filter(|grant| grant.id == execution.grant_id);
    let grant = grant.ok_or(records::Error::Misbehaved("the grant of an attempt is missing"))?;
    let revision = task_revisions::get(tx, task.org_id, task.id, grant.revision).await?;
    let revision = revision.ok_or(records::Error::Misbehaved("the revision of a grant is missing"))?;
    Ok((grant, current_config(&revision)?))
}

/// Ends the claims of an attempt, and tells that its locks go.
async fn free(
    tx: &mut Tx,
    deed: &impl Deed,
    execution: &Execution,
    config: &TaskConfig,
) -> Result<(), HubError> {
    let names: BTreeSet<String> = config.resources.iter().map(Resource::name).collect();
    let names: Vec<String> = names.into_iter().collect();
    let claims: BTreeMap<String, Claim> = resource_claims::look(tx, deed.org(), &names).await?;
    for claim in released(&claims, &config.resources, execution.id) {
        resource_claims::put(tx, deed.org(), &claim, deed.now()).await?;
    }
    for lock in &execution.locks {
        let subject = Subject::new("lock", &lock.key);
        act::announce(tx, deed, "lock:released", subject, told(execution, lock)).await?;
    }
    Ok(())
}

/// What risk will know of it (RISK history). An attempt that an admin ended says nothing about the change.
async fn note(
    tx: &mut Tx,
    deed: &impl Deed,
    execution: &Execution,
    config: &TaskConfig,
) -> Result<(), HubError> {
    let counts = match (execution.purpose, execution.result) {
        (Purpose::Apply, Some(result)) => result != ExecutionResult::Cancelled,
        _ => false,
    };
    if !counts {
        return Ok(());
    }
    let has_failed = execution.result != Some(ExecutionResult::Success);
    let names: BTreeSet<String> = config.resources.iter().map(Resource::name).collect();
    for name in names {
        let of = (deed.org(), config.task_type.as_str());
        execution_history::note(tx, of, &name, has_failed, deed.now()).await?;
    }
    Ok(())
}

async fn tell(
    tx: &mut Tx,
    deed: &impl Deed,
    before: &Task,
    (task, execution): (&Task, &Execution),
) -> Result<(), HubError> {
    let action = match (task.state, before.state, execution.phase()) {
        (TaskState::Completed, ..) => "task:completed",
        (TaskState::Approved, ..) => "task:attempt_failed",
        (_, _, Phase::RollingBack) => "task:rolling_back",
        (_, TaskState::Failed, _) => "task:rolled_back",
        _ => "task:failed",
    };
    record(tx, deed, action, (Some(before.state), task), details(task, execution)).await?;
    reached("settle:recorded");
    announce_move(tx, deed, (before.state, task)).await?;
    match action {
        "task:completed" | "task:failed" => announce(tx, deed, action, task).await?,
        _ => announce(tx, deed, "task:updated", task).await?,
    }
    match task.state {
        TaskState::Completed => unblock(tx, deed, task).await,
        state if state.is_dead() && !before.state.is_dead() => tell_dependents(tx, deed, task).await,
        _ => Ok(()),
    }
}

fn details(task: &Task, execution: &Execution) -> Map<String, Value> {
    let details = json!({
        "execution_id": execution.id.to_string(), "purpose": execution.purpose.as_str(),
        "agent_id": execution.agent_id.to_string(), "attempt": execution.attempt,
        "result": execution.result.map(ExecutionResult::as_str),
        "outcome": execution.outcome.map(Outcome::as_str), "rollback": execution.rollback.as_str(),
        "error": execution.error, "rollback_error": execution.not_undone().map(|why| why.error),
        "needs_attention": task.needs_attention,
        "not_before": task.not_before.map(|at| at.to_string()),
    });
    details.as_object().cloned().unwrap_or_default()
}

/// Tasks that waited for one that is done, and for nothing else, wait no more.
async fn unblock(tx: &mut Tx, deed: &impl Deed, done: &Task) -> Result<(), HubError> {
    for id in task_dependencies::dependents(tx, deed.org(), done.id).await? {
        let Some(dependent) = tasks::get_locked(tx, deed.org(), id).await? else { continue };
        let waits = task_dependencies::prerequisites(tx, deed.org(), &[id]).await?;
        let is_blocked = is_blocked(waits.iter().map(|waiting| waiting.state));
        if !dependent.is_blocked() || is_blocked || dependent.state.is_final() {
            continue;
        }
        let free = dependent.next_version(false, deed.now());
        tasks::save(tx, &dependent, &free).await?;
        announce(tx, deed, "task:updated", &free).await?;
    }
    Ok(())
}

/// Ends those of these attempts that run, because an admin takes one of their locks; in the order of their tasks.
/// Anybody may call the owner of a lock what they like, so it is the lock itself that tells whose it is.
pub(crate) async fn end_by_admin(
    tx: &mut Tx,
    deed: &impl Deed,
    named: &BTreeMap<Id<Hold>, Id<Execution>>,
) -> Result<Vec<Execution>, HubError> {
    let mut attempts = Vec::new();
    for (hold, id) in named {
        let attempt = executions::get(tx, deed.org(), *id).await?;
        attempts
            .extend(attempt.filter(|attempt| attempt.locks.iter().any(|lock| lock.lock_id == hold.raw())));
    }
    attempts.sort_by_key(|attempt| attempt.task_id);
    let mut ended = Vec::new();
    for attempt in attempts {
        ended.extend(end_silently(tx, deed, attempt.id, |_| Some(Report::Cancelled)).await?);
    }
    Ok(ended)
}

/// Ends an attempt if there is still a reason when both are locked.
pub(super) async fn end_silently(
    tx: &mut Tx,
    deed: &impl Deed,
    id: Id<Execution>,
    reason: impl Fn(&Execution) -> Option<Report> + Send,
) -> Result<Option<Execution>, HubError> {
    let org = deed.org();
    let Some(known) = executions::get(tx, org, id).await? else { return Ok(None) };
    let Some(task) = tasks::get_locked(tx, org, known.task_id).await? else { return Ok(None) };
    let Some(execution) = executions::get_locked(tx, org, id).await? else { return Ok(None) };
    if execution.ended_at.is_some() {
        return Ok(None);
    }
    let Some(report) = reason(&execution) else { return Ok(None) };
    write(tx, deed, (&task, &execution), &report).await.map(Some)
}

/// What is left to do once the end of an attempt is durable: its locks go. One that is missed ends by itself.
pub(crate) async fn let_go(hub: &Hub, execution: &Execution) {
    if execution.ended_at.is_none() {
        return;
    }
    let result = execution.result.map_or("none", ExecutionResult::as_str);
    let outcome = execution.outcome.map_or("none", Outcome::as_str);
    metrics::counter!(ENDED, "result" => result, "outcome" => outcome).increment(1);
    keys::release(hub, execution).await;
}
