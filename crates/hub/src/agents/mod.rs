//! Agents: made, found, changed, heard, retired.
//!
//! **Locks.** A unit takes rows in the order in which `confirm` reads them: keys, account, membership, agent. Otherwise
//! two units could wait for each other.

mod change;
mod create;
mod deactivate;
mod list;
pub(crate) mod owners;
mod presence;
pub(crate) mod silence;

use domain::Id;
use domain::accounts::Account;
use domain::agents::{Agent, AgentAct, Relation, Workload, may};
use domain::canonical::sha256;
use domain::permissions::Capability;
use domain::subject::Subject;
use records::{Tx, executions, tasks};
use serde_json::{Map, Value, json};

pub use change::change;
pub use create::{NewAgent, create};
pub use deactivate::deactivate;
pub use list::{get, list};
pub(crate) use presence::note_alive;
pub use presence::{Heard, drain, heartbeat, resume};

use crate::act::Act;
use crate::caller::lacks;
use crate::identity::credential::Credential;
use crate::{Caller, HubError};

const MISSING: HubError = HubError::NotFound("agent");

/// An agent as one caller sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The agent.
    pub agent: Agent,
    /// What it has to do.
    pub workload: Workload,
    shows_config: bool,
}

impl Seen {
    fn by(caller: &Caller, agent: Agent, workload: Workload) -> Self {
        let credential = &caller.credential;
        let shows_config = agent.owner_id == credential.account.id || credential.standing().is_org_admin();
        Self { agent, workload, shows_config }
    }

    /// How it is set up; for its owner and admins only.
    #[must_use]
    pub fn config(&self) -> Option<&Map<String, Value>> {
        self.shows_config.then_some(&self.agent.config)
    }

    /// What a reader must send to change exactly this. It covers what people decide about the agent and nothing that a
    /// heartbeat changes; `config` only for those who see it, because a hash answers guesses.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(&self.agent, self.shows_config)
    }
}

fn etag(agent: &Agent, with_config: bool) -> String {
    let mut decided = facts(agent);
    if with_config {
        decided["config"] = Value::Object(agent.config.clone());
    }
    format!("\"{}\"", hex::encode(&sha256(decided.to_string().as_bytes())[..16]))
}

/// What people decide about an agent, as everybody in the organization may read it.
fn facts(agent: &Agent) -> Value {
    json!({
        "owner_id": agent.owner_id.to_string(), "name": agent.name, "description": agent.description,
        "model": agent.model, "role_name": agent.role_name, "max_tasks": agent.max_tasks, "labels": agent.labels,
        "draining": agent.draining, "deactivated_at": agent.deactivated_at.map(|at| at.to_string()),
    })
}

/// What each has to do (LOCK-17), counted: nothing that is counted can be forgotten.
async fn workloads(tx: &mut Tx, agents: &[Agent]) -> Result<Vec<Workload>, HubError> {
    let Some(org) = agents.first().map(|agent| agent.org_id) else { return Ok(Vec::new()) };
    let ids: Vec<Id<Account>> = agents.iter().map(|agent| agent.id).collect();
    let active = executions::running(tx, org, &ids).await?;
    let queued = tasks::queued(tx, org, &ids).await?;
    let sum = |counts: &[(Id<Account>, i64)], id: Id<Account>| -> i64 {
        counts.iter().filter(|(of, _)| *of == id).map(|(_, count)| count).sum()
    };
    let workload =
        |id: &Id<Account>| Workload { active_tasks: sum(&active, *id), queued_tasks: sum(&queued, *id) };
    Ok(ids.iter().map(workload).collect())
}

async fn seen(tx: &mut Tx, caller: &Caller, agent: Agent) -> Result<Seen, HubError> {
    let workload = workloads(tx, std::slice::from_ref(&agent)).await?.into_iter().next();
    Ok(Seen::by(caller, agent, workload.unwrap_or_default()))
}

fn subject(agent: Id<Account>) -> Subject {
    Subject::new("agent", agent)
}

/// The agent, if it is there, the caller may do this with it, and it is not retired.
pub(crate) fn admitted(current: &Credential, agent: Option<Agent>, act: AgentAct) -> Result<Agent, HubError> {
    let agent = agent.ok_or(MISSING)?;
    let relation = Relation {
        is_itself: current.account.id == agent.id,
        is_owner: current.account.id == agent.owner_id,
        is_org_admin: current.standing().is_org_admin(),
        may_write: current.capabilities().contains(Capability::AgentsWrite),
    };
    if may(act, relation) {
        return Ok(agent);
    }
    if may(act, Relation { may_write: true, ..relation }) {
        return Err(lacks(Capability::AgentsWrite));
    }
    Err(HubError::Forbidden(match act {
        AgentAct::ChangeOwner => "only an admin of the organization gives an agent another owner".into(),
        AgentAct::Heartbeat => "only the agent itself and its owner say that it is alive".into(),
        AgentAct::Lock => "only an agent itself and its owner take and keep its locks".into(),
        AgentAct::Work => "only an agent itself and its owner claim tasks for it and report on them".into(),
        _ => "only the owner of an agent and admins of the organization may do this".into(),
    }))
}

/// Refuses to go on with a retired agent.
pub(crate) fn require_active(agent: &Agent) -> Result<(), HubError> {
    match agent.deactivated_at {
        None => Ok(()),
        Some(at) => Err(HubError::InvalidState {
            state: "deactivated".into(),
            detail: format!("the agent was deactivated at {at}; make another"),
        }),
    }
}

fn taken(name: &str) -> String {
    format!("name: an active agent with the name `{name}` exists already in this organization")
}

/// Tells of an agent: ids and states, nothing it is called or set up with.
async fn announce<T>(tx: &mut Tx, act: &Act<T>, event_type: &str, agent: &Agent) -> Result<(), HubError> {
    act.announce(tx, event_type, subject(agent.id), payload(agent)).await
}

fn payload(agent: &Agent) -> Value {
    json!({
        "agent_id": agent.id.to_string(), "owner_id": agent.owner_id.to_string(),
        "status": agent.status().as_str(),
    })
}
