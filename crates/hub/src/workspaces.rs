//! Workspaces of a project: added, found, changed, removed.

use domain::Id;
use domain::permissions::Capability;
use domain::projects::Project;
use domain::subject::Subject;
use domain::workspaces::{Workspace, WorkspaceChange};
use records::{Tx, projects, workspaces};
use serde_json::{Value, json};

use crate::act::{Act, differences};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, etag};

const MISSING: HubError = HubError::NotFound("workspace");

/// What a new workspace should be.
pub struct NewWorkspace {
    /// Of which project.
    pub project: Id<Project>,
    /// What people read.
    pub name: String,
    /// Where it is.
    pub path: String,
}

/// One workspace of one project.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The project.
    pub project: Id<Project>,
    /// The workspace.
    pub workspace: Id<Workspace>,
}

/// Adds a workspace to a project.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: NewWorkspace,
    once: Option<Once<Workspace>>,
) -> Result<Outcome<Workspace>, HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let now = hub.clock.now();
    let workspace = Workspace {
        id: hub.ids.id(),
        org_id: caller.credential.organization.id,
        project_id: wanted.project,
        name: wanted.name,
        path: wanted.path,
        created_at: now,
        updated_at: now,
    };
    workspace.check().map_err(HubError::Invalid)?;
    let taken = taken(&workspace.name);
    let input = Act::new(hub, caller, workspace);
    let made = write_once(hub, once, input, |tx, act| Box::pin(create_unit(tx, act))).await;
    made.map_err(|error| error.or_taken(|| taken))
}

async fn create_unit(tx: &mut Tx, act: &Act<Workspace>) -> Result<Workspace, HubError> {
    let workspace = &act.input;
    let project = projects::get_shared(tx, act.org(), workspace.project_id).await?;
    act.confirm(tx, Capability::ProjectsWrite).await?;
    project.ok_or(crate::projects::MISSING)?;
    workspaces::insert(tx, workspace).await?;
    record(tx, act, "workspace:created", workspace, &json!({})).await?;
    Ok(workspace.clone())
}

/// One workspace.
pub async fn get(hub: &Hub, caller: &Caller, place: Place) -> Result<Workspace, HubError> {
    caller.require(Capability::ProjectsRead)?;
    let input = (caller.credential.organization.id, place);
    hub.records
        .read(input, |tx, &(org, place)| {
            Box::pin(async move {
                let project = projects::get(tx, org, place.project).await?.ok_or(MISSING)?;
                workspaces::get(tx, &project, place.workspace).await?.ok_or(MISSING)
            })
        })
        .await
}

/// Workspaces of a project, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    project: Id<Project>,
    after: Option<workspaces::After>,
    limit: i64,
) -> Result<Vec<Workspace>, HubError> {
    caller.require(Capability::ProjectsRead)?;
    let input = (caller.credential.organization.id, project, after, limit);
    hub.records
        .read(input, |tx, &(org, project, after, limit)| {
            Box::pin(async move {
                let project = projects::get(tx, org, project).await?.ok_or(crate::projects::MISSING)?;
                Ok(workspaces::list(tx, &project, after, limit).await?)
            })
        })
        .await
}

struct Change {
    place: Place,
    change: WorkspaceChange,
    if_match: Option<String>,
}

/// Changes name or path.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    place: Place,
    change: WorkspaceChange,
    if_match: Option<String>,
) -> Result<Workspace, HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let taken = taken(change.name.as_deref().unwrap_or_default());
    let input = Act::new(hub, caller, Change { place, change, if_match });
    let changed = hub.records.write(input, |tx, act| Box::pin(change_unit(tx, act))).await;
    changed.map_err(|error: HubError| error.or_taken(|| taken))
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Workspace, HubError> {
    let before = locked(tx, act, act.input.place).await?;
    etag::require(act.input.if_match.as_deref(), &etag::of(before.updated_at))?;
    let after = before.changed(&act.input.change, act.now).map_err(HubError::Invalid)?;
    if after != before {
        workspaces::update(tx, &after).await?;
        record(tx, act, "workspace:updated", &after, &facts(&before)).await?;
    }
    Ok(after)
}

/// Removes a workspace.
pub async fn delete(hub: &Hub, caller: &Caller, place: Place) -> Result<(), HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let input = Act::new(hub, caller, place);
    hub.records
        .write(input, |tx, act| {
            Box::pin(async move {
                let workspace = locked(tx, act, act.input).await?;
                workspaces::delete(tx, &workspace).await?;
                record(tx, act, "workspace:deleted", &workspace, &json!({})).await
            })
        })
        .await
}

/// The workspace, for a caller who may change it.
async fn locked<T>(tx: &mut Tx, act: &Act<T>, place: Place) -> Result<Workspace, HubError> {
    let workspace = match projects::get_shared(tx, act.org(), place.project).await? {
        Some(project) => workspaces::get_locked(tx, &project, place.workspace).await?,
        None => None,
    };
    act.confirm(tx, Capability::ProjectsWrite).await?;
    workspace.ok_or(MISSING)
}

async fn record<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    workspace: &Workspace,
    before: &Value,
) -> Result<(), HubError> {
    let mut details = differences(before, &facts(workspace));
    details.insert("project_id".into(), workspace.project_id.to_string().into());
    act.record(tx, action, Subject::new("workspace", workspace.id), details).await
}

fn facts(workspace: &Workspace) -> Value {
    json!({"name": workspace.name, "path": workspace.path})
}

fn taken(name: &str) -> String {
    format!("name: a workspace with the name `{name}` exists already in this project")
}
