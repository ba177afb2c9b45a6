//! The unit that begins an attempt: it asks the gate, and writes all that the gate answers.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Id;
use domain::agents::Agent;
use domain::executions::{Beginning, Execution, LockTaken, Purpose};
use domain::gate::{Claim, Facts, gate, roll_back};
use domain::grants::Grant;
use domain::subject::Subject;
use domain::tasks::dependencies::blocked_by;
use domain::tasks::{Resource, Revision, Task, TaskConfig};
use records::{Tx, approvals, executions, grants, resource_claims, task_revisions, tasks};
use serde_json::{Map, Value, json};

use super::look::{Prospect, admit};
use super::{MISSING, STARTED, refused, worker};
use crate::HubError;
use crate::act::Act;
use crate::agents::{note_alive, require_active};
use crate::faults::reached;
use crate::reviews::close;
use crate::tasks::{announce, announce_move, current_config, locked, prerequisites, record};

/// An attempt that has begun, with what its agent is told.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The attempt.
    pub execution: Execution,
    /// How many attempts were approved.
    pub of: u32,
    /// The hash of the bytes.
    pub content_hash: String,
    /// The approved bytes.
    pub config: Vec<u8>,
    /// When each of its locks ends unless it is renewed, in their order.
    pub expires_at: Vec<domain::Timestamp>,
    /// How often its agent should be heard, in seconds.
    pub heartbeat_interval: u32,
}

/// What the unit begins.
pub(super) struct Input {
    pub(super) prospect: Prospect,
    pub(super) execution: Id<Execution>,
    pub(super) locks: Vec<LockTaken>,
    pub(super) expires_at: Vec<domain::Timestamp>,
    pub(super) lease_seconds: u32,
    pub(super) heartbeat_interval: u32,
}

/// Everything the gate looks at, read in this unit.
struct Read {
    task: Task,
    agent: Agent,
    grant: Grant,
    revision: Revision,
    config: TaskConfig,
    approvals: Vec<domain::approvals::Approval>,
    unfinished: Vec<Id<Task>>,
    capacity_left: u32,
    claims: BTreeMap<String, Claim>,
}

/// Begins the attempt, or says why not.
pub(super) async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Claimed, HubError> {
    let read = read(tx, act).await?;
    reached("gate:read");
    let fences = fences(&read.config.resources, &act.input.locks);
    let facts = Facts {
        task: &read.task,
        revision: &read.revision,
        resources: &read.config.resources,
        grant: &read.grant,
        approvals: &read.approvals,
        unfinished: &read.unfinished,
        capacity_left: read.capacity_left,
        claims: &read.claims,
        fences: &fences,
        execution: act.input.execution,
        now: act.now,
    };
    let execution = match act.input.prospect.purpose {
        Purpose::Apply => apply(tx, act, &read, &facts).await?,
        Purpose::Rollback => undo(tx, act, &read, &facts).await?,
    };
    note_alive(tx, act, &read.agent).await?;
    metrics::counter!(STARTED, "purpose" => execution.purpose.as_str()).increment(1);
    Ok(Claimed {
        execution,
        of: read.grant.attempts,
        content_hash: read.revision.content_hash.to_string(),
        config: read.revision.config,
        expires_at: act.input.expires_at.clone(),
        heartbeat_interval: act.input.heartbeat_interval,
    })
}

async fn read(tx: &mut Tx, act: &Act<Input>) -> Result<Read, HubError> {
    let Prospect { task, agent, .. } = act.input.prospect;
    let task = locked(tx, act, task).await?;
    let agent = worker(tx, act, agent).await?;
    require_active(&agent)?;
    admit(tx, &agent, &task).await?;
    let grant = grants::standing_locked(tx, act.org(), task.id).await?;
    let Some(grant) = grant else {
        return Err(refused(domain::gate::GateRefusal::NotApproved(task.state), task.state));
    };
    // The bytes that were approved, whatever the task says now.
    let revision = task_revisions::get(tx, act.org(), task.id, grant.revision).await?;
    let revision = revision.ok_or(records::Error::Misbehaved("the revision of a grant is missing"))?;
    let config = current_config(&revision)?;
    let names: Vec<String> = config.resources.iter().map(Resource::name).collect();
    let running: i64 =
        executions::running(tx, act.org(), &[agent.id]).await?.iter().map(|(_, count)| count).sum();
    Ok(Read {
        approvals: approvals::of_review(tx, act.org(), grant.review_id).await?,
        unfinished: unfinished(tx, act, task.id).await?,
        capacity_left: u32::try_from(agent.max_tasks - running).unwrap_or(0),
        claims: resource_claims::meet(tx, act.org(), &sorted(names), act.now).await?,
        task,
        agent,
        grant,
        revision,
        config,
    })
}

