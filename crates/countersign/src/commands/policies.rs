//! `countersign policy`: who must decide on what.

mod backtest;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use client::Client;
use serde_json::Value;
use uuid::Uuid;
use wire::{
    Approval, ApprovalStatus, CreateTask, Hours, OnTimeout, PageQuery, PoliciesQuery, Policy, PolicyForm,
    PolicyQuery, RejectOn, Task, Window,
};

use super::answer::{SHOWN_DEFAULT, account, as_id, done, only, pages, show_all, show_one};
use super::documents;
use super::tasks::{review, show};
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign policy list
  countersign policy apply -f databases.toml
  countersign policy show databases --version 2
  countersign policy explain 0197a000-0000-7000-8000-000000000000
  countersign policy backtest databases --days 30 --file draft.yaml
  countersign policy deactivate databases";

const LIST_EXAMPLES: &str = "Example: countersign policy list --active --json | jq -r .items[].name";
const APPLY_EXAMPLES: &str = "\
Examples:
  countersign policy apply -f databases.toml
  echo '{\"name\": \"default\", \"min_approvers\": 2}' | countersign policy apply -f -

A file in TOML (databases.toml) or JSON holds one policy, or in JSON a list of them:
  name = 'databases'
  resource_patterns = ['database:prod-*']
  min_approvers = 2
  required_roles = ['dba']
  reviewers = ['ada@example.org']          # e-mails or ids
  when = 'risk.score >= 50 || author.is_agent'

A policy of that name is changed, and keeps what the file does not say; otherwise it is made.";
const SHOW_EXAMPLES: &str = "Example: countersign policy show databases --version 2 --json";
const EXPLAIN_EXAMPLES: &str = "\
Example: countersign policy explain 0197a000-0000-7000-8000-000000000000

Of a task that was never handed in it says what would happen if it was handed in now.";
const DEACTIVATE_EXAMPLES: &str = "Example: countersign policy deactivate databases";

#[derive(Args)]
pub(crate) struct Policies {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show policies, by name
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Make or change policies as a file says
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(Apply),
    /// Show one policy, as it is or as it was in a version
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Say which policies apply to a task and why, who is asked, and what is missing
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Say what a draft of a policy would have changed for past tasks; nothing changes
    #[command(after_help = backtest::EXAMPLES)]
    Backtest(backtest::Run),
    /// Take a policy out of force; its versions stay
    #[command(after_help = DEACTIVATE_EXAMPLES)]
    Deactivate(Deactivate),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Only those in force
    #[arg(long)]
    active: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct Apply {
    #[command(flatten)]
    client: ClientFlags,
    /// The file; - reads JSON from standard input
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args)]
struct Show {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    policy: String,
    /// As it was in this version
    #[arg(long, value_name = "N")]
    version: Option<i64>,
}

#[derive(Args)]
struct Explain {
    #[command(flatten)]
    client: ClientFlags,
    /// The task
    task: Uuid,
}

#[derive(Args)]
struct Deactivate {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    policy: String,
}

pub(crate) fn run(command: Policies) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Apply(apply) => run_apply(&apply).await,
            Action::Show(show) => run_show(&show).await,
            Action::Explain(explain) => run_explain(&explain).await,
            Action::Backtest(run) => backtest::run(&run).await,
            Action::Deactivate(one) => {
                let client = one.client.client()?;
                let policy = find(&client, &one.policy).await?;
                client.deactivate_policy(policy.id).await?;
                done(one.client.json, &format!("deactivated policy {}", policy.name))
            }
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let page = async |cursor| {
        let active = list.active.then_some(true);
        client.policies(&PoliciesQuery { active, cursor, ..PoliciesQuery::default() }).await
    };
    show_all(&pages(list.limit, page).await?, list.client.json, table)
}

async fn run_show(show: &Show) -> anyhow::Result<Exit> {
    let client = show.client.client()?;
    let mut policy = find(&client, &show.policy).await?;
    if show.version.is_some() {
        policy = client.policy(policy.id, PolicyQuery { version: show.version }).await?;
    }
    show_one(&policy, show.client.json, lines)
}

async fn run_explain(explain: &Explain) -> anyhow::Result<Exit> {
    let (client, json) = (explain.client.client()?, explain.client.json);
    let task = client.task(explain.task).await?;
    let Some(review) = &task.review else {
        let simulation = client.simulate_task(&as_proposed(&task)).await?;
        return show::written(&simulation, json, &review::simulated(&simulation));
    };
    let page = async |cursor| {
        client.task_approvals(task.id, &PageQuery { cursor, limit: Some(wire::page::LIMIT_MAX) }).await
    };
    let all = pages(usize::MAX, page).await?;
    let now: Vec<Approval> =
        all.into_iter().filter(|asked| asked.status != ApprovalStatus::Superseded).collect();
    show::written(review, json, &review::explained(&task, review, &now))
}

/// What would propose such a task.
fn as_proposed(task: &Task) -> CreateTask {
    CreateTask {
        config: task.config.clone(),
        project_id: Some(task.project_id),
        path: task.path.clone(),
        assignee: task.assignee,
        due_at: task.due_at.clone(),
        depends_on: Some(task.depends_on.clone()),
        ..CreateTask::default()
    }
}

async fn run_apply(apply: &Apply) -> anyhow::Result<Exit> {
    let wanted = match documents::read(&apply.file)? {
        Value::Array(several) => several,
        one => vec![one],
    };
    let client = apply.client.client()?;
    let mut forms = Vec::new();
    for mut value in wanted {
        named_by_id(&client, &mut value).await?;
        let form: PolicyForm = serde_json::from_value(value)
            .map_err(|error| Usage(format!("{}: {error}", apply.file.display())))?;
        forms.push(form);
    }
    // All of them are understood before the first is sent.
    let mut applied = Vec::new();
    for form in &forms {
        applied.push(apply_one(&client, form).await?);
    }
    match applied.as_slice() {
        [only] => show_one(only, apply.client.json, lines),
        several => show_all(several, apply.client.json, table),
    }
}

