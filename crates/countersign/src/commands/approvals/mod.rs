//! `countersign approval`: what reviewers are asked, and what they answer.

mod batch;
mod decide;

use std::io::{Write, stdout};

use clap::{Args, Subcommand, ValueEnum};
use client::Client;
use uuid::Uuid;
use wire::{Approval, ApprovalStats, ApprovalStatsQuery, ApprovalStatus, ApprovalsQuery, PassOn, Task};

use super::answer::{SHOWN_DEFAULT, account, pages, show_all, show_one};
use super::tasks::show::{one_line, whole, word};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{Table, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign approval list                                              what waits for you
  countersign approval show 0197a000-0000-7000-8000-000000000000         read it, whole
  countersign approval approve 0197a000-0000-7000-8000-000000000000      read it, then say yes
  countersign approval reject 0197a000-0000-7000-8000-000000000000 --reason 'not on a Friday'";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign approval list                             what waits for you, the most urgent first
  countersign approval list --all --task 0197a000-0000-7000-8000-000000000000
  countersign approval list --reviewer ada@example.org --json | jq -r .items[].id";
const SHOW_EXAMPLES: &str = "\
Example: countersign approval show 0197a000-0000-7000-8000-000000000000

What the task does is printed whole, in one order; what cannot be seen is written as an escape. Below it stand its risk,
the policies that apply and why, and what is missing.";
const ACKNOWLEDGE_EXAMPLES: &str =
    "Example: countersign approval acknowledge 0197a000-0000-7000-8000-000000000000";
const DELEGATE_EXAMPLES: &str = "\
Example: countersign approval delegate 0197a000-0000-7000-8000-000000000000 --to bob@example.org --reason 'his database'";
const STATS_EXAMPLES: &str = "\
Examples:
  countersign approval stats
  countersign approval stats --reviewer ada@example.org --json";

#[derive(Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show what waits for an answer, the most urgent first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Show a request with all that is to be decided on
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Say yes to exactly what you read
    #[command(after_help = decide::APPROVE_EXAMPLES)]
    Approve(decide::Approving),
    /// Say no, and why
    #[command(after_help = decide::REJECT_EXAMPLES)]
    Reject(decide::Refusing),
    /// Send the task back to its author, and say what to change
    #[command(after_help = decide::CHANGES_EXAMPLES)]
    RequestChanges(decide::Refusing),
    /// Answer many requests at once: all of them, or none
    #[command(after_help = batch::EXAMPLES)]
    Batch(batch::Batch),
    /// Pass a request on to somebody who decides instead
    #[command(after_help = DELEGATE_EXAMPLES)]
    Delegate(Delegate),
    /// Say that you have seen a request
    #[command(after_help = ACKNOWLEDGE_EXAMPLES)]
    Acknowledge(One),
    /// Show how a reviewer keeps up
    #[command(after_help = STATS_EXAMPLES)]
    Stats(Stats),
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
enum Status {
    Pending,
    Approved,
    Rejected,
    Delegated,
    Expired,
    Superseded,
}

impl From<Status> for ApprovalStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Approved => Self::Approved,
            Status::Rejected => Self::Rejected,
            Status::Delegated => Self::Delegated,
            Status::Expired => Self::Expired,
            Status::Superseded => Self::Superseded,
        }
    }
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Those to this account: me, an id, or an e-mail; to you without it
    #[arg(long, value_name = "ACCOUNT")]
    reviewer: Option<String>,
    /// Those in this status; PENDING without it
    #[arg(long, ignore_case = true)]
    status: Option<Status>,
    /// Those to everybody and in every status, unless --reviewer or --status says otherwise
    #[arg(long)]
    all: bool,
    /// Only those about this task
    #[arg(long, value_name = "TASK")]
    task: Option<Uuid>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// The request's id
    approval: Uuid,
}

