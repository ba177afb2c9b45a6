//! `countersign execution`: attempts to apply tasks, what they wrote, and undoing them.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use clap::{Args, Subcommand};
use client::Client;
use uuid::Uuid;
use wire::{Execution, ExecutionPhase, GiveReason, OutputQuery, PageQuery, Progress};

use super::answer::{SHOWN_DEFAULT, pages, show_all, show_one};
use super::tasks::show::{one_line, word};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{LineEnds, Table, shown, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign execution list 0197a000-0000-7000-8000-000000000000       the attempts of a task
  countersign execution output 0197a111-0000-7000-8000-000000000000 --follow
  countersign execution rollback 0197a111-0000-7000-8000-000000000000 --reason 'it broke the login page'";

const LIST_EXAMPLES: &str = "Example: countersign execution list 0197a000-0000-7000-8000-000000000000 --json";
const SHOW_EXAMPLES: &str = "Example: countersign execution show 0197a111-0000-7000-8000-000000000000";
const OUTPUT_EXAMPLES: &str = "\
Examples:
  countersign execution output 0197a111-0000-7000-8000-000000000000 > output.txt
  countersign execution output 0197a111-0000-7000-8000-000000000000 --follow";
const ROLLBACK_EXAMPLES: &str = "\
Example: countersign execution rollback 0197a111-0000-7000-8000-000000000000 --reason 'it broke the login page'

Only the last attempt of a task that has failed is undone, once, if what was approved says how. An agent does it.";

/// How often an attempt that still writes is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(crate) struct Executions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the attempts of a task, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Show one attempt
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Print what an attempt wrote
    #[command(after_help = OUTPUT_EXAMPLES)]
    Output(Output),
    /// Have an attempt that failed undone
    #[command(after_help = ROLLBACK_EXAMPLES)]
    Rollback(Rollback),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// The execution's id
    execution: Uuid,
}

#[derive(Args)]
struct Output {
    #[command(flatten)]
    client: ClientFlags,
    /// The execution's id
    execution: Uuid,
    /// Go on until the attempt has ended
    #[arg(long)]
    follow: bool,
}

#[derive(Args)]
struct Rollback {
    #[command(flatten)]
    client: ClientFlags,
    /// The execution's id
    execution: Uuid,
    /// Why
    #[arg(long)]
    reason: String,
}

pub(crate) fn run(command: Executions) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Show(one) => {
                let execution = one.client.client()?.execution(one.execution).await?;
                show_one(&execution, one.client.json, lines)
            }
            Action::Output(output) => run_output(&output).await,
            Action::Rollback(rollback) => {
                let reason = GiveReason { reason: rollback.reason };
                let client = rollback.client.client()?;
                let execution = client.roll_back_execution(rollback.execution, &reason).await?;
                show_one(&execution, rollback.client.json, lines)
            }
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let found = pages(list.limit, async |cursor| {
        client.task_executions(list.task, &PageQuery { limit: None, cursor }).await
    });
    show_all(&found.await?, list.client.json, |found| {
        let mut table = Table::new(["ID", "PURPOSE", "ATTEMPT", "PHASE", "RESULT", "STARTED", "ENDED"]);
        for execution in found {
            table.row([
                &execution.id.to_string(),
                &word(&execution.purpose),
                &execution.attempt.to_string(),
                &word(&execution.phase),
                &execution.result.as_ref().map_or_else(|| "-".to_owned(), word),
                &execution.started_at,
                execution.completed_at.as_deref().unwrap_or("-"),
            ]);
        }
        table
    })
}

fn lines(execution: &Execution) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("execution", execution.id.to_string()),
        ("task", execution.task_id.to_string()),
        ("purpose", word(&execution.purpose)),
        ("phase", word(&execution.phase)),
        ("attempt", execution.attempt.to_string()),
        ("agent", execution.agent_id.to_string()),
        ("started", execution.started_at.clone()),
        ("last heard", execution.last_heartbeat.clone()),
        ("time ends", execution.deadline_at.clone()),
    ];
    lines.extend(execution.completed_at.clone().map(|at| ("ended", at)));
    lines.extend(execution.result.as_ref().map(|result| ("result", word(result))));
    lines.extend(execution.outcome.as_ref().map(|outcome| ("outcome", word(outcome))));
    lines.push(("rollback", word(&execution.rollback)));
    lines.extend(execution.error.as_ref().map(|error| ("error", one_line(error))));
    lines.extend(execution.progress.as_ref().map(|progress| ("progress", how_far(progress))));
    lines.push(("output", format!("{} bytes", execution.output_size)));
    lines.extend(execution.locks.iter().map(|lock| ("lock", format!("{} {}", lock.key, lock.fencing_token))));
    lines
}

/// How far an agent says it is.
pub(super) fn how_far(progress: &Progress) -> String {
    let percent = progress.percent.map(|percent| format!("{percent} %"));
    let message = progress.message.as_deref().map(one_line);
    percent.into_iter().chain(message).collect::<Vec<_>>().join(": ")
}

async fn run_output(output: &Output) -> anyhow::Result<Exit> {
    let client = output.client.client()?;
    if output.client.json {
        let query = OutputQuery { after: None };
        write_json(&mut stdout(), &client.output(output.execution, &query).await?)?;
        return Ok(Exit::Done);
    }
    let mut printed = Printed::of(output.execution);
    loop {
        let has_ended = printed.print(&client).await?;
        if has_ended || !output.follow {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// How far the output of an attempt was printed.
pub(super) struct Printed {
    pub(super) execution: Uuid,
    after: u64,
}

impl Printed {
    pub(super) fn of(execution: Uuid) -> Self {
        Self { execution, after: 0 }
    }

    /// Prints what is there beyond. Whether nothing more will come.
    pub(super) async fn print(&mut self, client: &Client) -> anyhow::Result<bool> {
        loop {
            let query = OutputQuery { after: Some(self.after) };
            let part = client.output(self.execution, &query).await?;
            let text = shown(&part.text, stdout().is_terminal(), LineEnds::Keep);
            stdout().write_all(text.as_bytes())?;
            stdout().flush()?;
            self.after = part.next_after;
            if part.text.is_empty() || self.after >= part.output_size {
                return Ok(part.ended);
            }
        }
    }
}

/// Whether an attempt is at work.
pub(super) const fn is_at_work(execution: &Execution) -> bool {
    !matches!(execution.phase, ExecutionPhase::Ended)
}
