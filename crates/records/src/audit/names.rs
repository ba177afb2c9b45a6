//! What the things are called that rows of the log name by their id.

use domain::Id;
use domain::organizations::Organization;
use domain::tasks::Task;
use serde_json::json;
use uuid::Uuid;

use crate::{Result, Tx, args, row, statement};

/// What people call a thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Of which kind it is, as subjects say it.
    pub kind: String,
    /// Which one.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
}
row!(Named { kind, id, name });

statement!(
    NAMED: Named =
        lite "SELECT 'policy' AS kind, p.id, p.name FROM policies p \
              WHERE p.org_id = $1 AND p.id IN (SELECT value FROM json_each($2)) \
              UNION ALL SELECT 'project' AS kind, j.id, j.name FROM projects j \
              WHERE j.org_id = $1 AND j.id IN (SELECT value FROM json_each($2)) \
              UNION ALL SELECT 'workspace' AS kind, w.id, w.name FROM workspaces w \
              WHERE w.org_id = $1 AND w.id IN (SELECT value FROM json_each($2)) \
              UNION ALL SELECT 'organization' AS kind, g.id, g.name FROM organizations g \
              WHERE g.id = $1 AND g.id IN (SELECT value FROM json_each($2)) \
              UNION ALL SELECT 'api_key' AS kind, k.id, k.name FROM api_keys k \
              WHERE k.org_id = $1 AND k.id IN (SELECT value FROM json_each($2)) \
              UNION ALL SELECT 'delegation' AS kind, d.id, o.display_name || ' → ' || b.display_name AS name \
              FROM delegations d JOIN accounts o ON o.id = d.owner_id JOIN accounts b ON b.id = d.delegate_to \
              WHERE d.org_id = $1 AND d.id IN (SELECT value FROM json_each($2))",
        pg "SELECT 'policy' AS kind, p.id, p.name FROM policies p \
            WHERE p.org_id = $1 AND p.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            UNION ALL SELECT 'project' AS kind, j.id, j.name FROM projects j \
            WHERE j.org_id = $1 AND j.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            UNION ALL SELECT 'workspace' AS kind, w.id, w.name FROM workspaces w \
            WHERE w.org_id = $1 AND w.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            UNION ALL SELECT 'organization' AS kind, g.id, g.name FROM organizations g \
            WHERE g.id = $1 AND g.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            UNION ALL SELECT 'api_key' AS kind, k.id, k.name FROM api_keys k \
            WHERE k.org_id = $1 AND k.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            UNION ALL SELECT 'delegation' AS kind, d.id, o.display_name || ' → ' || b.display_name AS name \
            FROM delegations d JOIN accounts o ON o.id = d.owner_id JOIN accounts b ON b.id = d.delegate_to \
            WHERE d.org_id = $1 AND d.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

/// What those of these are called that the organization has: policies, projects, workspaces, keys, delegations and itself.
pub async fn named(tx: &mut Tx, org: Id<Organization>, ids: &[Uuid]) -> Result<Vec<Named>> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    tx.all(&NAMED, args![org, &json!(ids)]).await
}

struct Found {
    id: Id<Task>,
}
row!(Found { id });
statement!(
    SLUGGED: Found = "SELECT t.id FROM projects p JOIN tasks t ON t.project_id = p.id WHERE p.org_id = $1 \
                      AND t.slug = $2 AND NULLIF(t.org_id, NULL) = p.org_id LIMIT $3"
);
statement!(
    PLACED: Found = "SELECT id FROM tasks WHERE org_id = $1 AND path = $2 ORDER BY created_at DESC, id DESC LIMIT $3"
);

/// The tasks that have exactly this slug, in whichever project, or this path.
pub async fn placed(tx: &mut Tx, org: Id<Organization>, text: &str, limit: i64) -> Result<Vec<Id<Task>>> {
    let mut found: Vec<Found> = tx.all(&SLUGGED, args![org, text, limit]).await?;
    found.extend(tx.all(&PLACED, args![org, text, limit]).await?);
    Ok(found.into_iter().map(|found| found.id).collect())
}