/// What it waits for and is not done, whether or not somebody signed that it need not be: the gate looks at both.
async fn unfinished(tx: &mut Tx, act: &Act<Input>, task: Id<Task>) -> Result<Vec<Id<Task>>, HubError> {
    let open = blocked_by(&prerequisites(tx, act.org(), task).await?);
    Ok(open.into_iter().map(|by| by.task_id).collect())
}

/// Claims change in the order of their names, so that no two units wait for each other.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// The fence under which each resource is locked, by its name.
fn fences(resources: &[Resource], locks: &[LockTaken]) -> BTreeMap<String, i64> {
    let fence = |resource: &Resource| {
        let name = resource.name();
        let lock = locks.iter().find(|lock| lock.key.strip_prefix("resource:") == Some(name.as_str()))?;
        Some((name, lock.fence))
    };
    resources.iter().filter_map(fence).collect()
}

async fn apply(tx: &mut Tx, act: &Act<Input>, read: &Read, facts: &Facts<'_>) -> Result<Execution, HubError> {
    let started = gate(facts).map_err(|refusal| refused(refusal, read.task.state))?;
    let execution = Execution::begun(&read.task, &read.grant, started.attempt, beginning(act, read));
    tasks::save(tx, &read.task, &started.task).await?;
    reached("gate:task");
    grants::update(tx, &started.grant).await?;
    reached("gate:grant");
    close(tx, act, (read.grant.review_id, &read.approvals)).await?;
    write(tx, act, &execution, &started.claims).await?;
    let details = details(&execution, &read.grant);
    record(tx, act, "task:applying", (Some(read.task.state), &started.task), details).await?;
    reached("gate:recorded");
    announce_move(tx, act, (read.task.state, &started.task)).await?;
    announce(tx, act, "task:applying", &started.task).await?;
    reached("gate:announced");
    Ok(execution)
}

/// Begins to undo what somebody asked to have undone. The task stays failed.
async fn undo(tx: &mut Tx, act: &Act<Input>, read: &Read, facts: &Facts<'_>) -> Result<Execution, HubError> {
    let latest = executions::latest(tx, act.org(), &[read.task.id]).await?.into_iter().next();
    let undone = executions::get_locked(tx, act.org(), latest.ok_or(MISSING)?.id).await?.ok_or(MISSING)?;
    let started = roll_back(facts, &undone).map_err(|refusal| refused(refusal, read.task.state))?;
    let execution = Execution::begun(&read.task, &read.grant, undone.attempt, beginning(act, read));
    let task = read.task.touched(act.now);
    tasks::save(tx, &read.task, &task).await?;
    executions::update(tx, &started.undone).await?;
    reached("gate:undone");
    write(tx, act, &execution, &started.claims).await?;
    let mut details = details(&execution, &read.grant);
    details.insert("undoes".into(), json!(undone.id.to_string()));
    record(tx, act, "task:rolling_back", (Some(task.state), &task), details).await?;
    announce(tx, act, "task:updated", &task).await?;
    Ok(execution)
}

fn beginning(act: &Act<Input>, read: &Read) -> Beginning {
    Beginning {
        id: act.input.execution,
        purpose: act.input.prospect.purpose,
        agent_id: read.agent.id,
        locks: act.input.locks.clone(),
        timeout: read.config.timeout(),
        lease: Duration::from_secs(act.input.lease_seconds.into()),
        now: act.now,
    }
}

/// The attempt, its claims, and that it has its locks: somebody must not miss those.
async fn write(
    tx: &mut Tx,
    act: &Act<Input>,
    execution: &Execution,
    claims: &[Claim],
) -> Result<(), HubError> {
    executions::insert(tx, execution).await?;
    reached("gate:execution");
    for claim in claims {
        resource_claims::put(tx, act.org(), claim, act.now).await?;
    }
    reached("gate:claims");
    for lock in &execution.locks {
        let subject = Subject::new("lock", &lock.key);
        act.announce(tx, "lock:acquired", subject, told(execution, lock)).await?;
    }
    Ok(())
}

/// What is told of a lock of an attempt.
pub(super) fn told(execution: &Execution, lock: &LockTaken) -> Value {
    json!({
        "key": lock.key, "agent_id": execution.agent_id.to_string(), "owner": execution.id.to_string(),
        "lock_id": lock.lock_id.to_string(), "fencing_token": lock.fence, "ticket_id": null,
    })
}

fn details(execution: &Execution, grant: &Grant) -> Map<String, Value> {
    let lock =
        |lock: &LockTaken| json!({"key": lock.key, "fencing_token": lock.fence, "mode": lock.mode.as_str()});
    let locks: Vec<Value> = execution.locks.iter().map(lock).collect();
    let details = json!({
        "execution_id": execution.id.to_string(), "purpose": execution.purpose.as_str(),
        "agent_id": execution.agent_id.to_string(), "grant_id": grant.id.to_string(),
        "attempt": execution.attempt, "of": grant.attempts, "content_hash": grant.content_hash.to_string(),
        "locks": locks,
    });
    details.as_object().cloned().unwrap_or_default()
}
