//! Projects: made, found, changed, deleted.

use domain::Id;
use domain::permissions::Capability;
use domain::projects::{DeleteFacts, Project, ProjectChange, ProjectRefusal, may_delete};
use domain::subject::Subject;
use records::{Tx, organizations, projects, tasks};
use serde_json::{Value, json};

use crate::act::{Act, differences};
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, etag};

pub(crate) const MISSING: HubError = HubError::NotFound("project");

/// What a new project should be.
pub struct NewProject {
    /// What people read.
    pub name: String,
    /// Its name in URLs.
    pub slug: String,
}

/// Makes a project.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: NewProject,
    once: Option<Once<Project>>,
) -> Result<Outcome<Project>, HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let now = hub.clock.now();
    let project = Project {
        id: hub.ids.id(),
        org_id: caller.credential.organization.id,
        name: wanted.name,
        slug: wanted.slug,
        created_at: now,
        updated_at: now,
    };
    project.check().map_err(refused)?;
    let taken = taken(&project.slug);
    let input = Act::new(hub, caller, project);
    let made = write_once(hub, once, input, |tx, act| Box::pin(create_unit(tx, act))).await;
    made.map_err(|error| error.or_taken(|| taken))
}

async fn create_unit(tx: &mut Tx, act: &Act<Project>) -> Result<Project, HubError> {
    act.confirm(tx, Capability::ProjectsWrite).await?;
    let project = &act.input;
    projects::insert(tx, project).await?;
    record(tx, act, "project:created", project, &json!({})).await?;
    Ok(project.clone())
}

/// One project.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Project>) -> Result<Project, HubError> {
    caller.require(Capability::ProjectsRead)?;
    let input = (caller.credential.organization.id, id);
    hub.records
        .read(input, |tx, &(org, id)| {
            Box::pin(async move { projects::get(tx, org, id).await?.ok_or(MISSING) })
        })
        .await
}

/// Projects, newest first; with a slug the one that has it.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    slug: Option<String>,
    after: Option<projects::After>,
    limit: i64,
) -> Result<Vec<Project>, HubError> {
    caller.require(Capability::ProjectsRead)?;
    Ok(projects::list(&hub.records, caller.credential.organization.id, slug, after, limit).await?)
}

struct Change {
    id: Id<Project>,
    change: ProjectChange,
    if_match: Option<String>,
}

/// Changes name or slug.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Project>,
    change: ProjectChange,
    if_match: Option<String>,
) -> Result<Project, HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let taken = taken(change.slug.as_deref().unwrap_or_default());
    let input = Act::new(hub, caller, Change { id, change, if_match });
    let changed = hub.records.write(input, |tx, act| Box::pin(change_unit(tx, act))).await;
    changed.map_err(|error: HubError| error.or_taken(|| taken))
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Project, HubError> {
    let before = projects::get_locked(tx, act.org(), act.input.id).await?;
    act.confirm(tx, Capability::ProjectsWrite).await?;
    let before = before.ok_or(MISSING)?;
    etag::require(act.input.if_match.as_deref(), &etag::of(before.updated_at))?;
    let after = before.changed(&act.input.change, act.now).map_err(refused)?;
    if after != before {
        projects::update(tx, &after).await?;
        record(tx, act, "project:updated", &after, &facts(&before)).await?;
    }
    Ok(after)
}

/// Deletes a project that nobody needs any more; its workspaces go with it.
pub async fn delete(hub: &Hub, caller: &Caller, id: Id<Project>) -> Result<(), HubError> {
    caller.require(Capability::ProjectsWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(delete_unit(tx, act))).await
}

async fn delete_unit(tx: &mut Tx, act: &Act<Id<Project>>) -> Result<(), HubError> {
    let project = projects::get_locked(tx, act.org(), act.input).await?;
    // Two that each delete the other's last project queue here.
    organizations::get_locked(tx, act.org()).await?;
    act.confirm(tx, Capability::ProjectsWrite).await?;
    let project = project.ok_or(MISSING)?;
    let facts = DeleteFacts {
        is_last: !projects::any_other(tx, &project).await?,
        has_tasks_beyond_draft: tasks::any_beyond_draft(tx, &project).await?,
    };
    may_delete(&project, facts).map_err(refused)?;
    projects::delete(tx, &project).await?;
    record(tx, act, "project:deleted", &project, &json!({})).await
}

/// What the audit row says: all of a project that was made or deleted, of a changed one what is different.
async fn record<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    project: &Project,
    before: &Value,
) -> Result<(), HubError> {
    let details = differences(before, &facts(project));
    act.record(tx, action, Subject::new("project", project.id), details).await
}

fn facts(project: &Project) -> Value {
    json!({"name": project.name, "slug": project.slug})
}

fn taken(slug: &str) -> String {
    format!("slug: a project with the slug `{slug}` exists already in this organization")
}

fn refused(refusal: ProjectRefusal) -> HubError {
    match refusal {
        ProjectRefusal::Invalid(errors) => HubError::Invalid(errors),
        other => HubError::InvalidState { state: other.state().into(), detail: other.to_string() },
    }
}
