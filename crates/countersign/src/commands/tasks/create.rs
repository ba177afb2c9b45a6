//! `countersign task create`: a file, flags, or flags over a file.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use uuid::Uuid;
use wire::CreateTask;

use super::super::answer::{account, expiry};
use super::super::{documents, projects};
use super::{review, show};
use crate::cli::{ClientFlags, Usage};
use crate::exit::Exit;

pub(super) const EXAMPLES: &str = "\
Examples:
  countersign task create --type infrastructure --description 'Add an index' --resource database:prod-db-01
  countersign task create --file change.yaml --ticket OPS-7 --tag db
  countersign task create --file change.yaml --simulate
  jq '{config: .}' config.json | countersign task create --file - --json

A file holds what POST /api/v1/tasks takes, as JSON (*.json) or YAML:
  config:
    type: infrastructure
    description: Add an index
    resources: [{type: database, id: prod-db-01}]
  metadata: {team: payments}
What flags say counts over what the file says; --resource and --tag add to it.";

#[derive(Clone, Copy, ValueEnum)]
enum DeclaredRisk {
    Trivial,
    Low,
    Medium,
    High,
    Critical,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rollback {
    Automatic,
    Manual,
    None,
}

#[derive(Args)]
pub(super) struct Create {
    #[command(flatten)]
    client: ClientFlags,
    /// Begin with what this file says; - is standard input
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// What kind of change it is, such as infrastructure
    #[arg(long = "type", value_name = "TYPE")]
    task_type: Option<String>,
    /// What people read first
    #[arg(long, short)]
    description: Option<String>,
    /// What it touches; with @shared beside others who share it
    #[arg(long, short, value_name = "TYPE:ID[@shared]", value_parser = resource)]
    resource: Vec<Value>,
    /// What it is carried out with, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    parameters: Option<Map<String, Value>>,
    /// How large you say the change is
    #[arg(long, value_name = "HOW")]
    declared_risk: Option<DeclaredRisk>,
    /// What happens when it fails
    #[arg(long, value_name = "HOW")]
    rollback: Option<Rollback>,
    /// How long an attempt may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// 0 to 100
    #[arg(long)]
    priority: Option<u32>,
    /// How often a failed attempt is repeated; needs --idempotent
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Repeating it does no harm
    #[arg(long)]
    idempotent: bool,
    /// Whose it is among people
    #[arg(long)]
    team: Option<String>,
    /// Where it is talked about elsewhere
    #[arg(long, value_name = "REF")]
    ticket: Option<String>,
    /// A label to find it by
    #[arg(long)]
    tag: Vec<String>,
    /// Where it lives: a slug or an id
    #[arg(long)]
    project: Option<String>,
    /// Its short name, unique in the project
    #[arg(long)]
    slug: Option<String>,
    /// Its place in the plan, such as implementation/database
    #[arg(long)]
    path: Option<String>,
    /// Who shall apply it: me, an id, or an e-mail
    #[arg(long, value_name = "ACCOUNT")]
    assignee: Option<String>,
    /// Until when it should be done: 30d, or a time
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    due: Option<String>,
    /// A task that has to be done first
    #[arg(long, value_name = "TASK")]
    depends_on: Vec<Uuid>,
    /// Say what would happen if it was handed in, and make nothing
    #[arg(long)]
    simulate: bool,
}

/// `type:id`, or `type:id@shared`. An id may hold an @ of its own.
fn resource(text: &str) -> Result<Value, String> {
    let (name, mode) = match text.strip_suffix("@shared") {
        Some(name) => (name, "shared"),
        None => (text, "exclusive"),
    };
    let (kind, id) = name.split_once(':').ok_or("write TYPE:ID, such as database:prod-db-01")?;
    Ok(json!({"type": kind, "id": id, "mode": mode}))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    match domain::json::parse(text.as_bytes()).map_err(|error| error.to_string())? {
        Value::Object(members) => Ok(members),
        _ => Err("must be a JSON object such as '{\"table\": \"orders\"}'".to_owned()),
    }
}

pub(super) async fn run(create: Create) -> anyhow::Result<Exit> {
    let (json, simulate) = (create.client.json, create.simulate);
    let mut body = match &create.file {
        Some(file) => documents::read_object(file)?,
        None if create.task_type.is_none() || create.description.is_none() => {
            return Err(Usage("say --type and --description, or --file".into()).into());
        }
        None => Map::new(),
    };
    let client = create.client.client()?;
    if let Some(project) = &create.project {
        body.insert("project_id".into(), json!(projects::find(&client, project).await?.id));
    }
    if let Some(assignee) = &create.assignee {
        body.insert("assignee".into(), json!(account(&client, assignee).await?));
    }
    lay_over(&mut body, create)?;
    let request: CreateTask =
        serde_json::from_value(Value::Object(body)).context("the file is not what the hub takes")?;
    if simulate {
        let simulation = client.simulate_task(&request).await?;
        return show::written(&simulation, json, &review::simulated(&simulation));
    }
    show::task(&client.create_task(&request).await?, json)
}

/// What the flags say, over what is there.
fn lay_over(body: &mut Map<String, Value>, create: Create) -> anyhow::Result<()> {
    let config = inner(body, "config")?;
    set(config, "type", create.task_type);
    set(config, "description", create.description);
    set(config, "parameters", create.parameters);
    set(config, "declared_risk", create.declared_risk.map(name));
    set(config, "rollback_strategy", create.rollback.map(name));
    set(config, "timeout_seconds", create.timeout);
    set(config, "priority", create.priority);
    set(config, "max_retries", create.max_retries);
    set(config, "idempotent", create.idempotent.then_some(true));
    add(config, "resources", create.resource)?;
    let metadata = inner(body, "metadata")?;
    set(metadata, "team", create.team);
    set(metadata, "ticket_ref", create.ticket);
    add(metadata, "tags", create.tag.into_iter().map(Value::from).collect())?;
    set(body, "slug", create.slug);
    set(body, "path", create.path);
    set(body, "due_at", create.due);
    add(body, "depends_on", create.depends_on.into_iter().map(|id| json!(id)).collect())
}

fn name(word: impl ValueEnum) -> String {
    word.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn set<T: serde::Serialize>(object: &mut Map<String, Value>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), json!(value));
    }
}

