//! Noticing agents that are gone.

use std::collections::BTreeMap;

use domain::agents::{AgentStatus, shortest_silence, silence_allowed};
use domain::events::{Event, EventDraft};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use records::agents::{self, Silent};
use records::{Tx, events};
use serde_json::json;
use uuid::Uuid;

use super::subject;
use crate::{Hub, HubError, settings};

/// Silent agents looked at in one go.
const LOOKED_AT_ONCE: i64 = 500;
/// Agents marked in one unit.
const MARKED_AT_ONCE: usize = 100;

/// Marks the agents that were not heard for longer than their organization allows.
pub(crate) async fn mark_offline(hub: &Hub) -> Result<(), HubError> {
    let now = hub.clock.now();
    let cutoff = now.minus(shortest_silence());
    let mut after = (Timestamp::from_micros(0), Id::new(Uuid::nil()));
    while !hub.lifecycle.is_stopping() {
        let page = agents::silent(&hub.records, cutoff, after, LOOKED_AT_ONCE).await?;
        let Some(last) = page.last() else { break };
        after = (last.last_heartbeat, last.id);
        let mut by_organization: BTreeMap<Id<Organization>, Vec<Silent>> = BTreeMap::new();
        for agent in page {
            by_organization.entry(agent.org_id).or_default().push(agent);
        }
        for (org, silent) in by_organization {
            mark_of(hub, org, silent, now).await?;
        }
    }
    Ok(())
}

struct Marking {
    /// With the id of the event that tells of it.
    lost: Vec<(Silent, Id<Event>)>,
    cutoff: Timestamp,
    now: Timestamp,
}

async fn mark_of(
    hub: &Hub,
    org: Id<Organization>,
    silent: Vec<Silent>,
    now: Timestamp,
) -> Result<(), HubError> {
    let interval = settings::of(hub, org).await?.lock_heartbeat_interval;
    let cutoff = now.minus(silence_allowed(interval));
    let lost: Vec<Silent> = silent.into_iter().filter(|agent| agent.last_heartbeat < cutoff).collect();
    for some in lost.chunks(MARKED_AT_ONCE) {
        let lost = some.iter().map(|agent| (*agent, hub.ids.id())).collect();
        let marking = Marking { lost, cutoff, now };
        hub.records.write(marking, |tx, marking| Box::pin(unit(tx, marking))).await?;
    }
    Ok(())
}

/// An agent that was heard in the meantime, or that another server has marked, is left alone.
async fn unit(tx: &mut Tx, marking: &Marking) -> Result<(), HubError> {
    for (agent, event) in &marking.lost {
        if agents::lose(tx, agent, marking.cutoff, marking.now).await? {
            events::append(tx, &announcement(agent, *event, marking.now)).await?;
        }
    }
    Ok(())
}

/// Nobody did this: the hub itself noticed.
fn announcement(agent: &Silent, id: Id<Event>, now: Timestamp) -> EventDraft {
    EventDraft {
        id,
        org: Some(agent.org_id),
        event_type: "agent:offline".into(),
        occurred_at: now,
        actor: None,
        source: "system".into(),
        subject: subject(agent.id),
        payload: json!({
            "agent_id": agent.id.to_string(), "status": AgentStatus::Offline.as_str(),
            "last_heartbeat": agent.last_heartbeat.to_string(),
        }),
    }
}
