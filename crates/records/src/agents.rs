//! Agents: service accounts that work.

use domain::accounts::Account;
use domain::agents::{Agent, AgentStatus};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use serde_json::{Value as Json, json};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

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
statement!(
    GET_LOCKED: Agent = "SELECT id, org_id, owner_id, name, description, model, role_name, max_tasks, labels, \
                         config, draining, last_heartbeat, health, offline_since, deactivated_at, created_at, \
                         updated_at FROM agents WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    INSERT = "INSERT INTO agents (id, org_id, owner_id, name, description, model, role_name, max_tasks, labels, \
              config, draining, last_heartbeat, health, offline_since, deactivated_at, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);
statement!(
    LIST: Agent = "SELECT id, org_id, owner_id, name, description, model, role_name, max_tasks, labels, config, \
                   draining, last_heartbeat, health, offline_since, deactivated_at, created_at, updated_at \
                   FROM agents WHERE org_id = $1"
                  and ["owner_id = ?", "deactivated_at IS NULL",
                       "(offline_since IS NOT NULL OR deactivated_at IS NOT NULL)",
                       "(offline_since IS NULL AND deactivated_at IS NULL AND draining = ?)",
                       "(labels ->> CAST(? AS TEXT)) = ?", "(created_at, id) < (?, ?)"]
                  then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    UPDATE = "UPDATE agents SET owner_id = $1, name = $2, description = $3, model = $4, role_name = $5, \
              max_tasks = $6, labels = $7, config = $8, draining = $9, deactivated_at = $10, updated_at = $11 \
              WHERE org_id = $12 AND id = $13"
);
statement!(
    HEARD = "UPDATE agents SET last_heartbeat = $1, health = $2, offline_since = $3, updated_at = $4 \
             WHERE org_id = $5 AND id = $6"
);
// Over all organizations, oldest first: a walk along the index of those who were heard, from its beginning.
statement!(
    SILENT: Silent = "SELECT id, org_id, last_heartbeat FROM agents WHERE offline_since IS NULL AND \
                      deactivated_at IS NULL AND last_heartbeat < $1 AND (last_heartbeat, id) > ($2, $3) \
                      ORDER BY last_heartbeat, id LIMIT $4"
);
statement!(
    LOSE = "UPDATE agents SET offline_since = $1, updated_at = $1 WHERE org_id = $2 AND id = $3 AND \
            offline_since IS NULL AND deactivated_at IS NULL AND last_heartbeat < $4"
);

/// An agent that was not heard for a while.
#[derive(Clone, Copy, Debug)]
pub struct Silent {
    /// Which.
    pub id: Id<Account>,
    /// Where it works.
    pub org_id: Id<Organization>,
    /// When it was last heard.
    pub last_heartbeat: Timestamp,
}
row!(Silent { id, org_id, last_heartbeat });

/// Which agents.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those this account answers for.
    pub owner: Option<Id<Account>>,
    /// Only those in this status.
    pub status: Option<AgentStatus>,
    /// Only those with this label of this value.
    pub label: Option<(String, String)>,
    /// Also those that were retired.
    pub with_deactivated: bool,
    /// Only those behind this place in the list, newest first.
    pub after: Option<(Timestamp, Id<Account>)>,
}

/// The agent.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Account>) -> Result<Option<Agent>> {
    tx.opt(&GET, args![org, id]).await
}

/// The agent, which nobody changes until this unit ends.
pub async fn get_shared(tx: &mut Tx, org: Id<Organization>, id: Id<Account>) -> Result<Option<Agent>> {
    tx.opt(&GET_SHARED, args![org, id]).await
}

/// The agent, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Account>) -> Result<Option<Agent>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// Adds an agent, whose account exists already.
pub async fn insert(tx: &mut Tx, agent: &Agent) -> Result<()> {
    tx.wakes.identity = true;
    tx.push(
        &INSERT,
        args![
            agent.id,
            agent.org_id,
            agent.owner_id,
            &agent.name,
            &agent.description,
            agent.model.as_deref(),
            agent.role_name.as_deref(),
            agent.max_tasks,
            &json!(agent.labels),
            &Json::Object(agent.config.clone()),
            agent.draining,
            agent.last_heartbeat,
            agent.health.as_ref(),
            agent.offline_since,
            agent.deactivated_at,
            agent.created_at,
            agent.updated_at,
        ],
    )
    .await
}

