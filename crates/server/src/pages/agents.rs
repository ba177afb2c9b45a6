//! Agents: trouble on top, health as cards or as a list, the configuration of the one that is chosen.

mod cards;
mod chosen;
pub(crate) mod wizard;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::accounts::Account;
use domain::agents::{AgentChange, AgentStatus};
use domain::cursor::CursorKey;
use domain::permissions::Capability;
use domain::rendering;
use garde::Validate;
use hub::agents::{self, Seen};
use hub::{AgentFilter, HubError};
use serde::Deserialize;
use uuid::Uuid;

use cards::{Card, Trouble, card, trouble};
use chosen::Chosen;

use super::account::Nothing;
use super::form::Filled;
use super::lists::{Address, Chip, Names, denied, given};
use super::shell::Shell;
use super::show::filters;
use super::{lead_to, page};
use crate::App;
use crate::api::page::List;
use crate::extract::{Asked, PathId};
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;
const CARDS_SHOWN: usize = 48;

#[derive(Deserialize, Validate, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    view: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    status: Option<String>,
    /// `me`, or an account.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    owner: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    label: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    agent: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
    #[garde(skip)]
    done: Option<Done>,
}

/// What has just been done.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Done {
    Saved,
    Drained,
    Resumed,
}

impl Done {
    fn words(self) -> &'static str {
        match self {
            Self::Saved => "Saved. It is on record, and the agent sees it at its next heartbeat.",
            Self::Drained => "It takes no new work. What it has begun it finishes.",
            Self::Resumed => "It takes work again.",
        }
    }
}

#[derive(Template)]
#[template(path = "agents/list.html")]
struct AgentsPage<'a> {
    shell: &'a Shell,
    done: Option<&'static str>,
    message: Option<String>,
    troubles: Vec<Trouble>,
    chips: Vec<Chip>,
    filters: Vec<(&'static str, String)>,
    cards: Vec<Card>,
    is_list: bool,
    grid: String,
    list: String,
    older: Option<String>,
    newest: Option<String>,
    chosen: Option<Chosen>,
    may_make: bool,
    is_narrowed: bool,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::AgentsRead, "Agents", "Agents") {
        return Ok(denied);
    }
    shown(&app, &shell, &asking, None).await
}

async fn shown(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    message: Option<String>,
) -> Result<Response<Body>, Problem> {
    let address = address(asking);
    let (filter, list) = filter(shell, asking)?;
    let read = i64::try_from(CARDS_SHOWN + 1).unwrap_or(i64::MAX);
    let found = agents::list(&app.hub, &shell.caller, filter, read).await?;
    let next = next(&list, &found);
    let found = &found[..found.len().min(CARDS_SHOWN)];
    let names = Names::of(app, shell, found.iter().map(|seen| seen.agent.owner_id)).await?;
    let chosen = match id(given(asking.agent.as_deref()))? {
        Some(id) => Some(Chosen::read(app, shell, id).await?),
        None => None,
    };
    let status = |word: &'static str| address.without("cursor").with("status", word).to_string();
    let template = AgentsPage {
        done: asking.done.map(Done::words),
        troubles: found.iter().filter_map(|seen| trouble(seen, shell.now)).collect(),
        chips: chips(&address, asking),
        filters: vec![
            ("Active", status("active")),
            ("Draining", status("draining")),
            ("Offline", status("offline")),
            ("Mine", address.without("cursor").with("owner", "me").to_string()),
        ],
        cards: found.iter().map(|seen| card(seen, &names, &address, shell.now)).collect(),
        is_list: asking.view.as_deref() == Some("list"),
        grid: address.without("view").to_string(),
        list: address.clone().with("view", "list").to_string(),
        older: next.map(|cursor| address.clone().with("cursor", cursor).to_string()),
        newest: asking.cursor.as_ref().map(|_| address.without("cursor").to_string()),
        chosen,
        may_make: shell.caller.capabilities.contains(Capability::AgentsWrite),
        is_narrowed: !chips(&address, asking).is_empty(),
        message: message.clone(),
        shell,
    };
    let status = if message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page(status, &template))
}

fn next(list: &List<'_>, found: &[Seen]) -> Option<String> {
    let place = |seen: &&Seen| {
        vec![CursorKey::Int(seen.agent.created_at.micros()), CursorKey::Uuid(seen.agent.id.raw())]
    };
    list.page(found.iter().collect(), CARDS_SHOWN, place, |_| ()).next_cursor
}

