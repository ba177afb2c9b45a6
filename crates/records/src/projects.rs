//! Projects: where an organization's tasks live.

use domain::Id;
use domain::Timestamp;
use domain::organizations::Organization;
use uuid::Uuid;

use crate::{Result, Tx, args, statement};

statement!(
    INSERT = "INSERT INTO projects (id, org_id, name, slug, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)"
);

/// Adds a project.
pub async fn insert(tx: &mut Tx, id: Uuid, org: Id<Organization>, slug: &str, now: Timestamp) -> Result<()> {
    tx.push(&INSERT, args![id, org, slug, slug, now]).await
}
