//! Looking at locks, lines and tickets.

use coordination::locks::{Filter, Graph, Held, Refusal, Standing, Ticket};
use domain::accounts::Account;
use domain::locks::{Hold, Waiter};
use domain::permissions::Capability;
use domain::{Id, Timestamp};

use super::{acting, engine, key};
use crate::{Caller, Hub, HubError};

/// Which locks somebody wants to see.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only those of this agent.
    pub agent: Option<Id<Account>>,
    /// Only resources of this type.
    pub resource_type: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Only those older than this one.
    pub before: Option<(Timestamp, Id<Hold>)>,
    /// At most so many.
    pub limit: usize,
}

/// Locks of the organization, newest first.
pub async fn list(hub: &Hub, caller: &Caller, wanted: Wanted) -> Result<Vec<Held>, HubError> {
    caller.require(Capability::LocksRead)?;
    let filter = Filter {
        org: caller.credential.organization.id,
        agent: wanted.agent,
        resource_type: wanted.resource_type.map(Into::into),
        key: wanted.key.as_deref().map(|text| key("/key", text)).transpose()?,
        before: wanted.before,
        limit: wanted.limit,
    };
    Ok(engine(hub)?.list(filter).await?)
}

/// One key: who holds it, who waits.
pub async fn queue(hub: &Hub, caller: &Caller, text: &str) -> Result<Standing, HubError> {
    caller.require(Capability::LocksRead)?;
    let key = key("/key", text)?;
    Ok(engine(hub)?.queue(caller.credential.organization.id, key).await?)
}

/// Who waits for whom.
pub async fn graph(hub: &Hub, caller: &Caller) -> Result<Graph, HubError> {
    caller.require(Capability::LocksRead)?;
    Ok(engine(hub)?.graph(caller.credential.organization.id).await?)
}

/// How a ticket stands.
pub async fn ticket(hub: &Hub, caller: &Caller, id: Id<Waiter>) -> Result<Ticket, HubError> {
    caller.require(Capability::LocksRead)?;
    engine(hub)?.ticket(caller.credential.organization.id, id).await.map_err(missing)
}

/// Takes a ticket out of the line. Only whoever may act for its agent does.
pub async fn leave(hub: &Hub, caller: &Caller, id: Id<Waiter>) -> Result<Ticket, HubError> {
    caller.require(Capability::LocksWrite)?;
    let org = caller.credential.organization.id;
    let locks = engine(hub)?;
    let ticket = locks.ticket(org, id).await.map_err(missing)?;
    acting(hub, caller, Some(ticket.agent)).await.map_err(|error| match error {
        // It is there; whose it is is no secret, only not the caller's to end.
        HubError::NotFound(_) => HubError::Forbidden("this ticket is somebody else's".into()),
        other => other,
    })?;
    locks.leave(org, id).await.map_err(missing)
}

fn missing(refusal: Refusal) -> HubError {
    match refusal {
        Refusal::NoTicket => HubError::NotFound("ticket"),
        other => other.into(),
    }
}
