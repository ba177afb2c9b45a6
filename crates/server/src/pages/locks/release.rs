//! Taking a key from whoever holds it. The page says who that is and what they will notice; the person types the key.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::agents::AgentStatus;
use domain::executions::{Execution, Phase};
use domain::permissions::Capability;
use garde::Validate;
use hub::HubError;
use hub::locks::{Held, Standing};
use serde::Deserialize;
use uuid::Uuid;

use super::{TEXT_BYTES_MAX, agents_of, fence, piece};
use crate::App;
use crate::extract::Asked;
use crate::pages::form::Filled;
use crate::pages::lists::{Address, Names, denied};
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, ago, filters, line, long};
use crate::pages::task_list::rows::title_of;
use crate::pages::{lead_to, page};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "locks/release.html")]
struct ReleasePage<'a> {
    shell: &'a Shell,
    key: Markup,
    /// For the form, as it is.
    plain_key: String,
    holders: Vec<Holder>,
    next: Option<Face>,
    reason: String,
    message: Option<&'static str>,
}

struct Holder {
    who: Face,
    piece: Option<Markup>,
    held: Markup,
    fence: String,
    /// When an agent was last heard; none for people, and for agents that never said a word.
    heard: Option<Markup>,
    is_offline: bool,
    task: Option<(Uuid, Markup)>,
    /// Whether what it holds it for is undoing what failed.
    is_undoing: bool,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meant {
    #[garde(length(bytes, max = TEXT_BYTES_MAX))]
    key: String,
}

/// What is typed: the key that is meant, the same again by hand, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseForm {
    key: String,
    typed: String,
    reason: String,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(meant): Asked<Meant>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = refused(&shell) {
        return Ok(denied);
    }
    shown(&app, &shell, &meant.key, (String::new(), None)).await
}

pub(crate) async fn submit(
    State(app): State<App>,
    shell: Shell,
    Filled(form): Filled<ReleaseForm>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = refused(&shell) {
        return Ok(denied);
    }
    if form.typed != form.key {
        let message = "What you typed is not the whole key. Nothing was released.";
        return shown(&app, &shell, &form.key, (form.reason, Some(message))).await;
    }
    hub::locks::force_release(&app.hub, &shell.caller, &form.key, form.reason).await?;
    Ok(lead_to(&Address::of("/locks").with("released", form.key).to_string()))
}

fn refused(shell: &Shell) -> Option<Response<Body>> {
    denied(shell, Capability::LocksForceRelease, "Force release", "Force releases")
}

async fn shown(
    app: &App,
    shell: &Shell,
    key: &str,
    (reason, message): (String, Option<&'static str>),
) -> Result<Response<Body>, Problem> {
    let standing = hub::locks::queue(&app.hub, &shell.caller, key).await?;
    let template = ReleasePage {
        key: line(key),
        plain_key: key.to_owned(),
        holders: holders(app, shell, &standing).await?,
        next: next(app, shell, &standing).await?,
        reason,
        message,
        shell,
    };
    let status = if message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page(status, &template))
}

async fn next(app: &App, shell: &Shell, standing: &Standing) -> Result<Option<Face>, HubError> {
    let Some(first) = standing.waiters.first() else { return Ok(None) };
    let names = Names::of(app, shell, [first.owner.agent]).await?;
    Ok(Some(names.face(first.owner.agent)))
}

async fn holders(app: &App, shell: &Shell, standing: &Standing) -> Result<Vec<Holder>, HubError> {
    let names = Names::of(app, shell, agents_of(standing)).await?;
    let mut holders = Vec::new();
    for held in &standing.holders {
        holders.push(holder(app, shell, held, &names).await?);
    }
    Ok(holders)
}

async fn holder(app: &App, shell: &Shell, held: &Held, names: &Names) -> Result<Holder, HubError> {
    let owner = &held.hold.owner;
    let agent = match hub::agents::get(&app.hub, &shell.caller, owner.agent).await {
        Ok(seen) => Some(seen.agent),
        Err(HubError::NotFound(_) | HubError::Forbidden(_)) => None,
        Err(other) => return Err(other),
    };
    let heard = agent.as_ref().and_then(|agent| agent.last_heartbeat);
    let (task, is_undoing) = work(app, shell, held).await?.unzip();
    Ok(Holder {
        who: names.face(owner.agent),
        piece: piece(owner),
        held: long(held.hold.acquired_at, shell.now),
        fence: fence(held.hold.fence),
        heard: heard.map(|at| ago(at, shell.now)),
        is_offline: agent.is_some_and(|agent| agent.status() == AgentStatus::Offline),
        task,
        is_undoing: is_undoing.unwrap_or_default(),
    })
}

/// The task of the attempt that holds it, and whether that undoes what failed.
async fn work(app: &App, shell: &Shell, held: &Held) -> Result<Option<((Uuid, Markup), bool)>, HubError> {
    let Ok(id) = held.hold.owner.name.parse::<Id<Execution>>() else { return Ok(None) };
    let execution = match hub::executions::get(&app.hub, &shell.caller, id).await {
        Ok(execution) => execution,
        Err(HubError::NotFound(_) | HubError::Forbidden(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let seen = hub::tasks::get(&app.hub, &shell.caller, execution.task_id).await?;
    let is_undoing = execution.phase() == Phase::RollingBack;
    Ok(Some(((seen.task.id.raw(), line(&title_of(&seen))), is_undoing)))
}
