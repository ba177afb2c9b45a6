//! Delegations: who decides for whom.

use domain::accounts::Account;
use domain::delegations::{Conditions, Delegation, DelegationKind};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use serde_json::Value as Json;

use crate::row::{Cell, Col};
use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(DelegationKind);

impl Col for Conditions {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        Self::from_value(&Col::from_cell(cell)?).map_err(|error| error.to_string())
    }
}

struct DelegationRow {
    id: Id<Delegation>,
    org_id: Id<Organization>,
    owner_id: Id<Account>,
    delegate_to: Id<Account>,
    kind: DelegationKind,
    conditions: Conditions,
    cascades: bool,
    active: bool,
    starts_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    behind: Vec<Id<Account>>,
    version: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}
row!(DelegationRow {
    id,
    org_id,
    owner_id,
    delegate_to,
    kind,
    conditions,
    cascades,
    active,
    starts_at,
    expires_at,
    behind,
    version,
    created_at,
    updated_at
});

impl From<DelegationRow> for Delegation {
    fn from(row: DelegationRow) -> Self {
        Self {
            id: row.id,
            org_id: row.org_id,
            owner_id: row.owner_id,
            delegate_to: row.delegate_to,
            kind: row.kind,
            conditions: row.conditions,
            cascade: row.cascades,
            active: row.active,
            starts_at: row.starts_at,
            expires_at: row.expires_at,
            behind: row.behind.into_iter().collect(),
            version: row.version,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

statement!(
    INSERT = "INSERT INTO delegations (id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, starts_at, \
              expires_at, behind, version, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
);
statement!(
    UPDATE = "UPDATE delegations SET delegate_to = $1, kind = $2, conditions = $3, cascades = $4, active = $5, \
              starts_at = $6, expires_at = $7, behind = $8, version = $9, updated_at = $10 \
              WHERE org_id = $11 AND id = $12 AND version = $9 - 1"
);
statement!(
    GET: DelegationRow = "SELECT id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, starts_at, \
                          expires_at, behind, version, created_at, updated_at FROM delegations \
                          WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_SHARED: DelegationRow = "SELECT id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, \
                          starts_at, expires_at, behind, version, created_at, updated_at FROM delegations \
                          WHERE org_id = $1 AND id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: DelegationRow = "SELECT id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, \
                          starts_at, expires_at, behind, version, created_at, updated_at FROM delegations \
                          WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    LIST: DelegationRow = "SELECT id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, starts_at, \
                          expires_at, behind, version, created_at, updated_at FROM delegations WHERE org_id = $1"
                          and ["owner_id = ?", "active = ?", "(created_at, id) < (?, ?)"]
                          then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
// Everything that can be reached from these people, and one look where nobody delegates anything. What of it holds is
// decided elsewhere. Each delegation is found once, whole: one that names somebody leads on to that person's. SQLite must be
// told to begin with the people and not with the organization.
statement!(
    REACHED: DelegationRow =
        lite "WITH RECURSIVE reached (id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, starts_at, \
              expires_at, behind, version, created_at, updated_at) AS (SELECT d.id, d.org_id, d.owner_id, \
              d.delegate_to, d.kind, d.conditions, d.cascades, d.active, d.starts_at, d.expires_at, d.behind, \
              d.version, d.created_at, d.updated_at FROM json_each($1) AS asked CROSS JOIN delegations d WHERE \
              EXISTS (SELECT 1 FROM delegations WHERE org_id = $2 AND active = true) AND d.org_id = $2 AND \
              d.owner_id = asked.value AND d.active = true UNION SELECT d.id, d.org_id, d.owner_id, d.delegate_to, \
              d.kind, d.conditions, d.cascades, d.active, d.starts_at, d.expires_at, d.behind, d.version, \
              d.created_at, d.updated_at FROM reached CROSS JOIN delegations d WHERE d.org_id = $2 AND \
              d.owner_id = reached.delegate_to AND d.active = true) SELECT id, org_id, owner_id, delegate_to, kind, \
              conditions, cascades, active, starts_at, expires_at, behind, version, created_at, updated_at FROM reached",
        pg "WITH RECURSIVE reached (id, org_id, owner_id, delegate_to, kind, conditions, cascades, active, starts_at, \
            expires_at, behind, version, created_at, updated_at) AS (SELECT d.id, d.org_id, d.owner_id, \
            d.delegate_to, d.kind, d.conditions, d.cascades, d.active, d.starts_at, d.expires_at, d.behind, \
            d.version, d.created_at, d.updated_at FROM jsonb_array_elements_text($1) AS asked JOIN delegations d ON \
            d.org_id = $2 AND d.owner_id = CAST(asked.value AS UUID) AND d.active = true WHERE EXISTS (SELECT 1 FROM \
            delegations WHERE org_id = $2 AND active = true) UNION SELECT d.id, d.org_id, d.owner_id, d.delegate_to, \
            d.kind, d.conditions, d.cascades, d.active, d.starts_at, d.expires_at, d.behind, d.version, \
            d.created_at, d.updated_at FROM reached JOIN delegations d ON d.org_id = $2 AND \
            d.owner_id = reached.delegate_to AND d.active = true) SELECT id, org_id, owner_id, delegate_to, kind, \
            conditions, cascades, active, starts_at, expires_at, behind, version, created_at, updated_at FROM reached"
);

struct Count {
    count: i64,
}
row!(Count { count });
statement!(
    ACTIVE: Count = "SELECT count(*) AS count FROM delegations WHERE org_id = $1 AND owner_id = $2 AND active = true"
);

/// Which delegations.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those of this person.
    pub owner: Option<Id<Account>>,
    /// Only those that are, or are not, active.
    pub active: Option<bool>,
    /// Only those behind this place in the list.
    pub after: Option<(Timestamp, Id<Delegation>)>,
}

/// Adds a delegation.
pub async fn insert(tx: &mut Tx, delegation: &Delegation) -> Result<()> {
    let (conditions, behind) = (delegation.conditions.to_value(), behind(delegation));
    let values = args![
        delegation.id,
        delegation.org_id,
        delegation.owner_id,
        delegation.delegate_to,
        delegation.kind.as_str(),
        &conditions,
        delegation.cascade,
        delegation.active,
        delegation.starts_at,
        delegation.expires_at,
        &behind,
        delegation.version,
        delegation.created_at,
        delegation.updated_at,
    ];
    tx.push(&INSERT, values).await
}

fn behind(delegation: &Delegation) -> Json {
    Json::from(delegation.behind.iter().map(|id| id.to_string()).collect::<Vec<_>>())
}

/// Makes this version the current one; it must be the next.
pub async fn update(tx: &mut Tx, delegation: &Delegation) -> Result<()> {
    let (conditions, behind) = (delegation.conditions.to_value(), behind(delegation));
    let values = args![
        delegation.delegate_to,
        delegation.kind.as_str(),
        &conditions,
        delegation.cascade,
        delegation.active,
        delegation.starts_at,
        delegation.expires_at,
        &behind,
        delegation.version,
        delegation.updated_at,
        delegation.org_id,
        delegation.id,
    ];
    tx.change_one(&UPDATE, values, "a delegation").await
}

/// The delegation.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Delegation>) -> Result<Option<Delegation>> {
    Ok(tx.opt(&GET, args![org, id]).await?.map(Into::into))
}

/// The delegation, which nobody changes until this unit ends.
pub async fn get_shared(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<Delegation>,
) -> Result<Option<Delegation>> {
    Ok(tx.opt(&GET_SHARED, args![org, id]).await?.map(Into::into))
}

/// The delegation, for a unit that is about to change it.
pub async fn get_locked(
    tx: &mut Tx,
    org: Id<Organization>,
    id: Id<Delegation>,
) -> Result<Option<Delegation>> {
    Ok(tx.opt(&GET_LOCKED, args![org, id]).await?.map(Into::into))
}

/// Every active delegation that leads on from these people, or from whom they delegate to, and so on.
pub async fn reached(
    tx: &mut Tx,
    org: Id<Organization>,
    from: impl IntoIterator<Item = Id<Account>>,
) -> Result<Vec<Delegation>> {
    let from = Json::from(from.into_iter().map(|id| id.to_string()).collect::<Vec<_>>());
    Ok(tx.all(&REACHED, args![&from, org]).await?.into_iter().map(Into::into).collect())
}

/// How many delegations of this person are active.
pub async fn count_active(tx: &mut Tx, org: Id<Organization>, owner: Id<Account>) -> Result<i64> {
    Ok(tx.one(&ACTIVE, args![org, owner]).await?.count)
}

/// Delegations, newest first.
pub async fn list(db: &Db, org: Id<Organization>, filter: Filter, limit: i64) -> Result<Vec<Delegation>> {
    let mut search = LIST.with(args![org]);
    if let Some(owner) = filter.owner {
        LIST.and(&mut search, "owner_id = ?", args![owner]);
    }
    if let Some(active) = filter.active {
        LIST.and(&mut search, "active = ?", args![active]);
    }
    if let Some((created_at, id)) = filter.after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    let found = db.found(LIST.finish(search, &[Value::from(limit)])).await?;
    Ok(found.into_iter().map(Into::into).collect())
}
