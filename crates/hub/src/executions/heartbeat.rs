//! One heartbeat for an attempt and all of its locks.

use std::time::Duration;

use coordination::locks::Refusal;
use domain::Id;
use domain::executions::{Execution, Report};
use domain::permissions::Capability;
use records::{Tx, executions};

use super::settle::{end_silently, let_go};
use super::{MISSING, keys, over, worker};
use crate::act::Act;
use crate::agents::note_alive;
use crate::faults::reached;
use crate::{Caller, Hub, HubError, settings};

/// What an agent is told when it was heard.
pub struct Heard {
    /// Its attempt.
    pub execution: Execution,
    /// How often it should be heard, in seconds.
    pub heartbeat_interval: u32,
}

struct Input {
    id: Id<Execution>,
    lease: Duration,
}

/// Notes that the agent of an attempt is alive, and renews its locks. An attempt that has lost one is over: somebody
/// outside may work on what it touches (EDGE-02).
pub async fn heartbeat(hub: &Hub, caller: &Caller, id: Id<Execution>) -> Result<Heard, HubError> {
    caller.require(Capability::ExecutionsWrite)?;
    let settings = settings::of(hub, caller.credential.organization.id).await?;
    let lease = Duration::from_secs(settings.lock_default_ttl.into());
    let act = Act::new(hub, caller, Input { id, lease });
    let execution = hub.records.write(act, |tx, act| Box::pin(unit(tx, act))).await?;
    reached("heartbeat:heard");
    if keys::renew(hub, &execution, settings.lock_default_ttl).await? {
        reached("heartbeat:renewed");
        return Ok(Heard { execution, heartbeat_interval: settings.lock_heartbeat_interval });
    }
    reached("heartbeat:lock_lost");
    let act = Act::new(hub, caller, id);
    let ended = hub.records.write(act, |tx, act| Box::pin(abort(tx, act))).await?;
    reached("heartbeat:ended");
    if let Some(ended) = ended {
        let_go(hub, &ended).await;
    }
    Err(Refusal::Expired.into())
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Execution, HubError> {
    let known = executions::get(tx, act.org(), act.input.id).await?.ok_or(MISSING)?;
    let agent = worker(tx, act, known.agent_id).await?;
    let execution = executions::get_locked(tx, act.org(), act.input.id).await?.ok_or(MISSING)?;
    let heard = execution.heard(act.input.lease, act.now).map_err(over)?;
    executions::update(tx, &heard).await?;
    note_alive(tx, act, &agent).await?;
    reached("heartbeat:written");
    Ok(heard)
}

async fn abort(tx: &mut Tx, act: &Act<Id<Execution>>) -> Result<Option<Execution>, HubError> {
    end_silently(tx, act, act.input, |_| Some(Report::LockLost)).await
}
