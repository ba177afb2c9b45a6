//! `countersign task`: proposing changes, and looking at what was proposed.

mod create;
pub(super) mod review;
pub(super) mod show;
mod verbs;
mod watch;

use std::io::{Write, stdout};

use clap::{Args, Subcommand, ValueEnum};
use uuid::Uuid;
use wire::{CreateComment, DiffQuery, PageQuery, Task, TaskState, TaskStatus, TasksQuery};

use super::answer::{SHOWN_DEFAULT, account, done, pages, show_all};
use super::projects;
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{Table, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign task create --type infrastructure --description 'Add an index' --resource database:prod-db-01
  countersign task create --file change.yaml --tag db
  countersign task list --state DRAFT --author me
  countersign task submit 0197a000-0000-7000-8000-000000000000
  countersign task watch 0197a000-0000-7000-8000-000000000000 && ./deploy
  countersign task show 0197a000-0000-7000-8000-000000000000";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign task list --state REVIEWING
  countersign task list --resource database:prod-db-01 --json | jq -r .items[].id
  countersign task list --project payments --path implementation/";
const SHOW_EXAMPLES: &str = "\
Example: countersign task show 0197a000-0000-7000-8000-000000000000

What the task does is printed whole, in one order; what cannot be seen is written as an escape.";
const COMMENT_EXAMPLES: &str =
    "Example: countersign task comment 0197a000-0000-7000-8000-000000000000 'Please use CONCURRENTLY'";
const COMMENTS_EXAMPLES: &str = "Example: countersign task comments 0197a000-0000-7000-8000-000000000000";
const DIFF_EXAMPLES: &str = "\
Examples:
  countersign task diff 0197a000-0000-7000-8000-000000000000              what the last edit changed
  countersign task diff 0197a000-0000-7000-8000-000000000000 --from 1";
const DELETE_EXAMPLES: &str = "Example: countersign task delete 0197a000-0000-7000-8000-000000000000";

#[derive(Args)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Propose a task, from flags or from a file
    #[command(after_help = create::EXAMPLES)]
    Create(Box<create::Create>),
    /// Show tasks, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Show one task, whole
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Say something about a task
    #[command(after_help = COMMENT_EXAMPLES)]
    Comment(Comment),
    /// Show what was said about a task, newest first
    #[command(after_help = COMMENTS_EXAMPLES)]
    Comments(One),
    /// Show what is different between two revisions of a task
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(Diff),
    #[command(flatten)]
    Verb(verbs::Verb),
    /// Delete a draft that no task waits for
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(One),
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
enum State {
    Draft,
    Submitted,
    Reviewing,
    Approved,
    Applying,
    Completed,
    Rejected,
    Cancelled,
    Failed,
}

impl From<State> for TaskState {
    fn from(state: State) -> Self {
        match state {
            State::Draft => Self::Draft,
            State::Submitted => Self::Submitted,
            State::Reviewing => Self::Reviewing,
            State::Approved => Self::Approved,
            State::Applying => Self::Applying,
            State::Completed => Self::Completed,
            State::Rejected => Self::Rejected,
            State::Cancelled => Self::Cancelled,
            State::Failed => Self::Failed,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
    Blocked,
}

impl From<Status> for TaskStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Blocked => Self::Blocked,
        }
    }
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Only those in this state
    #[arg(long, ignore_case = true)]
    state: Option<State>,
    /// Only those of this status
    #[arg(long)]
    status: Option<Status>,
    /// Only those this account proposed: me, an id, or an e-mail
    #[arg(long, value_name = "ACCOUNT")]
    author: Option<String>,
    /// Only those this account shall apply: me, an id, or an e-mail
    #[arg(long, value_name = "ACCOUNT")]
    assignee: Option<String>,
    /// Only those that touch this
    #[arg(long, value_name = "TYPE:ID")]
    resource: Option<String>,
    /// Only those with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only those of this project: a slug or an id
    #[arg(long)]
    project: Option<String>,
    /// Only those whose path begins like this
    #[arg(long, value_name = "PREFIX")]
    path: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
}

#[derive(Args)]
struct Comment {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// What to say
    text: String,
}

#[derive(Args)]
struct Diff {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// The earlier revision; the one before the later without it
    #[arg(long, value_name = "REVISION")]
    from: Option<i64>,
    /// The later revision; the current one without it
    #[arg(long, value_name = "REVISION")]
    to: Option<i64>,
}

pub(crate) fn run(command: Tasks) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::Create(create) => create::run(*create).await,
            Action::List(list) => run_list(list).await,
            Action::Show(one) => {
                let task = one.client.client()?.task(one.task).await?;
                show::task(&task, one.client.json)
            }
            Action::Comment(comment) => {
                let client = comment.client.client()?;
                let said = client.comment_task(comment.task, &CreateComment { body: comment.text }).await?;
                if comment.client.json {
                    write_json(&mut stdout(), &said)?;
                    return Ok(Exit::Done);
                }
                done(false, &format!("said as comment {}", said.id))
            }
            Action::Comments(one) => run_comments(&one).await,
            Action::Diff(diff) => {
                let query = DiffQuery { from: diff.from, to: diff.to };
                let found = diff.client.client()?.diff_task(diff.task, &query).await?;
                show::diff(&found, diff.client.json)
            }
            Action::Verb(verb) => verbs::run(verb).await,
            Action::Delete(one) => {
                one.client.client()?.delete_task(one.task).await?;
                done(one.client.json, &format!("deleted task {}", one.task))
            }
        }
    })
}

async fn run_list(list: List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let mut query = TasksQuery {
        state: list.state.map(Into::into),
        status: list.status.map(Into::into),
        resource: list.resource,
        tag: list.tag,
        path_prefix: list.path,
        ..TasksQuery::default()
    };
    if let Some(project) = &list.project {
        query.project_id = Some(projects::find(&client, project).await?.id);
    }
    if let Some(author) = &list.author {
        query.author = Some(account(&client, author).await?.to_string());
    }
    if let Some(assignee) = &list.assignee {
        query.assignee = Some(account(&client, assignee).await?.to_string());
    }
    let page = async |cursor| client.tasks(&TasksQuery { cursor, ..query.clone() }).await;
    let tasks = pages(list.limit, page).await?;
    show_all(&tasks, list.client.json, |tasks| {
        let mut table = Table::new(["ID", "STATE", "STATUS", "RISK", "DESCRIPTION", "AUTHOR"]);
        for task in tasks {
            let (state, status) = (show::word(&task.state), show::word(&task.status));
            let row = [
                &task.id.to_string(),
                &state,
                &status,
                &task.risk.level,
                first_line(task),
                &task.metadata.author_name,
            ];
            table.row(row.map(|cell: &str| cell));
        }
        table
    })
}

fn first_line(task: &Task) -> &str {
    let description = task.config["description"].as_str().unwrap_or_default();
    description.lines().next().unwrap_or_default()
}

async fn run_comments(one: &One) -> anyhow::Result<Exit> {
    let client = one.client.client()?;
    let page = async |cursor| client.task_comments(one.task, &PageQuery { cursor, limit: None }).await;
    let comments = pages(usize::MAX, page).await?;
    if one.client.json {
        write_json(&mut stdout(), &serde_json::json!({ "items": comments }))?;
        return Ok(Exit::Done);
    }
    for comment in comments {
        let author = domain::rendering::plain(&comment.author_name);
        writeln!(stdout(), "{} {author}:", comment.created_at)?;
        writeln!(stdout(), "{}\n", domain::rendering::plain(&comment.body))?;
    }
    Ok(Exit::Done)
}
