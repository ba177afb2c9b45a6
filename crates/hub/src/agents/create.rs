//! Making agents.

use std::collections::BTreeMap;

use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::agents::{Agent, Workload, may_own};
use domain::members::Seat;
use domain::organizations::MembershipLevel;
use domain::permissions::Capability;
use records::{Tx, agents};
use serde_json::{Map, Value};

use super::{Seen, announce, facts, owners, subject, taken};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::founding::{Entrance, enter};
use crate::{Caller, Hub, HubError};

/// What a new agent should be.
pub struct NewAgent {
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model it runs on.
    pub model: Option<String>,
    /// The behaviour it was given.
    pub role_name: Option<String>,
    /// How many tasks at once.
    pub max_tasks: i64,
    /// What tasks may require of it.
    pub labels: BTreeMap<String, String>,
    /// How it is set up.
    pub config: Map<String, Value>,
}

/// Makes an agent that the caller answers for, with an account of its own; its key is minted apart.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: NewAgent,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Capability::AgentsWrite)?;
    let now = hub.clock.now();
    let agent = Agent {
        id: hub.ids.id(),
        org_id: caller.credential.organization.id,
        owner_id: caller.credential.account.id,
        name: wanted.name,
        description: wanted.description,
        model: wanted.model,
        role_name: wanted.role_name,
        max_tasks: wanted.max_tasks,
        labels: wanted.labels,
        config: wanted.config,
        draining: false,
        last_heartbeat: None,
        health: None,
        // It has not been heard yet.
        offline_since: Some(now),
        deactivated_at: None,
        created_at: now,
        updated_at: now,
    };
    agent.check().map_err(HubError::Invalid)?;
    let taken = taken(&agent.name);
    let input = Act::new(hub, caller, agent);
    let made = write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await;
    made.map_err(|error| error.or_taken(|| taken))
}

async fn unit(tx: &mut Tx, act: &Act<Agent>) -> Result<Seen, HubError> {
    act.confirm(tx, Capability::AgentsWrite).await?;
    let agent = &act.input;
    let line = owners::line(tx, agent.org_id, agent.owner_id).await?;
    may_own(agent.id, &line).map_err(|refusal| HubError::Forbidden(refusal.to_string()))?;
    let account = account(agent);
    let organization = &act.caller.credential.organization;
    let seat = Seat::of(MembershipLevel::Member);
    let entrance = Entrance { organization, seat: &seat, granted_by: act.actor() };
    enter(tx, act.maker(), &account, &entrance).await?;
    agents::insert(tx, agent).await?;
    let details = facts(agent).as_object().cloned().unwrap_or_default();
    act.record(tx, "agent:created", subject(agent.id), details).await?;
    announce(tx, act, "agent:created", agent).await?;
    Ok(Seen::by(&act.caller, agent.clone(), Workload::default()))
}

/// The account the agent acts with. Nothing can be sent to its address.
fn account(agent: &Agent) -> Account {
    Account {
        id: agent.id,
        email: format!("agent-{}@countersign.invalid", agent.id),
        display_name: agent.name.clone(),
        gitea_username: None,
        access_level: AccessLevel::Service,
        status: AccountStatus::Active,
        home_org_id: Some(agent.org_id),
        created_at: agent.created_at,
        updated_at: agent.updated_at,
    }
}
