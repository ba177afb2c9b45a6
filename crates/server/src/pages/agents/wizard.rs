//! A new agent in five steps, each saved when it is left. The agent is there from the first step on, and can do nothing
//! before the last: only there it gets a key.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::agents::{AgentChange, DEFAULT_SCOPES};
use domain::permissions::Capability;
use garde::Validate;
use hub::HubError;
use hub::agents::{self, NewAgent, Seen};
use hub::idempotency::Outcome;
use hub::identity::api_keys::{self, NewKey};
use serde::Deserialize;
use uuid::Uuid;

use super::chosen::{Values, labels, values, whole};
use super::in_words;
use crate::App;
use crate::extract::{Asked, PathId};
use crate::pages::account::Nothing;
use crate::pages::form::Filled;
use crate::pages::lists::{Names, denied};
use crate::pages::policies::words;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, filters, line, plural};
use crate::pages::{lead_to, page};
use crate::problem::Problem;

const POLICIES_SHOWN: i64 = 100;
const KEY_NAME: &str = "first key";

#[derive(Template)]
#[template(path = "agents/wizard.html")]
struct WizardPage<'a> {
    shell: &'a Shell,
    step: usize,
    id: Option<Uuid>,
    name: Markup,
    plain_name: String,
    values: Values,
    policies: Vec<(Markup, String)>,
    scopes: [&'static str; 4],
    /// The key, once.
    secret: Option<String>,
    origin: &'a str,
    message: Option<String>,
    steps: Vec<Stage>,
}

/// A step in the list of them.
struct Stage {
    title: &'static str,
    words: String,
    is_done: bool,
    is_here: bool,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[garde(inner(range(min = 2, max = 5)))]
    step: Option<usize>,
}

/// What is typed in any of the steps; each has fields of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepForm {
    step: usize,
    name: Option<String>,
    description: Option<String>,
    model: Option<String>,
    role_name: Option<String>,
    labels: Option<String>,
    max_tasks: Option<String>,
}

/// What a step shows besides the agent.
#[derive(Default)]
struct Said {
    message: Option<String>,
    secret: Option<String>,
}

fn refused(shell: &Shell) -> Option<Response<Body>> {
    denied(shell, Capability::AgentsWrite, "New agent", "New agents")
}

pub(crate) async fn begin(State(app): State<App>, shell: Shell) -> Result<Response<Body>, Problem> {
    match refused(&shell) {
        Some(denied) => Ok(denied),
        None => shown(&app, &shell, (1, None), Said::default()).await,
    }
}

/// Makes the agent with what the first step says.
pub(crate) async fn create(
    State(app): State<App>,
    shell: Shell,
    Filled(form): Filled<StepForm>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = refused(&shell) {
        return Ok(denied);
    }
    let wanted = NewAgent {
        name: form.name.unwrap_or_default(),
        description: form.description.unwrap_or_default(),
        model: form.model.filter(|model| !model.trim().is_empty()),
        role_name: None,
        max_tasks: 1,
        labels: Default::default(),
        config: Default::default(),
    };
    match agents::create(&app.hub, &shell.caller, wanted, None).await {
        Ok(Outcome::Fresh(seen)) => Ok(lead_to(&at(seen.agent.id.raw(), 2))),
        Ok(Outcome::Replayed(_)) => Ok(lead_to("/agents")),
        Err(error) => {
            let message = Some(refusal(error)?);
            shown(&app, &shell, (1, None), Said { message, ..Said::default() }).await
        }
    }
}

fn at(id: Uuid, step: usize) -> String {
    format!("/agents/{id}/setup?step={step}")
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Asked(asked): Asked<Step>,
) -> Result<Response<Body>, Problem> {
    let seen = own(&app, &shell, &id).await?;
    shown(&app, &shell, (asked.step.unwrap_or(2), Some(seen)), Said::default()).await
}

/// The agent, for whoever may set it up.
async fn own(app: &App, shell: &Shell, id: &PathId) -> Result<Seen, HubError> {
    let seen = agents::get(&app.hub, &shell.caller, id.id()).await?;
    match seen.config().is_some() {
        true => Ok(seen),
        false => Err(HubError::Forbidden("only the owner of an agent and admins set it up".into())),
    }
}

/// Saves a step and leads to the next.
pub(crate) async fn save(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<StepForm>,
) -> Result<Response<Body>, Problem> {
    let seen = own(&app, &shell, &id).await?;
    let step = form.step.clamp(2, 4);
    let saved = match change(&form) {
        Ok(change) => agents::change(&app.hub, &shell.caller, id.id(), change, None).await.map(drop),
        Err(words) => {
            let said = Said { message: Some(words), ..Said::default() };
            return shown(&app, &shell, (step, Some(seen)), said).await;
        }
    };
    match saved {
        Ok(()) => Ok(lead_to(&at(id.0, step + 1))),
        Err(error) => {
            let said = Said { message: Some(refusal(error)?), ..Said::default() };
            shown(&app, &shell, (step, Some(seen)), said).await
        }
    }
}

