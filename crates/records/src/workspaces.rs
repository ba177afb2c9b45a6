//! Workspaces: the places a project's work is done in.

use domain::projects::Project;
use domain::workspaces::Workspace;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Result, Tx, args, row, statement};

row!(Workspace { id, org_id, project_id, name, path, created_at, updated_at });

statement!(
    INSERT = "INSERT INTO workspaces (id, org_id, project_id, name, path, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7)"
);
statement!(
    GET: Workspace = "SELECT id, org_id, project_id, name, path, created_at, updated_at FROM workspaces \
                      WHERE org_id = $1 AND project_id = $2 AND id = $3"
);
statement!(
    GET_LOCKED: Workspace = "SELECT id, org_id, project_id, name, path, created_at, updated_at FROM workspaces \
                             WHERE org_id = $1 AND project_id = $2 AND id = $3", lock "FOR UPDATE"
);
statement!(
    LIST: Workspace = "SELECT id, org_id, project_id, name, path, created_at, updated_at FROM workspaces \
                       WHERE org_id = $1 AND project_id = $2"
                      and ["(created_at, id) < (?, ?)"]
                      then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    UPDATE = "UPDATE workspaces SET name = $1, path = $2, updated_at = $3 WHERE org_id = $4 AND id = $5"
);
statement!(DELETE = "DELETE FROM workspaces WHERE org_id = $1 AND id = $2");

/// A place in the list of workspaces, newest first.
pub type After = (Timestamp, Id<Workspace>);

/// Adds a workspace.
pub async fn insert(tx: &mut Tx, workspace: &Workspace) -> Result<()> {
    let values = args![
        workspace.id,
        workspace.org_id,
        workspace.project_id,
        &workspace.name,
        &workspace.path,
        workspace.created_at,
        workspace.updated_at,
    ];
    tx.push(&INSERT, values).await
}

/// The workspace of the project.
pub async fn get(tx: &mut Tx, project: &Project, id: Id<Workspace>) -> Result<Option<Workspace>> {
    tx.opt(&GET, args![project.org_id, project.id, id]).await
}

/// The workspace of the project, for a unit that is about to change it.
pub async fn get_locked(tx: &mut Tx, project: &Project, id: Id<Workspace>) -> Result<Option<Workspace>> {
    tx.opt(&GET_LOCKED, args![project.org_id, project.id, id]).await
}

/// Workspaces of the project, newest first.
pub async fn list(
    tx: &mut Tx,
    project: &Project,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Workspace>> {
    let mut search = LIST.with(args![project.org_id, project.id]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// Changes name and path.
pub async fn update(tx: &mut Tx, workspace: &Workspace) -> Result<()> {
    let values =
        args![&workspace.name, &workspace.path, workspace.updated_at, workspace.org_id, workspace.id];
    tx.change_one(&UPDATE, values, "a workspace").await
}

/// Deletes a workspace.
pub async fn delete(tx: &mut Tx, workspace: &Workspace) -> Result<()> {
    tx.change_one(&DELETE, args![workspace.org_id, workspace.id], "a workspace").await
}