fn id(text: Option<&str>) -> Result<Option<Id<Account>>, Problem> {
    let id = text.map(Uuid::parse_str).transpose();
    Ok(id.map_err(|_| Problem::field("/agent", "must be the id of an agent"))?.map(Id::new))
}

fn address(asking: &Asking) -> Address {
    Address::of("/agents")
        .maybe("view", given(asking.view.as_deref()).filter(|view| *view == "list"))
        .maybe("status", given(asking.status.as_deref()))
        .maybe("owner", given(asking.owner.as_deref()))
        .maybe("label", given(asking.label.as_deref()))
}

fn chips(address: &Address, asking: &Asking) -> Vec<Chip> {
    let filters = [
        ("status", given(asking.status.as_deref())),
        ("owner", given(asking.owner.as_deref())),
        ("label", given(asking.label.as_deref())),
    ];
    let chip = |(name, value): (&'static str, Option<&str>)| {
        Some(Chip { name, value: rendering::plain(value?), off: address.without(name).to_string() })
    };
    filters.into_iter().filter_map(chip).collect()
}

fn filter<'s>(shell: &'s Shell, asking: &Asking) -> Result<(AgentFilter, List<'s>), Problem> {
    let status = given(asking.status.as_deref()).map(str::parse::<AgentStatus>).transpose();
    let status = status.map_err(|error| Problem::field("/status", error.to_string()))?;
    let owner = crate::api::tasks::account(&shell.caller, "/owner", given(asking.owner.as_deref()))?;
    let label = given(asking.label.as_deref()).map(label).transpose()?;
    let list = List::new(&shell.caller, "pages/agents")
        .filtered("status", status.map(AgentStatus::as_str))
        .filtered("owner", owner)
        .filtered("label", given(asking.label.as_deref()));
    let after = list.place(given(asking.cursor.as_deref()))?.map(|(at, id)| (at, Id::new(id)));
    Ok((AgentFilter { owner, status, label, with_deactivated: false, after }, list))
}

/// A label as the cards show it, or as the API takes it: the name of one holds neither sign.
fn label(text: &str) -> Result<(String, String), Problem> {
    let (key, value) =
        text.split_once([':', '=']).ok_or_else(|| Problem::field("/label", "must read key=value"))?;
    crate::api::agents::label(&format!("{}:{}", key.trim(), value.trim()))
}

/// What is changed about an agent; `version` is what the person looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeForm {
    version: String,
    description: String,
    model: String,
    role_name: String,
    max_tasks: String,
    labels: String,
}

pub(crate) async fn change(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<ChangeForm>,
) -> Result<Response<Body>, Problem> {
    let change = match chosen::change(&form) {
        Ok(change) => change,
        Err(words) => return again(&app, &shell, id.0, words).await,
    };
    saved(&app, &shell, id.0, change, Some(form.version)).await
}

async fn saved(
    app: &App,
    shell: &Shell,
    id: Uuid,
    change: AgentChange,
    version: Option<String>,
) -> Result<Response<Body>, Problem> {
    match agents::change(&app.hub, &shell.caller, Id::new(id), change, version).await {
        Ok(_) => Ok(lead_to(&done(id, "saved"))),
        Err(HubError::Invalid(errors)) => {
            let words = errors.iter().map(in_words).collect::<Vec<_>>().join(" ");
            again(app, shell, id, words).await
        }
        Err(HubError::PreconditionFailed) => {
            let words =
                "Somebody changed the agent while you did. Nothing was saved; below is how it is now.";
            again(app, shell, id, words.to_owned()).await
        }
        Err(other) => Err(other.into()),
    }
}

/// A field and what is wrong with it, as a sentence.
fn in_words(error: &domain::json::FieldError) -> String {
    let field = error.pointer.trim_start_matches('/').replace('_', " ");
    super::capitalised(&format!("{field} {}", error.detail))
}

fn done(id: Uuid, word: &str) -> String {
    Address::of("/agents").with("agent", id).with("done", word).to_string()
}

async fn again(app: &App, shell: &Shell, id: Uuid, words: String) -> Result<Response<Body>, Problem> {
    let asking = Asking { agent: Some(id.to_string()), ..Asking::default() };
    shown(app, shell, &asking, Some(words)).await
}

pub(crate) async fn drain(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    agents::drain(&app.hub, &shell.caller, id.id()).await?;
    Ok(lead_to(&done(id.0, "drained")))
}

pub(crate) async fn resume(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    agents::resume(&app.hub, &shell.caller, id.id()).await?;
    Ok(lead_to(&done(id.0, "resumed")))
}