fn change(form: &StepForm) -> Result<AgentChange, String> {
    let word = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(AgentChange {
        role_name: form.role_name.as_deref().map(word),
        labels: form.labels.as_deref().map(labels).transpose()?,
        max_tasks: form.max_tasks.as_deref().map(whole).transpose()?,
        ..AgentChange::default()
    })
}

/// Gives the agent its key, which this page shows and no other ever does.
pub(crate) async fn key(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    let seen = own(&app, &shell, &id).await?;
    let wanted = NewKey {
        owner: Some(id.id()),
        org: None,
        name: KEY_NAME.to_owned(),
        scopes: Some(DEFAULT_SCOPES.map(str::to_owned).into()),
        expires_at: None,
    };
    let Outcome::Fresh(minted) = api_keys::mint(&app.hub, &shell.caller, wanted, None).await? else {
        return Ok(lead_to(&at(id.0, 5)));
    };
    let said = Said { secret: Some(minted.secret.expose().to_owned()), ..Said::default() };
    shown(&app, &shell, (5, Some(seen)), said).await
}

/// What is wrong with what was typed, in words; anything else is a problem of its own.
fn refusal(error: HubError) -> Result<String, Problem> {
    match error {
        HubError::Invalid(errors) => {
            Ok(format!("{} Nothing was saved.", errors.iter().map(in_words).collect::<Vec<_>>().join(" ")))
        }
        HubError::Conflict(words) => Ok(format!("{} Nothing was saved.", crate::pages::capitalised(&words))),
        other => Err(other.into()),
    }
}

async fn shown(
    app: &App,
    shell: &Shell,
    (step, seen): (usize, Option<Seen>),
    said: Said,
) -> Result<Response<Body>, Problem> {
    let policies = match step {
        4 => policies(app, shell).await?,
        _ => Vec::new(),
    };
    let plain_name = seen.as_ref().map(|seen| seen.agent.name.clone()).unwrap_or_default();
    let template = WizardPage {
        step,
        id: seen.as_ref().map(|seen| seen.agent.id.raw()),
        name: line(&plain_name),
        plain_name,
        steps: steps(step, seen.as_ref()),
        values: seen.as_ref().map_or_else(blank, values),
        policies,
        scopes: DEFAULT_SCOPES,
        origin: app.options.public_url.trim_end_matches('/'),
        secret: said.secret,
        message: said.message.clone(),
        shell,
    };
    let status = if said.message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page(status, &template))
}

fn blank() -> Values {
    Values {
        version: String::new(),
        description: String::new(),
        model: String::new(),
        role_name: String::new(),
        max_tasks: 1,
        labels: String::new(),
    }
}

/// What each step came to.
fn steps(here: usize, seen: Option<&Seen>) -> Vec<Stage> {
    let titles = ["Identity", "Capabilities", "Limits", "Policy", "Key and install"];
    let words = summary(seen);
    let stage = |(number, (title, words)): (usize, (&'static str, String))| Stage {
        title,
        words,
        is_done: number + 1 < here,
        is_here: number + 1 == here,
    };
    titles.into_iter().zip(words).enumerate().map(stage).collect()
}

fn summary(seen: Option<&Seen>) -> [String; 5] {
    let agent = seen.map(|seen| &seen.agent);
    let labels = agent.map_or(0, |agent| agent.labels.len());
    let at_once = agent.map_or(1, |agent| agent.max_tasks);
    [
        agent.map_or("what it is called".to_owned(), |_| "named, and yours to answer for".to_owned()),
        if labels > 0 { plural(labels, "label") } else { "what tasks may ask of it".to_owned() },
        format!("{at_once} at the same time"),
        "who signs for it".to_owned(),
        "shown once".to_owned(),
    ]
}

/// The policies in force; which of them apply is decided task by task.
async fn policies(app: &App, shell: &Shell) -> Result<Vec<(Markup, String)>, HubError> {
    let filter = hub::policies::Filter { name: None, active: Some(true), after: None };
    let found = hub::policies::list(&app.hub, &shell.caller, filter, POLICIES_SHOWN).await?;
    let ids = found.iter().flat_map(|policy| words::named_in_line(&policy.rules));
    let names = Names::of(app, shell, ids).await?;
    Ok(found.iter().map(|policy| (line(&policy.name), words::who(&policy.rules, &names))).collect())
}
