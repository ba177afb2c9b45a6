//! `countersign agent`: who works here, and for whom.

use std::collections::BTreeMap;
use std::io::{Write, stdout};

use clap::{Args, Subcommand, ValueEnum};
use client::Client;
use serde_json::{Map, Value};
use wire::{Agent, AgentStatus, AgentsQuery, CreateAgent, CreateApiKey, UpdateAgent};

use super::agent_run;
use super::answer::{SHOWN_DEFAULT, as_id, done, only, pages, show_all, show_one};
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::{Table, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign agent create deployer --label region=eu --max-tasks 4
  export COUNTERSIGN_API_KEY=$(countersign agent key deployer)      act as the agent
  countersign agent drain deployer                                  finish, take nothing new
  countersign agent run --exec ./apply.sh                           apply what was approved
  countersign agent list --status offline";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign agent list --status active
  countersign agent list --label region=eu --json | jq -r .items[].name";
const CREATE_EXAMPLES: &str = "\
Examples:
  countersign agent create deployer --description 'deploys to production' --max-tasks 4
  countersign agent create deployer --label region=eu --config '{\"branch\": \"main\"}'";
const SHOW_EXAMPLES: &str = "Example: countersign agent show deployer --json";
const UPDATE_EXAMPLES: &str = "\
Examples:
  countersign agent update deployer --max-tasks 8
  countersign agent update deployer --label region=eu --label tier=1    all labels, not some
  countersign agent update deployer --owner 0197a000-0000-7000-8000-000000000000";
const DRAIN_EXAMPLES: &str = "Example: countersign agent drain deployer";
const RESUME_EXAMPLES: &str = "Example: countersign agent resume deployer";
const DEACTIVATE_EXAMPLES: &str = "Example: countersign agent deactivate deployer";
const KEY_EXAMPLES: &str = "\
Examples:
  countersign agent key deployer > deployer.key
  countersign agent key deployer --scope events:read --scope 'locks:*'

The key is printed once and kept nowhere. Without --scope it may work on tasks, executions and locks, and read events.";

#[derive(Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show agents, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Make an agent that you answer for
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// Show one agent
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Change what is said about an agent, or who answers for it
    #[command(after_help = UPDATE_EXAMPLES)]
    Update(Update),
    /// Have an agent take no new work
    #[command(after_help = DRAIN_EXAMPLES)]
    Drain(One),
    /// Have an agent take work again
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(One),
    /// Retire an agent for good; its keys end at once
    #[command(after_help = DEACTIVATE_EXAMPLES)]
    Deactivate(One),
    /// Mint a key for an agent of yours and print it
    #[command(after_help = KEY_EXAMPLES)]
    Key(Key),
    /// Apply approved tasks with a program
    #[command(after_help = agent_run::EXAMPLES)]
    Run(agent_run::Run),
}

#[derive(Clone, Copy, ValueEnum)]
enum Status {
    Active,
    Draining,
    Offline,
}

impl From<Status> for AgentStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Draining => Self::Draining,
            Status::Offline => Self::Offline,
        }
    }
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Only those in this status
    #[arg(long)]
    status: Option<Status>,
    /// Only those this account answers for
    #[arg(long, value_name = "ACCOUNT ID")]
    owner: Option<uuid::Uuid>,
    /// Only those with this label
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Option<(String, String)>,
    /// Also those that were retired
    #[arg(long)]
    include_deactivated: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

/// What can be said about an agent.
#[derive(Args)]
struct About {
    /// What it is for
    #[arg(long)]
    description: Option<String>,
    /// The model it runs on
    #[arg(long)]
    model: Option<String>,
    /// The behaviour it is given
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// How many tasks it works on at once (1 to 1000)
    #[arg(long, value_name = "N")]
    max_tasks: Option<i64>,
    /// What tasks may require of it; again for more
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// How it is set up, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    config: Option<Map<String, Value>>,
}

impl About {
    fn labels(&self) -> Option<BTreeMap<String, String>> {
        (!self.labels.is_empty()).then(|| self.labels.iter().cloned().collect())
    }
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    client: ClientFlags,
    /// What to call it
    name: String,
    #[command(flatten)]
    about: About,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    agent: String,
}

#[derive(Args)]
struct Update {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    agent: String,
    /// What to call it from now on
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    about: About,
    /// Who answers for it from now on (for admins)
    #[arg(long, value_name = "ACCOUNT ID")]
    owner: Option<uuid::Uuid>,
}

