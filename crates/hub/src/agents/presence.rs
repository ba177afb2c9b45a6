//! Whether an agent is there, and whether it takes work.

use domain::Id;
use domain::accounts::Account;
use domain::agents::{Agent, AgentAct, check_health};
use domain::permissions::Capability;
use records::{Tx, agents};
use serde_json::{Map, Value};

use super::{Seen, admitted, announce, require_active, seen, subject};
use crate::act::Act;
use crate::{Caller, Hub, HubError, settings};

/// What an agent is told when it was heard.
pub struct Heard {
    /// The agent.
    pub seen: Seen,
    /// How often it should be heard, in seconds.
    pub heartbeat_interval: u32,
}

struct Heartbeat {
    id: Id<Account>,
    health: Option<Map<String, Value>>,
}

/// Notes that an agent is alive. It says so itself, with any key of its own, or its owner does.
///
/// This happens all the time, so it leaves no audit row, and an event only when the agent was thought to be gone.
pub async fn heartbeat(
    hub: &Hub,
    caller: &Caller,
    id: Id<Account>,
    health: Option<Map<String, Value>>,
) -> Result<Heard, HubError> {
    if let Some(health) = &health {
        check_health(health).map_err(|bad| HubError::field("/health", bad.to_string()))?;
    }
    let heartbeat_interval =
        settings::of(hub, caller.credential.organization.id).await?.lock_heartbeat_interval;
    let input = Act::new(hub, caller, Heartbeat { id, health });
    let seen = hub.records.write(input, |tx, act| Box::pin(heartbeat_unit(tx, act))).await?;
    Ok(Heard { seen, heartbeat_interval })
}

async fn heartbeat_unit(tx: &mut Tx, act: &Act<Heartbeat>) -> Result<Seen, HubError> {
    let agent = agents::get_locked(tx, act.org(), act.input.id).await?;
    let current = act.reread(tx).await?;
    let agent = admitted(&current, agent, AgentAct::Heartbeat)?;
    require_active(&agent)?;
    let heard = noted(tx, act, &agent, act.input.health.as_ref()).await?;
    seen(tx, &act.caller, heard).await
}

async fn noted<T>(
    tx: &mut Tx,
    act: &Act<T>,
    agent: &Agent,
    health: Option<&Map<String, Value>>,
) -> Result<Agent, HubError> {
    let heard = agent.heard(health, act.now);
    agents::note_heard(tx, &heard).await?;
    if agent.offline_since.is_some() {
        announce(tx, act, "agent:online", &heard).await?;
    }
    Ok(heard)
}

/// Whoever claims a task or reports on one is there. The unit has locked the agent.
pub(crate) async fn note_alive<T>(tx: &mut Tx, act: &Act<T>, agent: &Agent) -> Result<(), HubError> {
    noted(tx, act, agent, None).await.map(drop)
}

/// Has an agent take no new work. It may ask for that itself.
pub async fn drain(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Seen, HubError> {
    set_draining(hub, caller, id, true).await
}

/// Has an agent take work again.
pub async fn resume(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<Seen, HubError> {
    caller.require(Capability::AgentsWrite)?;
    set_draining(hub, caller, id, false).await
}

async fn set_draining(hub: &Hub, caller: &Caller, id: Id<Account>, draining: bool) -> Result<Seen, HubError> {
    let input = Act::new(hub, caller, (id, draining));
    hub.records.write(input, |tx, act| Box::pin(draining_unit(tx, act))).await
}

async fn draining_unit(tx: &mut Tx, act: &Act<(Id<Account>, bool)>) -> Result<Seen, HubError> {
    let (id, draining) = act.input;
    let agent = agents::get_locked(tx, act.org(), id).await?;
    let current = act.reread(tx).await?;
    let (right, word) = match draining {
        true => (AgentAct::Drain, "agent:draining"),
        false => (AgentAct::Resume, "agent:resumed"),
    };
    let agent = admitted(&current, agent, right)?;
    require_active(&agent)?;
    if agent.draining == draining {
        return seen(tx, &act.caller, agent).await;
    }
    let after: Agent = agent.set_draining(draining, act.now);
    agents::update(tx, &after).await?;
    act.record(tx, word, subject(id), Map::new()).await?;
    announce(tx, act, word, &after).await?;
    seen(tx, &act.caller, after).await
}
