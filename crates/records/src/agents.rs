//! Agents: service accounts that work.

use domain::Id;
use domain::accounts::Account;
use domain::agents::Agent;
use domain::organizations::Organization;

use crate::{Result, Tx, args, row, statement};

row!(Agent {
    id,
    org_id,
    owner_id,
    name,
    description,
    model,
    role_name,
    max_tasks,
    labels,
    config,
    draining,
    last_heartbeat,
    health,
    offline_since,
    deactivated_at,
    created_at,
    updated_at
});

statement!(
    GET: Agent = "SELECT id, org_id, owner_id, name, description, model, role_name, max_tasks, labels, config, \
                  draining, last_heartbeat, health, offline_since, deactivated_at, created_at, updated_at \
                  FROM agents WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_SHARED: Agent = "SELECT id, org_id, owner_id, name, description, model, role_name, max_tasks, labels, \
                         config, draining, last_heartbeat, health, offline_since, deactivated_at, created_at, \
                         updated_at FROM agents WHERE org_id = $1 AND id = $2", lock "FOR SHARE"
);

/// The agent.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Account>) -> Result<Option<Agent>> {
    tx.opt(&GET, args![org, id]).await
}

/// The agent, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, org: Id<Organization>, id: Id<Account>) -> Result<Option<Agent>> {
    tx.opt(&GET_SHARED, args![org, id]).await
}
