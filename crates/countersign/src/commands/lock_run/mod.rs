//! `countersign lock run`: locks held around a command.

mod holding;

use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use anyhow::Context;
use clap::Args;
use rustix::process::Signal;

use super::process_group::{GRACE, ProcessGroup};
use super::signals::Signals;
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use holding::Holding;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign lock run resource:database:prod -- psql -f change.sql
  countersign lock run resource:service:api resource:service:web --wait 600 -- ./deploy.sh

The command finds the largest fencing token in COUNTERSIGN_FENCING_TOKEN, and all of them by key, as JSON, in
COUNTERSIGN_FENCING_TOKENS. If a lock is lost its whole process group is ended; a hub that cannot be reached is
waited for until just before the locks end. Signals are passed to the group; while it waits, Ctrl-C leaves the line
(exit code 128 and the signal's number). The exit code is the command's own; if it was never started: 3 refused,
4 timed out waiting, 5 no hub.";

#[derive(Args)]
pub(crate) struct Run {
    /// What to lock, such as resource:database:prod
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
    /// Share the keys with others who share
    #[arg(long)]
    shared: bool,
    /// How long the locks live without a heartbeat
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,
    /// How long to wait for the locks (default: as long as it takes)
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
    /// What they are for
    #[arg(long)]
    purpose: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// How it came to an end.
enum Ended {
    /// The command did.
    Command(ExitStatus),
    /// Somebody ended the wait before there was a command.
    Waiting(Signal),
}

impl Ended {
    /// As shells say it.
    fn code(&self) -> i32 {
        match self {
            Self::Command(status) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            Self::Waiting(signal) => 128 + signal.as_raw(),
        }
    }
}

pub(crate) fn run(run: &Run) -> anyhow::Result<Exit> {
    let ended = block_on(async {
        let mut signals = Signals::listen()?;
        let mut holding = Holding::new(run)?;
        let ended = hold_around(&mut holding, run, &mut signals).await;
        // Whoever is in a hurry says so again; what the hub does not hear of ends by itself.
        tokio::select! {
            () = holding.give_back() => {}
            _ = signals.next() => {}
        }
        ended
    })?;
    match ended.code() {
        0 => Ok(Exit::Done),
        code => std::process::exit(code),
    }
}

async fn hold_around(holding: &mut Holding, run: &Run, signals: &mut Signals) -> anyhow::Result<Ended> {
    tokio::select! {
        taken = holding.take(run) => taken?,
        signal = signals.next() => return Ok(Ended::Waiting(signal)),
    }
    let mut command = start(&run.command, holding)?;
    loop {
        tokio::select! {
            status = &mut command.ended => return Ok(Ended::Command(status??)),
            signal = signals.next() => command.tell(signal),
            key = holding.lost() => {
                say(&format!("a lock was lost: {key}; ending the command"));
                return command.end().await.map(Ended::Command);
            }
        }
    }
}

fn start(command: &[String], holding: &Holding) -> anyhow::Result<ProcessGroup> {
    let (program, args) = command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(args).envs(holding.tokens());
    let (group, _) = ProcessGroup::start(&mut command).with_context(|| format!("cannot start {program}"))?;
    Ok(group)
}

fn say(text: &str) {
    drop(writeln!(stderr(), "countersign: {text}"));
}
