//! The page on which somebody proposes a task: written as a draft, handed in at once, or only asked what would happen.

mod fields;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use domain::Id;
use domain::json::FieldError;
use domain::permissions::Capability;
use domain::projects::{DEFAULT_SLUG, Project};
use domain::tasks::{DeclaredRisk, RollbackStrategy, Task};
use hub::HubError;
use hub::idempotency::Outcome;
use hub::tasks::{self, NewTask};

use fields::{PLACES, TaskFields, Then};

use crate::App;
use crate::guard::Needs;
use crate::pages::form::Filled;
use crate::pages::lists::denied;
use crate::pages::policies::explain::{Simulated, simulated};
use crate::pages::shell::Shell;
use crate::pages::show::filters;
use crate::pages::wrong::{Wrong, wrong};
use crate::pages::{Page, lead_to, page};
use crate::problem::Problem;

/// Where the hub finds what a task touches.
const RESOURCES: &str = "/config/resources/";
const PROJECTS_SHOWN: i64 = 100;

#[derive(Template)]
#[template(path = "tasks/new.html")]
struct NewTaskPage<'a> {
    shell: &'a Shell,
    projects: Vec<Project>,
    risks: [&'static str; 5],
    rollbacks: [(&'static str, &'static str); 3],
    typed: TaskFields,
    wrong: Wrong,
    simulated: Option<Simulated>,
}

/// The page and its form.
pub(in crate::pages) fn table() -> [Page; 2] {
    let on = |method, mount| Page { needs: Needs::Login, method, path: "/tasks/new", mount };
    [on("GET", get(show)), on("POST", post(propose))]
}

fn refused(shell: &Shell) -> Option<Response<Body>> {
    denied(shell, Capability::TasksWrite, "New task", "New tasks")
}

async fn show(State(app): State<App>, shell: Shell) -> Result<Response<Body>, Problem> {
    match refused(&shell) {
        Some(denied) => Ok(denied),
        None => shown(&app, &shell, TaskFields::blank(), (Wrong::default(), None)).await,
    }
}

/// Writes the task, hands it in, or says what would happen; whatever is wrong is said where it was typed.
async fn propose(
    State(app): State<App>,
    shell: Shell,
    Filled(typed): Filled<TaskFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = refused(&shell) {
        return Ok(denied);
    }
    let wanted = match wanted(&app, &shell, &typed).await {
        Ok(wanted) => wanted,
        Err(error) => return again(&app, &shell, typed, error).await,
    };
    let (hub, caller) = (&app.hub, &shell.caller);
    if typed.then == Then::Simulate {
        return match tasks::simulate(hub, caller, wanted).await {
            Ok(found) => shown(&app, &shell, typed, (Wrong::default(), Some(simulated(&found)))).await,
            Err(error) => again(&app, &shell, typed, error).await,
        };
    }
    match tasks::create(hub, caller, wanted, None).await {
        Ok(Outcome::Fresh(seen)) => Ok(lead_to(&format!("/tasks/{}", seen.task.id))),
        Ok(Outcome::Replayed(_)) => Ok(lead_to("/tasks")),
        Err(error) => again(&app, &shell, typed, error).await,
    }
}

/// What is wanted, with the tasks it waits for found; or everything that is wrong, also what only the hub knows.
async fn wanted(app: &App, shell: &Shell, typed: &TaskFields) -> Result<NewTask, HubError> {
    let (mut wanted, mut errors) = typed.wanted();
    let mut depends_on = Vec::new();
    for (place, name) in typed.names().into_iter().enumerate() {
        match found(app, shell, wanted.project_id, &name).await? {
            Some(id) => depends_on.push(id),
            None => errors.push(FieldError {
                pointer: format!("/depends_on/{place}"),
                detail: format!("there is no task `{name}` in this project"),
            }),
        }
    }
    if errors.is_empty() {
        wanted.depends_on = depends_on;
        return Ok(wanted);
    }
    // What is left of it is asked about too, so that nobody learns of one mistake after the other.
    if let Err(HubError::Invalid(more)) = tasks::simulate(&app.hub, &shell.caller, wanted).await {
        // A line that is no resource at all has no id that could be too short.
        let told: Vec<String> = errors.iter().map(|error| format!("{}/", error.pointer)).collect();
        let told = |error: &FieldError| {
            told.iter().any(|root| root.starts_with(RESOURCES) && error.pointer.starts_with(root))
        };
        errors.extend(more.into_iter().filter(|error| !told(error)));
    }
    Err(HubError::Invalid(errors))
}

/// A task by its id or its short name. Whether an id is a task's is looked up when it is written.
async fn found(
    app: &App,
    shell: &Shell,
    project: Option<Id<Project>>,
    name: &str,
) -> Result<Option<Id<Task>>, HubError> {
    if let Ok(id) = name.parse::<Id<Task>>() {
        return Ok(Some(id));
    }
    match project {
        Some(project) => tasks::by_slug(&app.hub, &shell.caller, project, name.to_owned()).await,
        None => Ok(None),
    }
}

/// The page with what was typed, and what is wrong with it.
async fn again(
    app: &App,
    shell: &Shell,
    typed: TaskFields,
    error: HubError,
) -> Result<Response<Body>, Problem> {
    let errors = match error {
        HubError::Invalid(errors) => errors,
        HubError::Conflict(words) => vec![wrong("/slug", words.trim_start_matches("slug: "))],
        HubError::TooManyOpen { .. } => vec![wrong("", &error.to_string())],
        HubError::ExecutorDisabled(_) => vec![wrong("/config/action", &error.to_string())],
        other => return Err(other.into()),
    };
    shown(app, shell, typed, (Wrong::of(&errors, &PLACES), None)).await
}

async fn shown(
    app: &App,
    shell: &Shell,
    mut typed: TaskFields,
    (wrong, simulated): (Wrong, Option<Simulated>),
) -> Result<Response<Body>, Problem> {
    let projects = hub::projects::list(&app.hub, &shell.caller, None, None, PROJECTS_SHOWN).await?;
    if typed.project_id.is_empty() {
        let usual = projects.iter().find(|project| project.slug == DEFAULT_SLUG);
        typed.project_id = usual.map(|project| project.id.to_string()).unwrap_or_default();
    }
    let status = wrong.status.unwrap_or(StatusCode::OK);
    let template = NewTaskPage {
        shell,
        projects,
        risks: DeclaredRisk::ALL.map(DeclaredRisk::as_str),
        rollbacks: RollbackStrategy::ALL.map(|strategy| (strategy.as_str(), in_words(strategy))),
        typed,
        wrong,
        simulated,
    };
    Ok(page(status, &template))
}

const fn in_words(strategy: RollbackStrategy) -> &'static str {
    match strategy {
        RollbackStrategy::Automatic => "automatic: whoever applies it undoes it",
        RollbackStrategy::Manual => "manual: a person decides",
        RollbackStrategy::None => "none: nothing is undone",
    }
}
