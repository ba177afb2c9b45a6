//! `countersign lock run`: locks held around a command.

mod holding;
mod signals;

use std::io::{Write, stderr};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::task::JoinHandle;

use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use holding::Holding;
use signals::Signals;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign lock run resource:database:prod -- psql -f change.sql
  countersign lock run resource:service:api resource:service:web --wait 600 -- ./deploy.sh

The command finds the largest fencing token in COUNTERSIGN_FENCING_TOKEN, and all of them by key, as JSON, in
COUNTERSIGN_FENCING_TOKENS. If a lock is lost its whole process group is ended; a hub that cannot be reached is
waited for until just before the locks end. Signals are passed to the group; while it waits, Ctrl-C leaves the line
(exit code 128 and the signal's number). The exit code is the command's own; if it was never started: 3 refused,
4 timed out waiting, 5 no hub.";

/// How long a command may take to end after it was told to, and the hub to hear what is given back.
const GRACE: Duration = Duration::from_secs(5);

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
    let mut command = Running::start(&run.command, holding)?;
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

/// A command with a process group of its own.
struct Running {
    group: Pid,
    ended: JoinHandle<std::io::Result<ExitStatus>>,
}

impl Running {
    fn start(command: &[String], holding: &Holding) -> anyhow::Result<Self> {
        let (program, args) = command.split_first().context("there is no command")?;
        let mut child = Command::new(program)
            .args(args)
            .envs(holding.tokens())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let group = Pid::from_child(&child);
        Ok(Self { group, ended: tokio::task::spawn_blocking(move || child.wait()) })
    }

    /// Tells the whole group. One that has ended already needs no signal.
    fn tell(&self, signal: Signal) {
        kill_process_group(self.group, signal).ok();
    }

    /// Ends the whole group: those that do not go by themselves too.
    async fn end(mut self) -> anyhow::Result<ExitStatus> {
        self.tell(Signal::TERM);
        let ended = tokio::time::timeout(GRACE, &mut self.ended).await;
        self.tell(Signal::KILL);
        match ended {
            Ok(status) => Ok(status??),
            Err(_) => Ok(self.ended.await??),
        }
    }
}

fn say(text: &str) {
    drop(writeln!(stderr(), "countersign: {text}"));
}