#[derive(Args)]
struct Key {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    agent: String,
    /// What to call the key
    #[arg(long, default_value = "command line")]
    name: String,
    /// What it may do; again for more
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// When it ends by itself, such as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

pub(crate) fn run(command: Agents) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Create(create) => run_create(create).await,
            Action::Show(one) => {
                let agent = find(&one.client.client()?, &one.agent).await?;
                show_one(&agent, one.client.json, lines)
            }
            Action::Update(update) => run_update(update).await,
            Action::Drain(one) => {
                let client = one.client.client()?;
                let agent = find(&client, &one.agent).await?;
                show_one(&client.drain_agent(agent.id).await?, one.client.json, lines)
            }
            Action::Resume(one) => {
                let client = one.client.client()?;
                let agent = find(&client, &one.agent).await?;
                show_one(&client.resume_agent(agent.id).await?, one.client.json, lines)
            }
            Action::Deactivate(one) => {
                let client = one.client.client()?;
                let agent = find(&client, &one.agent).await?;
                client.deactivate_agent(agent.id).await?;
                done(one.client.json, &format!("deactivated agent {}", agent.name))
            }
            Action::Key(key) => run_key(key).await,
            Action::Run(run) => agent_run::run(&run).await,
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let page = async |cursor| {
        let query = AgentsQuery {
            owner_id: list.owner,
            status: list.status.map(AgentStatus::from),
            label: list.label.as_ref().map(|(key, value)| format!("{key}:{value}")),
            include_deactivated: list.include_deactivated.then_some(true),
            limit: None,
            cursor,
        };
        client.agents(&query).await
    };
    let agents = pages(list.limit, page).await?;
    show_all(&agents, list.client.json, |agents| {
        let mut table = Table::new(["NAME", "STATUS", "TASKS", "LAST HEARD", "LABELS", "ID"]);
        for agent in agents {
            let heard = agent.last_heartbeat.as_deref().unwrap_or("never");
            let tasks = format!("{}/{}", agent.active_tasks, agent.max_tasks);
            let labels = labels(agent);
            table.row([&agent.name, status(agent), &tasks, heard, &labels, &agent.id.to_string()]);
        }
        table
    })
}

async fn run_create(create: Create) -> anyhow::Result<Exit> {
    let client = create.client.client()?;
    let labels = create.about.labels();
    let About { description, model, role, max_tasks, config, .. } = create.about;
    let wanted =
        CreateAgent { name: create.name, description, model, role_name: role, max_tasks, labels, config };
    show_one(&client.create_agent(&wanted).await?, create.client.json, lines)
}

async fn run_update(update: Update) -> anyhow::Result<Exit> {
    let labels = update.about.labels();
    let About { description, model, role, max_tasks, config, .. } = update.about;
    let change = UpdateAgent {
        name: update.name,
        description,
        // An empty word removes it.
        model: model.map(|model| Some(model).filter(|model| !model.is_empty())),
        role_name: role.map(|role| Some(role).filter(|role| !role.is_empty())),
        max_tasks,
        labels,
        config,
        owner_id: update.owner,
    };
    if change == UpdateAgent::default() {
        return Err(Usage("say what to change; --help shows what can be".into()).into());
    }
    let client = update.client.client()?;
    let agent = find(&client, &update.agent).await?;
    show_one(&client.update_agent(agent.id, &change).await?, update.client.json, lines)
}

async fn run_key(key: Key) -> anyhow::Result<Exit> {
    let client = key.client.client()?;
    let agent = find(&client, &key.agent).await?;
    let wanted = CreateApiKey {
        account_id: Some(agent.id),
        name: key.name,
        scopes: (!key.scopes.is_empty()).then_some(key.scopes),
        expires_at: key.expires_at,
        organization_id: None,
    };
    let minted = client.create_api_key(&wanted).await?;
    if key.client.json {
        write_json(&mut stdout(), &minted)?;
    } else {
        // Alone on its line, so that a shell can take it.
        writeln!(stdout(), "{}", minted.key.as_deref().unwrap_or_default())?;
    }
    Ok(Exit::Done)
}

/// The agent of this name or id; a retired one only by its id.
pub(crate) async fn find(client: &Client, named: &str) -> anyhow::Result<Agent> {
    if let Some(id) = as_id(named) {
        return Ok(client.agent(id).await?);
    }
    let page = async |cursor| {
        client
            .agents(&AgentsQuery { cursor, limit: Some(wire::page::LIMIT_MAX), ..AgentsQuery::default() })
            .await
    };
    only("agent", named, |agent: &Agent| agent.name == named, page).await
}

const fn status(agent: &Agent) -> &'static str {
    match agent.status {
        _ if agent.deactivated_at.is_some() => "deactivated",
        AgentStatus::Active => "active",
        AgentStatus::Draining => "draining",
        AgentStatus::Offline => "offline",
    }
}

fn labels(agent: &Agent) -> String {
    let pairs: Vec<String> = agent.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(", ")
}

fn lines(agent: &Agent) -> Vec<(&'static str, String)> {
    let or_none = |text: Option<&str>| text.unwrap_or("none").to_owned();
    let json = |value: Option<Value>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    let mut lines = vec![
        ("agent", agent.name.clone()),
        ("id", agent.id.to_string()),
        ("status", status(agent).to_owned()),
        ("tasks", format!("{} of {}, {} waiting", agent.active_tasks, agent.max_tasks, agent.queued_tasks)),
        ("last heard", agent.last_heartbeat.clone().unwrap_or_else(|| "never".to_owned())),
        ("health", json(agent.health.clone())),
        ("description", agent.description.clone()),
        ("model", or_none(agent.model.as_deref())),
        ("role", or_none(agent.role_name.as_deref())),
        ("labels", labels(agent)),
        ("owner", agent.owner_id.to_string()),
    ];
    // Hidden from everybody but owner and admins.
    if let Some(config) = &agent.config {
        lines.push(("config", Value::Object(config.clone()).to_string()));
    }
    lines
}
