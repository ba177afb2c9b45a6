//! What is done with a whole task: handed in, given up, made anew, watched, its approval taken back, its review joined.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use clap::{Args, Subcommand};
use client::{Client, ClientError};
use uuid::Uuid;
use wire::{GiveReason, GiveUrgency, Resubmit, Task, TaskState};

use super::super::approvals;
use super::{One, show, watch as follow};
use crate::cli::ClientFlags;
use crate::exit::Exit;
use crate::terminal::write_json;

const SUBMIT_EXAMPLES: &str = "\
Example: countersign task submit 0197a000-0000-7000-8000-000000000000

Reviewers are asked, or, where every policy says so, the task is approved at once.";
const CANCEL_EXAMPLES: &str =
    "Example: countersign task cancel 0197a000-0000-7000-8000-000000000000 --reason 'not needed any more'";
const RESUBMIT_EXAMPLES: &str = "\
Examples:
  countersign task resubmit 0197a000-0000-7000-8000-000000000000
  countersign task resubmit 0197a000-0000-7000-8000-000000000000 --leave-dependents";
const WITHDRAW_EXAMPLES: &str =
    "Example: countersign task withdraw-approval 0197a000-0000-7000-8000-000000000000 --reason 'wrong table'";
const JOIN_EXAMPLES: &str = "Example: countersign task join-review 0197a000-0000-7000-8000-000000000000";
const OVERRIDE_EXAMPLES: &str = "\
Example: countersign task override 0197a000-0000-7000-8000-000000000000 --reason 'the only reviewer is away' \\
      --incident-ticket INC-7

Nothing changes yet: every other admin who had no hand in the task gets a request (`approval list`), and the first who
approves it ends the review.";
const FORCE_EXAMPLES: &str = "\
Example: countersign task force-apply 0197a000-0000-7000-8000-000000000000 --reason 'customers wait' --incident-ticket INC-7

Of a task that is still reviewed it asks for an override that then does so; of an approved one that waits for others
it asks the other admins to sign that it need not. Locks are never skipped.";
const WATCH_EXAMPLES: &str = "\
Examples:
  countersign task watch 0197a000-0000-7000-8000-000000000000 && ./deploy
  countersign task watch 0197a000-0000-7000-8000-000000000000 --timeout 600
  countersign task watch 0197a000-0000-7000-8000-000000000000 --to-end

Ends with 0 when the task is approved, 3 when it is not (rejected, sent back, cancelled), 4 when the time is over. With
--to-end it goes on until the task is applied: what it waits for is said on stderr, what its agent writes goes to stdout
as it is written, and 0 means that it was completed, 1 that it failed.";

/// How long one question to the hub waits for its answer.
const WAIT_SECONDS: u32 = 50;
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Hand a draft in for review
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(One),
    /// Wait until a task's review has ended, or follow it until it is applied
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Watch),
    /// Give a task up before it is applied
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel(Because),
    /// Make a new draft of a task that was rejected or cancelled, or that failed
    #[command(name = "resubmit", after_help = RESUBMIT_EXAMPLES)]
    Again(Again),
    /// Take the approval of a task back before it is applied
    #[command(name = "withdraw-approval", after_help = WITHDRAW_EXAMPLES)]
    Withdraw(Because),
    /// Take part in a review without having been asked, as an admin
    #[command(name = "join-review", after_help = JOIN_EXAMPLES)]
    Join(One),
    /// Ask the other admins to approve a task past its reviewers, as an admin
    #[command(name = "override", after_help = OVERRIDE_EXAMPLES)]
    Override(Urgent),
    /// Put an approved task at the head of the queue, as an admin
    #[command(name = "force-apply", after_help = FORCE_EXAMPLES)]
    ForceApply(Urgent),
}

#[derive(Args)]
pub(super) struct Urgent {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// Why
    #[arg(long)]
    reason: String,
    /// The incident it is about
    #[arg(long, value_name = "TICKET")]
    incident_ticket: String,
}

impl Urgent {
    fn why(&self) -> GiveUrgency {
        GiveUrgency { reason: self.reason.clone(), incident_ticket: self.incident_ticket.clone() }
    }
}

#[derive(Args)]
pub(super) struct Because {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// Why
    #[arg(long)]
    reason: String,
}

#[derive(Args)]
pub(super) struct Again {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// Tasks that wait for the old one go on waiting for it
    #[arg(long)]
    leave_dependents: bool,
}