#[derive(Args)]
struct Delegate {
    #[command(flatten)]
    client: ClientFlags,
    /// The request's id
    approval: Uuid,
    /// Who decides instead: an id or an e-mail
    #[arg(long, value_name = "ACCOUNT")]
    to: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
struct Stats {
    #[command(flatten)]
    client: ClientFlags,
    /// Whose: me, an id, or an e-mail; yours without it
    #[arg(long, value_name = "ACCOUNT")]
    reviewer: Option<String>,
}

pub(crate) fn run(command: Approvals) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Show(one) => {
                let (request, task) = with_task(&one.client.client()?, one.approval).await?;
                if one.client.json {
                    write_json(&mut stdout(), &serde_json::json!({ "approval": request, "task": task }))?;
                } else {
                    write!(stdout(), "{}", read(&request, &task))?;
                }
                Ok(Exit::Done)
            }
            Action::Approve(approving) => decide::approve(approving).await,
            Action::Reject(refusing) => decide::reject(refusing).await,
            Action::RequestChanges(refusing) => decide::request_changes(refusing).await,
            Action::Batch(many) => batch::run(many).await,
            Action::Delegate(passed) => {
                let client = passed.client.client()?;
                let to = account(&client, &passed.to).await?;
                let pass_on = PassOn { to, reason: passed.reason.clone() };
                show_request(&client.delegate_approval(passed.approval, &pass_on).await?, passed.client.json)
            }
            Action::Acknowledge(one) => {
                let request = one.client.client()?.acknowledge_approval(one.approval).await?;
                show_request(&request, one.client.json)
            }
            Action::Stats(stats) => run_stats(&stats).await,
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let reviewer = match &list.reviewer {
        Some(named) => Some(account(&client, named).await?.to_string()),
        None => (!list.all).then(|| "me".to_owned()),
    };
    let status = match list.status {
        Some(status) => Some(status.into()),
        None => (!list.all).then_some(ApprovalStatus::Pending),
    };
    let query = ApprovalsQuery { reviewer, status, task_id: list.task, ..ApprovalsQuery::default() };
    let page = async |cursor| client.approvals(&ApprovalsQuery { cursor, ..query.clone() }).await;
    let requests = pages(list.limit, page).await?;
    show_all(&requests, list.client.json, table)
}

fn table(requests: &[Approval]) -> Table {
    let mut table = Table::new(["ID", "STATUS", "PRIORITY", "SCORE", "DUE", "REVIEWER", "TASK"]);
    for request in requests {
        let status = word(&request.status);
        let score = request.score.map_or_else(|| "-".to_owned(), |score| score.to_string());
        let row = [
            &request.id.to_string(),
            &status,
            &request.priority,
            &score,
            request.due_at.as_deref().unwrap_or("-"),
            &request.reviewer_name,
            &request.task_id.to_string(),
        ];
        table.row(row.map(|cell: &str| cell));
    }
    table
}

async fn run_stats(stats: &Stats) -> anyhow::Result<Exit> {
    let client = stats.client.client()?;
    let reviewer = match &stats.reviewer {
        Some(named) => Some(account(&client, named).await?.to_string()),
        None => None,
    };
    let found = client.approval_stats(&ApprovalStatsQuery { reviewer }).await?;
    show_one(&found, stats.client.json, |found: &ApprovalStats| {
        let average = found.avg_response_time.map(|seconds| format!("{seconds:.0} s"));
        vec![
            ("reviewer", found.reviewer_id.to_string()),
            ("waiting", found.pending_count.to_string()),
            ("approved today", found.approved_today.to_string()),
            ("rejected today", found.rejected_today.to_string()),
            ("answers after", average.unwrap_or_else(|| "-".to_owned())),
            ("last answer", found.last_action_at.clone().unwrap_or_else(|| "-".to_owned())),
        ]
    })
}

/// A request, and the task it is about.
async fn with_task(client: &Client, id: Uuid) -> anyhow::Result<(Approval, Task)> {
    let request = client.approval(id).await?;
    let task = client.task(request.task_id).await?;
    Ok((request, task))
}

/// Shows a request without its task.
pub(super) fn show_request(request: &Approval, json: bool) -> anyhow::Result<Exit> {
    if json {
        write_json(&mut stdout(), request)?;
    } else {
        write!(stdout(), "{}", head(request))?;
    }
    Ok(Exit::Done)
}

/// All that a reviewer reads.
fn read(request: &Approval, task: &Task) -> String {
    let changed = match request.content_hash == task.content_hash {
        true => "",
        false => "! the task has changed since; this request is about what it was\n",
    };
    format!("{}{changed}\n{}", head(request), whole(task))
}

/// Through whom a request came.
fn through(chain: &[Uuid]) -> String {
    let people: Vec<String> = chain.iter().map(ToString::to_string).collect();
    if people.is_empty() { "-".to_owned() } else { people.join(" > ") }
}

/// What is signed, in words.
fn kind(request: &Approval) -> String {
    if request.skips.is_empty() {
        return one_line(&request.kind);
    }
    let skips: Vec<String> = request.skips.iter().map(ToString::to_string).collect();
    format!("{}: the approved task need not wait for {}", one_line(&request.kind), skips.join(", "))
}

fn head(request: &Approval) -> String {
    let optional = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), one_line);
    let lines = [
        ("request", request.id.to_string()),
        ("kind", kind(request)),
        ("about", request.task_id.to_string()),
        ("reviewer", one_line(&request.reviewer_name)),
        ("came by", through(&request.delegation_chain)),
        ("went to", request.delegated_to.map_or_else(|| "-".to_owned(), |to| to.to_string())),
        ("status", word(&request.status)),
        ("priority", one_line(&request.priority)),
        ("due", optional(request.due_at.as_deref())),
        ("answer", optional(request.response_action.as_deref())),
        ("reason", optional(request.response_reason.as_deref())),
        ("decides on", request.content_hash.clone()),
    ];
    lines.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect()
}