fn inner<'a>(object: &'a mut Map<String, Value>, name: &str) -> anyhow::Result<&'a mut Map<String, Value>> {
    let member = object.entry(name).or_insert_with(|| json!({}));
    member.as_object_mut().ok_or_else(|| anyhow!("{name} must be an object"))
}

fn add(object: &mut Map<String, Value>, name: &str, more: Vec<Value>) -> anyhow::Result<()> {
    if more.is_empty() {
        return Ok(());
    }
    let list = object.entry(name).or_insert_with(|| json!([]));
    list.as_array_mut().ok_or_else(|| anyhow!("{name} must be a list"))?.extend(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: Create,
    }

    #[test]
    fn flags_count_over_the_file_and_lists_grow() {
        let file = json!({
            "config": {"type": "a", "description": "from the file", "resources": [{"type": "d", "id": "x"}]},
            "metadata": {"team": "sre", "tags": ["one"]}, "slug": "kept",
        });
        let line = "create --type b --resource db:y@shared --resource cache:z@3 --tag two --declared-risk high \
                    --idempotent --max-retries 2 --rollback none --ticket OPS-7";
        let create = Line::parse_from(line.split_whitespace()).create;
        let Value::Object(mut body) = file else { panic!("an object") };
        lay_over(&mut body, create).unwrap();
        let expected = json!({
            "config": {
                "type": "b", "description": "from the file", "declared_risk": "high", "idempotent": true,
                "max_retries": 2, "rollback_strategy": "none",
                "resources": [{"type": "d", "id": "x"}, {"type": "db", "id": "y", "mode": "shared"},
                              {"type": "cache", "id": "z@3", "mode": "exclusive"}],
            },
            "metadata": {"team": "sre", "tags": ["one", "two"], "ticket_ref": "OPS-7"}, "slug": "kept",
        });
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn a_file_of_another_shape_is_no_reason_to_panic() {
        for (bad, wrong) in [
            (json!({"config": []}), "config must be an object"),
            (json!({"config": {"resources": {}}}), "resources must be a list"),
            (json!({"metadata": 1}), "metadata must be an object"),
        ] {
            let create = Line::parse_from(["create", "--resource", "a:b", "--tag", "t"]).create;
            let Value::Object(mut body) = bad else { panic!("an object") };
            assert_eq!(lay_over(&mut body, create).unwrap_err().to_string(), wrong);
        }
    }
}