#[derive(Args)]
pub(super) struct Watch {
    #[command(flatten)]
    client: ClientFlags,
    /// The task's id
    task: Uuid,
    /// Give up after so long; without it, never
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Go on until the task is applied, or will not be
    #[arg(long)]
    to_end: bool,
}

pub(super) async fn run(verb: Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Submit(one) => {
            let task = one.client.client()?.submit_task(one.task).await?;
            show::task(&task, one.client.json)
        }
        Verb::Watch(watch) => run_watch(&watch).await,
        Verb::Cancel(because) => {
            let reason = GiveReason { reason: because.reason };
            show::task(
                &because.client.client()?.cancel_task(because.task, &reason).await?,
                because.client.json,
            )
        }
        Verb::Again(again) => {
            let how = Resubmit { take_over_dependents: Some(!again.leave_dependents) };
            show::task(&again.client.client()?.resubmit_task(again.task, &how).await?, again.client.json)
        }
        Verb::Withdraw(because) => {
            let reason = GiveReason { reason: because.reason };
            let client = because.client.client()?;
            show::task(&client.withdraw_approval(because.task, &reason).await?, because.client.json)
        }
        Verb::Join(one) => {
            let request = one.client.client()?.join_review(one.task).await?;
            approvals::show_request(&request, one.client.json)
        }
        Verb::Override(urgent) => {
            let client = urgent.client.client()?;
            show::task(&client.override_review(urgent.task, &urgent.why()).await?, urgent.client.json)
        }
        Verb::ForceApply(urgent) => {
            let client = urgent.client.client()?;
            show::task(&client.force_apply(urgent.task, &urgent.why()).await?, urgent.client.json)
        }
    }
}

async fn run_watch(watch: &Watch) -> anyhow::Result<Exit> {
    let client = watch.client.client()?;
    let end = async {
        match watch.to_end {
            true => follow::to_end(&client, watch.task).await,
            false => Ok(until_decided(&client, watch.task).await?),
        }
    };
    let task = match watch.timeout {
        None => end.await?,
        Some(seconds) => match tokio::time::timeout(Duration::from_secs(seconds), end).await {
            Ok(task) => task?,
            Err(_) => {
                let what = if watch.to_end { "task" } else { "review" };
                writeln!(stderr(), "countersign: after {seconds} s the {what} has not ended")?;
                return Ok(Exit::TimedOut);
            }
        },
    };
    if watch.client.json {
        write_json(&mut stdout(), &task)?;
    } else {
        writeln!(stdout(), "task {} is {}{}", task.id, show::word(&task.state), how(&task))?;
    }
    Ok(exit(&task))
}

/// The task when its review has ended. A hub that is restarted or busy is asked again.
async fn until_decided(client: &Client, id: Uuid) -> Result<Task, ClientError> {
    loop {
        match client.watch_task(id, WAIT_SECONDS).await {
            Ok(task) if is_open(&task) => progress(&task),
            Ok(task) => return Ok(task),
            Err(error) if error.passes() => tokio::time::sleep(RECONNECT_PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

const fn is_open(task: &Task) -> bool {
    matches!(task.state, TaskState::Submitted | TaskState::Reviewing)
}

/// On a terminal, what is waited for.
fn progress(task: &Task) {
    let missing = task.review.iter().flat_map(|review| &review.missing);
    if stderr().is_terminal() {
        for line in missing {
            // Nobody to tell is no reason to stop waiting.
            drop(writeln!(stderr(), "waiting: {}", show::one_line(line)));
        }
    }
}

fn how(task: &Task) -> String {
    let resolution = task.review.as_ref().and_then(|review| review.resolution.as_deref());
    resolution.map_or_else(String::new, |resolution| format!(" ({})", show::one_line(resolution)))
}

/// A task that did not come through is refused, whoever ended it.
const fn exit(task: &Task) -> Exit {
    match task.state {
        TaskState::Approved | TaskState::Applying | TaskState::Completed => Exit::Done,
        // Back to its author, unless it was never handed in.
        TaskState::Draft if task.review.is_none() => Exit::Failed,
        TaskState::Draft | TaskState::Rejected | TaskState::Cancelled => Exit::Refused,
        TaskState::Failed | TaskState::Submitted | TaskState::Reviewing => Exit::Failed,
    }
}
