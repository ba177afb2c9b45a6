//! What an organization decides with: which moment of its policies, and its catalogue of resources.

use domain::organizations::Organization;
use domain::resource_catalogue::ResourceCatalogue;
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::row::{Cell, Col};
use crate::{Db, Result, Tx, args, row, statement};

impl Col for ResourceCatalogue {
    fn from_cell(cell: Cell<'_>) -> Result<Self, String> {
        let wrong = |errors: Vec<_>| format!("{} wrong rules", errors.len());
        Self::from_value(&Col::from_cell(cell)?).map_err(wrong)
    }
}

/// One moment of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleSetRow {
    /// Grows with every change.
    pub version: i64,
    /// No other moment ever has the same, not even one that was rolled back.
    pub stamp: Uuid,
    /// What is said about resources.
    pub catalogue: ResourceCatalogue,
    /// When it was last changed.
    pub updated_at: Timestamp,
}
row!(RuleSetRow { version, stamp, catalogue, updated_at });

/// Which moment it is, for those who may have it ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped {
    /// See [`RuleSetRow::stamp`].
    pub stamp: Uuid,
}
row!(Stamped { stamp });

/// An organization.
pub struct Of {
    /// Which.
    pub id: Id<Organization>,
}
row!(Of { id });

statement!(
    INSERT = "INSERT INTO rule_sets (org_id, version, stamp, catalogue, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $5)"
);
statement!(
    GET: RuleSetRow = "SELECT version, stamp, catalogue, updated_at FROM rule_sets WHERE org_id = $1"
);
statement!(
    GET_LOCKED: RuleSetRow = "SELECT version, stamp, catalogue, updated_at FROM rule_sets WHERE org_id = $1",
                lock "FOR UPDATE"
);
statement!(STAMP_SHARED: Stamped = "SELECT stamp FROM rule_sets WHERE org_id = $1", lock "FOR SHARE");
statement!(
    UPDATE =
        "UPDATE rule_sets SET version = $1, stamp = $2, catalogue = $3, updated_at = $4 WHERE org_id = $5"
);
statement!(
    MISSING: Of = "SELECT id FROM organizations WHERE NOT EXISTS \
                   (SELECT 1 FROM rule_sets WHERE org_id = organizations.id) ORDER BY id"
);

/// Adds the first one of an organization.
pub async fn insert(tx: &mut Tx, org: Id<Organization>, first: &RuleSetRow) -> Result<()> {
    let catalogue = first.catalogue.to_value();
    tx.push(&INSERT, args![org, first.version, first.stamp, &catalogue, first.updated_at]).await
}

/// The one in force.
pub async fn get(tx: &mut Tx, org: Id<Organization>) -> Result<RuleSetRow> {
    tx.one(&GET, args![org]).await
}

/// The same outside of a unit.
pub async fn read(db: &Db, org: Id<Organization>) -> Result<Option<RuleSetRow>> {
    db.opt(&GET, args![org]).await
}

/// The one in force, for a unit that is about to change a policy or the catalogue: such units queue here.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>) -> Result<RuleSetRow> {
    tx.one(&GET_LOCKED, args![org]).await
}

/// Which one is in force; nobody changes it until this unit ends.
pub async fn stamp_shared(tx: &mut Tx, org: Id<Organization>) -> Result<Uuid> {
    Ok(tx.one(&STAMP_SHARED, args![org]).await?.stamp)
}

/// Puts the next one in force.
pub async fn update(tx: &mut Tx, org: Id<Organization>, next: &RuleSetRow) -> Result<()> {
    let catalogue = next.catalogue.to_value();
    let values = args![next.version, next.stamp, &catalogue, next.updated_at, org];
    tx.change_one(&UPDATE, values, "the rules of an organization").await
}

/// Organizations from before there were policies.
pub async fn missing(tx: &mut Tx) -> Result<Vec<Id<Organization>>> {
    Ok(tx.all(&MISSING, args![]).await?.into_iter().map(|of| of.id).collect())
}