async fn apply_one(client: &Client, form: &PolicyForm) -> anyhow::Result<Policy> {
    let Some(name) = &form.name else {
        return Err(Usage("the file does not say the policy's name".into()).into());
    };
    let query = PoliciesQuery { name: Some(name.clone()), ..PoliciesQuery::default() };
    Ok(match client.policies(&query).await?.items.first() {
        Some(known) => client.update_policy(known.id, form).await?,
        None => client.create_policy(form).await?,
    })
}

/// Files name people as people do; the hub wants ids.
async fn named_by_id(client: &Client, value: &mut Value) -> anyhow::Result<()> {
    let (mut named, mut levels) = (Vec::new(), Vec::new());
    for (field, member) in value.as_object_mut().into_iter().flatten() {
        match (field.as_str(), member) {
            ("reviewers", Value::Array(accounts)) => named.extend(accounts),
            ("escalate_to", Value::Array(lists)) => levels.extend(lists),
            _ => {}
        }
    }
    named.extend(levels.into_iter().filter_map(Value::as_array_mut).flatten());
    for person in named {
        if let Value::String(text) = person {
            *text = account(client, text).await?.to_string();
        }
    }
    Ok(())
}

/// The policy of this name or id.
pub(crate) async fn find(client: &Client, named: &str) -> anyhow::Result<Policy> {
    if let Some(id) = as_id(named) {
        return Ok(client.policy(id, PolicyQuery::default()).await?);
    }
    let page = async |cursor| {
        client
            .policies(&PoliciesQuery {
                cursor,
                limit: Some(wire::page::LIMIT_MAX),
                ..PoliciesQuery::default()
            })
            .await
    };
    only("policy", named, |policy: &Policy| policy.name == named, page).await
}

fn table(policies: &[Policy]) -> Table {
    let mut table = Table::new(["NAME", "STATE", "VERSION", "APPROVERS", "APPLIES TO", "ID"]);
    for policy in policies {
        let approvers = format!("{} of {}", policy.min_approvers, meant(policy));
        table.row([
            &policy.name,
            state(policy),
            &policy.version.to_string(),
            &approvers,
            &scope(policy),
            &policy.id.to_string(),
        ]);
    }
    table
}

const fn state(policy: &Policy) -> &'static str {
    match (policy.is_default, policy.active) {
        (true, _) => "default",
        (false, true) => "active",
        (false, false) => "inactive",
    }
}

/// Who may answer.
fn meant(policy: &Policy) -> String {
    let mut meant = policy.required_roles.clone();
    match policy.reviewers.len() {
        0 => {}
        1 => meant.push("1 person".to_owned()),
        several => meant.push(format!("{several} people")),
    }
    meant.join(", ")
}

/// What it applies to, in a few words.
fn scope(policy: &Policy) -> String {
    if policy.is_default {
        return "what no other applies to".to_owned();
    }
    let mut scope = policy.task_types.clone();
    scope.extend(policy.resource_patterns.iter().cloned());
    if policy.risk_threshold > 0 {
        scope.push(format!("risk >= {}", policy.risk_threshold));
    }
    if policy.when.is_some() {
        scope.push("a condition".to_owned());
    }
    if policy.hours.is_some() {
        scope.push("some hours".to_owned());
    }
    if scope.is_empty() { "everything".to_owned() } else { scope.join(", ") }
}

fn hours(hours: &Hours) -> String {
    let window = |window: &Window| format!("{} {}-{}", window.days.join(" "), window.from, window.to);
    let windows: Vec<String> = hours.windows.iter().map(window).collect();
    format!("{} ({})", windows.join("; "), hours.time_zone)
}

fn lines(policy: &Policy) -> Vec<(&'static str, String)> {
    let ids = |ids: &[uuid::Uuid]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let auto = policy.auto_approve_if.as_ref().map_or_else(
        || "never".to_owned(),
        |auto| {
            let roles = auto.author_has_role.join(" or ");
            let scope = auto.resources_in_scope.join(", ");
            format!("risk below {}, author is {roles}, only {scope}", auto.risk_below)
        },
    );
    let levels: Vec<String> = policy.escalate_to.iter().map(|level| ids(level)).collect();
    let on_timeout = match policy.on_timeout {
        OnTimeout::Deny => "reject",
        OnTimeout::Park => "wait",
    };
    let reject_on = match policy.reject_on {
        RejectOn::Any => "one rejection",
        RejectOn::Unreachable => "when the quorum cannot be reached",
    };
    vec![
        ("policy", policy.name.clone()),
        ("id", policy.id.to_string()),
        ("state", state(policy).to_owned()),
        ("version", policy.version.to_string()),
        ("applies to", scope(policy)),
        ("when", policy.when.clone().unwrap_or_else(|| "always".to_owned())),
        ("hours", policy.hours.as_ref().map_or_else(|| "any".to_owned(), hours)),
        ("approvers", format!("{} of {}", policy.min_approvers, meant(policy))),
        ("reviewers", ids(&policy.reviewers)),
        ("rejected by", reject_on.to_owned()),
        ("timeout", policy.timeout_seconds.map_or_else(|| "as set".to_owned(), |time| format!("{time} s"))),
        ("then", levels.join("; ")),
        ("in the end", on_timeout.to_owned()),
        ("joining admins count", yes_no(policy.admins_count)),
        ("following counts", yes_no(policy.following_counts)),
        ("services decide", yes_no(policy.allow_service_reviewers)),
        ("by itself", auto),
    ]
}
