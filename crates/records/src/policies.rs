//! Policies, with every version they ever had.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::policies::{Policy, PolicyRules};
use domain::{Id, Timestamp};

use crate::row::{Cell, Col};
use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

impl Col for PolicyRules {
    fn from_cell(cell: Cell<'_>) -> Result<Self, String> {
        Self::from_value(&Col::from_cell(cell)?).map_err(|error| error.to_string())
    }
}
row!(Policy { id, org_id, name, is_default, active, version, rules, created_at, updated_at });

statement!(
    GET: Policy = "SELECT p.id, p.org_id, v.name, p.is_default, v.active, v.version, v.rules, p.created_at, \
                   v.updated_at FROM policies p JOIN policy_versions v ON v.policy_id = p.id AND v.version = p.version \
                   WHERE p.org_id = $1 AND p.id = $2"
);
statement!(
    GET_VERSION: Policy = "SELECT p.id, p.org_id, v.name, p.is_default, v.active, v.version, v.rules, p.created_at, \
                           v.updated_at FROM policies p JOIN policy_versions v ON v.policy_id = p.id \
                           WHERE p.org_id = $1 AND p.id = $2 AND v.version = $3"
);
statement!(
    ACTIVE: Policy = "SELECT p.id, p.org_id, v.name, p.is_default, v.active, v.version, v.rules, p.created_at, \
                      v.updated_at FROM policies p JOIN policy_versions v ON v.policy_id = p.id AND \
                      v.version = p.version WHERE p.org_id = $1 AND p.active = true ORDER BY p.sort_name, p.id"
);
statement!(
    LIST: Policy = "SELECT p.id, p.org_id, v.name, p.is_default, v.active, v.version, v.rules, p.created_at, \
                    v.updated_at FROM policies p JOIN policy_versions v ON v.policy_id = p.id AND v.version = p.version \
                    WHERE p.org_id = $1"
                   and ["p.name = ?", "p.active = ?", "(p.sort_name, p.id) > (?, ?)"]
                   then "ORDER BY p.sort_name, p.id LIMIT ?"
);
statement!(
    INSERT = "INSERT INTO policies (id, org_id, name, sort_name, is_default, active, version, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
);
statement!(
    INSERT_VERSION = "INSERT INTO policy_versions (policy_id, version, org_id, name, active, rules, created_by, \
                      created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)"
);
statement!(
    UPDATE = "UPDATE policies SET name = $1, sort_name = $2, active = $3, version = $4, updated_at = $5 \
              WHERE org_id = $6 AND id = $7 AND version = $4 - 1"
);

struct Count {
    count: i64,
}
row!(Count { count });
statement!(
    IN_FORCE: Count = "SELECT count(*) AS count FROM policies WHERE org_id = $1 AND active = true AND is_default = false"
);

statement!(
    OTHERS_CALLED: Count = "SELECT count(*) AS count FROM policies WHERE org_id = $1 AND name = $2 AND id <> $3"
);

/// Which policies.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only the one of this name.
    pub name: Option<String>,
    /// Only those that are, or are not, in force.
    pub active: Option<bool>,
    /// Only those behind this place in the list.
    pub after: Option<(String, Id<Policy>)>,
}

/// The policy, as it is now.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Policy>) -> Result<Option<Policy>> {
    tx.opt(&GET, args![org, id]).await
}

/// The policy, as it was in this version.
pub async fn get_version(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<Policy>,
    version: i64,
) -> Result<Option<Policy>> {
    tx.opt(&GET_VERSION, args![org, id, version]).await
}

/// Every policy in force.
pub async fn active(tx: &mut Tx, org: Id<Organization>) -> Result<Vec<Policy>> {
    tx.all(&ACTIVE, args![org]).await
}

/// How many policies are in force beside the default one.
pub async fn count_in_force(tx: &mut Tx, org: Id<Organization>) -> Result<i64> {
    Ok(tx.one(&IN_FORCE, args![org]).await?.count)
}

/// Whether another policy than this one has its name.
pub async fn is_name_taken(tx: &mut Tx, policy: &Policy) -> Result<bool> {
    Ok(tx.one(&OTHERS_CALLED, args![policy.org_id, &policy.name, policy.id]).await?.count > 0)
}

/// Policies by name.
pub async fn list(db: &Db, org: Id<Organization>, filter: Filter, limit: i64) -> Result<Vec<Policy>> {
    let mut search = LIST.with(args![org]);
    if let Some(name) = filter.name {
        LIST.and(&mut search, "p.name = ?", args![name]);
    }
    if let Some(active) = filter.active {
        LIST.and(&mut search, "p.active = ?", args![active]);
    }
    if let Some((name, id)) = filter.after {
        LIST.and(&mut search, "(p.sort_name, p.id) > (?, ?)", args![name.into_bytes(), id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// Adds a policy with its first version. Whoever changes policies has the rule set locked.
pub async fn insert(tx: &mut Tx, policy: &Policy, by: Id<Account>) -> Result<()> {
    let values = args![
        policy.id,
        policy.org_id,
        &policy.name,
        policy.name.as_bytes(),
        policy.is_default,
        policy.active,
        policy.version,
        policy.created_at,
        policy.updated_at,
    ];
    tx.push(&INSERT, values).await?;
    insert_version(tx, policy, by, policy.updated_at).await
}

/// Makes this version the current one; it must be the next.
pub async fn update(tx: &mut Tx, policy: &Policy, by: Id<Account>) -> Result<()> {
    insert_version(tx, policy, by, policy.updated_at).await?;
    let values = args![
        &policy.name,
        policy.name.as_bytes(),
        policy.active,
        policy.version,
        policy.updated_at,
        policy.org_id,
        policy.id,
    ];
    tx.change_one(&UPDATE, values, "a policy").await
}

async fn insert_version(tx: &mut Tx, policy: &Policy, by: Id<Account>, at: Timestamp) -> Result<()> {
    let rules = policy.rules.to_value();
    let values = args![policy.id, policy.version, policy.org_id, &policy.name, policy.active, &rules, by, at];
    tx.push(&INSERT_VERSION, values).await
}