struct Count {
    count: i64,
}
row!(Count { count });
statement!(
    COUNT: Count = "SELECT count(*) AS count FROM (SELECT 1 FROM agents WHERE org_id = $1 \
                    AND deactivated_at IS NULL LIMIT $2) AS counted"
);

/// How many agents the organization has, counted no further than this.
pub async fn count(tx: &mut Tx, org: Id<Organization>, most: i64) -> Result<i64> {
    Ok(tx.one(&COUNT, args![org, most]).await?.count)
}

struct Owned {
    id: Id<Account>,
    owner_id: Id<Account>,
}
row!(Owned { id, owner_id });
statement!(
    OWNERS: Owned =
        lite "SELECT id, owner_id FROM agents WHERE org_id = $1 AND id IN (SELECT value FROM json_each($2))",
        pg "SELECT id, owner_id FROM agents WHERE org_id = $1 AND id IN (SELECT CAST(value AS UUID) FROM \
            jsonb_array_elements_text($2))"
);

/// Those of these accounts that are agents of the organization, each with its owner, in no order.
pub async fn owners(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: impl IntoIterator<Item = Id<Account>>,
) -> Result<Vec<(Id<Account>, Id<Account>)>> {
    let accounts: Json = accounts.into_iter().map(|account| account.to_string()).collect();
    let found = tx.all(&OWNERS, args![org, &accounts]).await?;
    Ok(found.into_iter().map(|owned| (owned.id, owned.owner_id)).collect())
}

/// Agents of the organization, newest first.
pub async fn list(tx: &mut Tx, org: Id<Organization>, filter: &Filter, limit: i64) -> Result<Vec<Agent>> {
    let mut search = LIST.with(args![org]);
    if let Some(owner) = filter.owner {
        LIST.and(&mut search, "owner_id = ?", args![owner]);
    }
    if !filter.with_deactivated {
        LIST.and(&mut search, "deactivated_at IS NULL", args![]);
    }
    match filter.status {
        None => {}
        Some(AgentStatus::Offline) => {
            LIST.and(&mut search, "(offline_since IS NOT NULL OR deactivated_at IS NOT NULL)", args![]);
        }
        Some(status @ (AgentStatus::Active | AgentStatus::Draining)) => {
            let clause = "(offline_since IS NULL AND deactivated_at IS NULL AND draining = ?)";
            LIST.and(&mut search, clause, args![status == AgentStatus::Draining]);
        }
    }
    if let Some((key, value)) = &filter.label {
        LIST.and(&mut search, "(labels ->> CAST(? AS TEXT)) = ?", args![key, value]);
    }
    if let Some((created_at, id)) = filter.after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// Changes what people decide about an agent.
pub async fn update(tx: &mut Tx, agent: &Agent) -> Result<()> {
    tx.wakes.identity = true;
    let (labels, config) = (json!(agent.labels), Json::Object(agent.config.clone()));
    let values = args![
        agent.owner_id,
        &agent.name,
        &agent.description,
        agent.model.as_deref(),
        agent.role_name.as_deref(),
        agent.max_tasks,
        &labels,
        &config,
        agent.draining,
        agent.deactivated_at,
        agent.updated_at,
        agent.org_id,
        agent.id,
    ];
    tx.change_one(&UPDATE, values, "an agent").await
}

/// Notes that an agent was heard. Nobody's rights depend on it, so no cache is emptied.
pub async fn note_heard(tx: &mut Tx, agent: &Agent) -> Result<()> {
    let values = args![
        agent.last_heartbeat,
        agent.health.as_ref(),
        agent.offline_since,
        agent.updated_at,
        agent.org_id,
        agent.id,
    ];
    tx.change_one(&HEARD, values, "an agent").await
}

/// Agents of all organizations last heard before `cutoff` that still count as there, the longest silent first, behind
/// this one.
pub async fn silent(
    db: &Db,
    cutoff: Timestamp,
    after: (Timestamp, Id<Account>),
    limit: i64,
) -> Result<Vec<Silent>> {
    db.all(&SILENT, args![cutoff, after.0, after.1, limit]).await
}

/// Marks an agent that was last heard before `cutoff` as gone. False if it was heard since, or is marked already.
pub async fn lose(tx: &mut Tx, agent: &Silent, cutoff: Timestamp, now: Timestamp) -> Result<bool> {
    Ok(tx.exec(&LOSE, args![now, agent.org_id, agent.id, cutoff]).await? == 1)
}
