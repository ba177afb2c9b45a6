//! `countersign agent run`: any program as an agent that applies what was approved.

mod output;
mod program;

use std::io::{Write, stderr};
use std::time::Duration;

use clap::Args;
use client::{Claim, Client, ClientError, Failed};
use hub::ids::{Ids, SystemIds};
use rustix::process::Signal;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{Code, FailExecution, Heartbeat, NextTask};

use super::agents;
use super::signals::Signals;
use crate::cli::ClientFlags;
use crate::exit::Exit;
use program::{Ended, Program};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign agent run --exec ./apply.sh
  countersign agent run --exec ./apply.sh --once -- --verbose
  countersign agent run --agent deployer --exec /usr/local/bin/deploy

For each approved task the program is started once. It finds what was approved, as JSON, on its standard input, and
in its environment COUNTERSIGN_PURPOSE (apply, or rollback when its work is to be undone), COUNTERSIGN_TASK_ID,
COUNTERSIGN_EXECUTION_ID, COUNTERSIGN_ATTEMPT, COUNTERSIGN_CONTENT_HASH, the largest fencing token in
COUNTERSIGN_FENCING_TOKEN and all of them by key, as JSON, in COUNTERSIGN_FENCING_TOKENS; the key of the agent it does
not find. What it writes is the task's output. Exit code 0 means that it is done, any other that it failed.

If the hub ends the attempt, or is silent for so long that others may have the work, the program is ended with all that
it has started. SIGTERM and SIGINT let the work at hand end and take no other; a second one ends it at once. A hub that
is away is waited for.";

/// How long one question for work waits; whoever stops the agent waits for its answer.
const WAIT_SECONDS: u32 = 10;
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How often the hub hears that the agent is there.
const PRESENCE_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    client: ClientFlags,
    /// The program that does the work
    #[arg(long, value_name = "CMD")]
    exec: String,
    /// Which agent, by its owner's key (default: the one whose key it is)
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// End after one task: 0 if it was done, 1 if not
    #[arg(long)]
    once: bool,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARG")]
    args: Vec<String>,
}

pub(super) async fn run(run: &Run) -> anyhow::Result<Exit> {
    let client = run.client.client()?;
    let agent = match &run.agent {
        Some(named) => agents::find(&client, named).await?.id,
        None => client.me().await?.account.id,
    };
    let mut present = JoinSet::new();
    present.spawn(be_there(client.clone(), agent));
    let mut worker = Worker {
        client,
        agent,
        run,
        signals: Signals::listen()?,
        is_stopping: false,
        pause: PAUSE_FIRST,
        question: question(),
    };
    worker.work().await
}

/// Says now and then that the agent is there. What goes wrong shows when it asks for work.
async fn be_there(client: Client, agent: Uuid) {
    loop {
        drop(client.agent_heartbeat(agent, &Heartbeat::default()).await);
        tokio::time::sleep(PRESENCE_INTERVAL).await;
    }
}

struct Worker<'a> {
    client: Client,
    agent: Uuid,
    run: &'a Run,
    signals: Signals,
    /// Whether somebody wants it to end.
    is_stopping: bool,
    pause: Duration,
    /// The name of the question for work: one that was not answered is asked again, and what it claimed is not lost.
    question: String,
}

