//! A look at a task that an agent would apply, before any lock is taken. The gate looks again at all of it.

use std::collections::BTreeSet;

use domain::accounts::Account;
use domain::agents::{Agent, AgentAct};
use domain::executions::{Applicant, Execution, Purpose, Rollback, executor};
use domain::permissions::Capability;
use domain::tasks::{Resource, Task, TaskConfig, TaskState};
use domain::{Id, Timestamp};
use records::{Tx, agents, executions, resource_claims, tasks};

use super::{NotBegun, not_admitted};
use crate::agents::{admitted, require_active};
use crate::identity::authenticate::still_may_in;
use crate::tasks::{current_config, current_revision, known, waits_for};
use crate::{Caller, Hub, HubError};

/// Something an agent may begin.
#[derive(Clone, Debug)]
pub(super) struct Prospect {
    pub(super) task: Id<Task>,
    pub(super) agent: Id<Account>,
    pub(super) purpose: Purpose,
    pub(super) resources: Vec<Resource>,
}

/// The agent the caller speaks for, as it is now.
pub(super) async fn applicant(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Agent, HubError> {
    caller.require(Capability::ExecutionsWrite)?;
    let input = (caller.credential.organization.id, id);
    let found = hub.records.read(input, |tx, &(org, id)| Box::pin(agents::get(tx, org, id))).await?;
    let agent = admitted(&caller.credential, found, AgentAct::Work)?;
    require_active(&agent)?;
    Ok(agent)
}

/// The task, if the agent may begin an attempt of it now, or undo its last one.
pub(super) async fn at_task(hub: &Hub, agent: &Agent, id: Id<Task>) -> Result<Prospect, HubError> {
    let input = (agent.clone(), id, hub.clock.now());
    hub.records.read(input, |tx, (agent, id, now)| Box::pin(one(tx, agent, *id, *now))).await
}

async fn one(tx: &mut Tx, agent: &Agent, id: Id<Task>, now: Timestamp) -> Result<Prospect, HubError> {
    let task = known(tx, agent.org_id, id).await?;
    let purpose = match task.state {
        TaskState::Approved => Purpose::Apply,
        TaskState::Failed if is_undone(tx, &task).await? => Purpose::Rollback,
        state => {
            let detail = format!("the task is {}, not APPROVED", state.as_str());
            return Err(HubError::NotBegun(Box::new(NotBegun::NotApproved { state, detail })));
        }
    };
    let config = admit(tx, agent, &task).await?;
    if purpose == Purpose::Apply {
        let open = waits_for(tx, &task).await?;
        if !open.is_empty() {
            return Err(HubError::NotBegun(Box::new(NotBegun::Blocked(open))));
        }
        if let Some(not_before) = task.not_before.filter(|not_before| *not_before > now) {
            return Err(HubError::NotBegun(Box::new(NotBegun::TooSoon(not_before))));
        }
    }
    Ok(Prospect { task: task.id, agent: agent.id, purpose, resources: config.resources })
}

async fn is_undone(tx: &mut Tx, task: &Task) -> Result<bool, HubError> {
    let latest = executions::latest(tx, task.org_id, &[task.id]).await?;
    Ok(latest.iter().any(|execution| execution.rollback == Rollback::Asked))
}

/// The config of a task that this agent may apply.
pub(super) async fn admit(tx: &mut Tx, agent: &Agent, task: &Task) -> Result<TaskConfig, HubError> {
    let config = current_config(&current_revision(tx, task).await?)?;
    let is_author_agent = agents::get(tx, task.org_id, task.author_id).await?.is_some();
    let applicant = Applicant { agent, task, config: &config, is_author_agent };
    executor(config.action).admits(&applicant).map_err(|refusal| not_admitted(&refusal))?;
    Ok(config)
}

/// The same, none if it may not.
async fn if_admitted(tx: &mut Tx, agent: &Agent, task: &Task) -> Result<Option<TaskConfig>, HubError> {
    match admit(tx, agent, task).await {
        Ok(config) => Ok(Some(config)),
        Err(HubError::Forbidden(_) | HubError::NotBegun(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Who looks for work.
#[derive(Clone)]
pub(super) struct Looking {
    pub(super) caller: Caller,
    pub(super) agent: Id<Account>,
    /// Whether they waited, and have to be asked again who they are.
    pub(super) has_waited: bool,
}

/// What an agent could begin, the best first; at most so many. All of it is one read: everybody who waits looks whenever
/// there may be work, and the most look in vain.
pub(super) async fn at_queue(hub: &Hub, looking: &Looking, limit: usize) -> Result<Queue, HubError> {
    let input = (looking.clone(), limit, hub.clone());
    hub.records
        .read(input, |tx, (looking, limit, hub)| {
            Box::pin(async move {
                let (caller, now) = (&looking.caller, hub.clock.now());
                if looking.has_waited {
                    still_may_in(tx, caller, Capability::ExecutionsWrite, now).await?;
                }
                let agent = agents::get(tx, caller.credential.organization.id, looking.agent).await?;
                let agent = admitted(&caller.credential, agent, AgentAct::Work)?;
                require_active(&agent)?;
                if agent.draining {
                    return Err(HubError::NotBegun(Box::new(NotBegun::Draining)));
                }
                let running = executions::running(tx, agent.org_id, &[agent.id]).await?;
                match running.iter().map(|(_, count)| count).sum::<i64>() >= agent.max_tasks {
                    true => Ok(Queue::default()),
                    false => {
                        queue(tx, &agent, (*limit, now), |task| hub.coordination.beginning.has(&task)).await
                    }
                }
            })
        })
        .await
}

/// What there is, and when there may be more. Nothing of either for an agent that has its hands full.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) prospects: Vec<Prospect>,
    /// The earliest hour of a task that waits for it.
    pub(super) not_before: Option<Timestamp>,
    /// The best task that somebody else is about to begin.
    pub(super) reserved: Option<Id<Task>>,
}

/// Tasks read at once.
const PAGE: i64 = 50;
/// Tasks looked at before those behind them have to wait for the next look.
const LOOKED_AT_MAX: usize = 500;

async fn queue(
    tx: &mut Tx,
    agent: &Agent,
    (limit, now): (usize, Timestamp),
    is_reserved: impl Fn(Id<Task>) -> bool + Sync,
) -> Result<Queue, HubError> {
    let (reserved, prospects): (Vec<Prospect>, Vec<Prospect>) =
        undoing(tx, agent).await?.into_iter().partition(|prospect| is_reserved(prospect.task));
    let reserved = reserved.first().map(|prospect| prospect.task);
    let mut found = Queue { prospects, reserved, not_before: None };
    let mut busy = BTreeSet::new();
    let (mut after, mut looked_at) = (None, 0);
    while found.prospects.len() < limit && looked_at < LOOKED_AT_MAX {
        let page = tasks::queue(tx, (agent.org_id, agent.id), after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.approved_at.map(|approved_at| (last.queue_rank, approved_at, last.id));
        looked_at += page.len();
        for task in &page {
            if found.prospects.len() >= limit {
                break;
            }
            if is_reserved(task.id) {
                found.reserved.get_or_insert(task.id);
                continue;
            }
            if let Some(not_before) = task.not_before.filter(|not_before| *not_before > now) {
                found.not_before = Some(found.not_before.map_or(not_before, |least| least.min(not_before)));
                continue;
            }
            let Some(config) = if_admitted(tx, agent, task).await? else { continue };
            if is_free(tx, task, &config.resources, &mut busy).await? {
                let resources = config.resources;
                let purpose = Purpose::Apply;
                found.prospects.push(Prospect { task: task.id, agent: agent.id, purpose, resources });
            }
        }
    }
    found.prospects.truncate(limit);
    Ok(found)
}

/// Whether nobody works on what it touches; those who do are remembered, so that many tasks on one thing cost one look.
async fn is_free(
    tx: &mut Tx,
    task: &Task,
    resources: &[Resource],
    busy: &mut BTreeSet<String>,
) -> Result<bool, HubError> {
    let names: Vec<String> = resources.iter().map(Resource::name).collect();
    if names.iter().any(|name| busy.contains(name)) {
        return Ok(false);
    }
    let claims = resource_claims::look(tx, task.org_id, &names).await?;
    let taken = claims.into_values().filter(|claim| claim.exclusive_by.is_some());
    let before = busy.len();
    busy.extend(taken.map(|claim| claim.resource));
    Ok(busy.len() == before)
}

/// Attempts that somebody asked to have undone, for agents that may.
async fn undoing(tx: &mut Tx, agent: &Agent) -> Result<Vec<Prospect>, HubError> {
    let mut prospects = Vec::new();
    for Execution { task_id, .. } in executions::asked(tx, agent.org_id, PAGE).await? {
        let Some(task) = tasks::get(tx, agent.org_id, task_id).await? else { continue };
        let Some(config) = if_admitted(tx, agent, &task).await? else { continue };
        let purpose = Purpose::Rollback;
        prospects.push(Prospect { task: task.id, agent: agent.id, purpose, resources: config.resources });
    }
    Ok(prospects)
}
