//! Projects: where an organization's tasks live.

use domain::organizations::Organization;
use domain::projects::Project;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

row!(Project { id, org_id, name, slug, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO projects (id, org_id, name, slug, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(
    GET: Project = "SELECT id, org_id, name, slug, created_at, updated_at FROM projects WHERE org_id = $1 AND id = $2"
);
statement!(
    GET_SHARED: Project = "SELECT id, org_id, name, slug, created_at, updated_at FROM projects \
                           WHERE org_id = $1 AND id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: Project = "SELECT id, org_id, name, slug, created_at, updated_at FROM projects \
                           WHERE org_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    BY_SLUG: Project = "SELECT id, org_id, name, slug, created_at, updated_at FROM projects \
                        WHERE org_id = $1 AND slug = $2"
);
statement!(
    LIST: Project = "SELECT id, org_id, name, slug, created_at, updated_at FROM projects WHERE org_id = $1"
                    and ["slug = ?", "(created_at, id) < (?, ?)"]
                    then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    UPDATE = "UPDATE projects SET name = $1, slug = $2, updated_at = $3 WHERE org_id = $4 AND id = $5"
);
statement!(DELETE = "DELETE FROM projects WHERE org_id = $1 AND id = $2");

struct Any {
    any_row: bool,
}
row!(Any { any_row });
statement!(
    ANY_OTHER: Any = "SELECT EXISTS (SELECT 1 FROM projects WHERE org_id = $1 AND id <> $2) AS any_row"
);

/// A place in the list of projects, newest first.
pub type After = (Timestamp, Id<Project>);

/// Adds a project.
pub async fn insert(tx: &mut Tx, project: &Project) -> Result<()> {
    let values = args![
        project.id,
        project.org_id,
        &project.name,
        &project.slug,
        project.created_at,
        project.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The project.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Project>) -> Result<Option<Project>> {
    tx.opt(&GET, args![org, id]).await
}

/// The project, which nobody changes or deletes until this unit ends.
pub async fn get_shared(tx: &mut Tx, org: Id<Organization>, id: Id<Project>) -> Result<Option<Project>> {
    tx.opt(&GET_SHARED, args![org, id]).await
}

/// The project, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, org: Id<Organization>, id: Id<Project>) -> Result<Option<Project>> {
    tx.opt(&GET_LOCKED, args![org, id]).await
}

/// The project of this slug.
pub async fn by_slug(tx: &mut Tx, org: Id<Organization>, slug: &str) -> Result<Option<Project>> {
    tx.opt(&BY_SLUG, args![org, slug]).await
}

/// Projects of the organization (of one slug), newest first.
pub async fn list(
    db: &Db,
    org: Id<Organization>,
    slug: Option<String>,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Project>> {
    let mut search = LIST.with(args![org]);
    if let Some(slug) = slug {
        LIST.and(&mut search, "slug = ?", args![slug]);
    }
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// Changes name and slug.
pub async fn update(tx: &mut Tx, project: &Project) -> Result<()> {
    let values = args![&project.name, &project.slug, project.updated_at, project.org_id, project.id];
    tx.change_one(&UPDATE, values, "a project").await
}

/// Whether the organization has a project besides this one.
pub async fn any_other(tx: &mut Tx, project: &Project) -> Result<bool> {
    Ok(tx.one(&ANY_OTHER, args![project.org_id, project.id]).await?.any_row)
}

/// Deletes a project; its workspaces go with it.
pub async fn delete(tx: &mut Tx, project: &Project) -> Result<()> {
    tx.change_one(&DELETE, args![project.org_id, project.id], "a project").await
}