impl Worker<'_> {
    async fn work(&mut self) -> anyhow::Result<Exit> {
        loop {
            if let Some(claim) = self.next().await? {
                let is_done = self.apply(claim).await?;
                if self.run.once {
                    return Ok(if is_done { Exit::Done } else { Exit::Failed });
                }
            }
            if self.is_stopping {
                return Ok(Exit::Done);
            }
        }
    }

    /// The next task, if there is one soon.
    async fn next(&mut self) -> anyhow::Result<Option<Claim>> {
        let client = self.client.clone();
        let request = NextTask { wait_seconds: Some(WAIT_SECONDS) };
        let key = self.question.clone();
        let mut asked = std::pin::pin!(client.next(self.agent, &request, Some(&key)));
        let answer = loop {
            // An answer that nobody waits for could be a task that nobody works on, so it is waited for.
            tokio::select! {
                answer = &mut asked => break answer,
                signal = self.signals.next() => {
                    if self.is_stopping {
                        return Ok(None);
                    }
                    self.stop(signal);
                }
            }
        };
        match answer {
            Ok(claim) => {
                (self.pause, self.question) = (PAUSE_FIRST, question());
                Ok(claim)
            }
            // What it had claimed, unheard, has ended since: there will be other work.
            Err(error) if is_over(&error) => {
                self.say(&format!("a task was claimed and lost: {error}"));
                self.question = question();
                Ok(None)
            }
            Err(error) if error.passes() || is_full(&error) => {
                self.say(&format!("no work: {error}"));
                self.wait().await;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits a while, longer each time, until somebody wants it to end.
    async fn wait(&mut self) {
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSE_MAX);
        if self.is_stopping {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            signal = self.signals.next() => self.stop(signal),
        }
    }

    /// Has the program do it, and undo it if that is wanted. Whether it was done.
    async fn apply(&mut self, mut claim: Claim) -> anyhow::Result<bool> {
        loop {
            let id = claim.task().execution_id;
            let failure = match self.watch(&claim).await? {
                Ended::Done => {
                    let is_apply = !claim.is_rollback();
                    return Ok(self.told(claim.complete(None).await).is_some() && is_apply);
                }
                Ended::Failed(failure) => failure,
                // Without a report: the hub says what follows when nobody can know what was done.
                Ended::Given(why) => {
                    self.say(&format!("execution {id} was given up: {why}"));
                    return Ok(false);
                }
            };
            self.say(&format!("execution {id}: {}", failure.error));
            match self.told(claim.fail(&failure).await) {
                Some(Failed::RollBack(undoing)) => claim = *undoing,
                Some(Failed::Ended(_)) | None => return Ok(false),
            }
        }
    }

    /// Runs the program until it ends, or must.
    async fn watch(&mut self, claim: &Claim) -> anyhow::Result<Ended> {
        let mut program = match Program::start(&self.run.exec, &self.run.args, claim) {
            Ok(program) => program,
            Err(error) => {
                let error = format!("{} cannot be started: {error}", self.run.exec);
                return Ok(Ended::Failed(FailExecution { error, error_details: None }));
            }
        };
        loop {
            tokio::select! {
                ended = program.ended() => return ended,
                lost = claim.lost() => return program.give_up(lost.to_string()).await,
                signal = self.signals.next() => {
                    if self.is_stopping {
                        return program.give_up("somebody is in a hurry".to_owned()).await;
                    }
                    self.stop(signal);
                }
            }
        }
    }

    fn stop(&mut self, signal: Signal) {
        let name = if signal == Signal::INT { "Ctrl-C" } else { "a signal" };
        self.say(&format!("{name}: taking no further task; once more ends the one at hand"));
        self.is_stopping = true;
    }

    /// What the hub answered to a report. One that it refused was decided otherwise meanwhile.
    fn told<T>(&self, answer: Result<T, ClientError>) -> Option<T> {
        answer.inspect_err(|error| self.say(&format!("the report was not taken: {error}"))).ok()
    }

    fn say(&self, text: &str) {
        let text = crate::terminal::shown(text, true, crate::terminal::LineEnds::Keep);
        drop(writeln!(stderr(), "countersign: {text}"));
    }
}

fn question() -> String {
    SystemIds.fresh().to_string()
}

/// Whether the attempt that an unanswered question has begun is over.
fn is_over(error: &ClientError) -> bool {
    let ClientError::Problem(problem) = error else { return false };
    matches!(problem.known_code(), Some(Code::AttemptEnded | Code::LockExpired))
}

/// Whether the agent may have work another time.
fn is_full(error: &ClientError) -> bool {
    let ClientError::Problem(problem) = error else { return false };
    matches!(problem.known_code(), Some(Code::AgentAtCapacity | Code::AgentDraining))
}
