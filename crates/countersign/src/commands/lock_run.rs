//! `countersign lock run`: locks held around a command.

use std::io::{IsTerminal, Write, stderr};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use client::{AcquiredLock, Client, ClientError};
use hub::ids::{Ids, SystemIds};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;
use wire::{
    AcquireLock, Code, HeartbeatLock, Lock, LockMode, LockQueueQuery, LockTicket, ReleaseLock, TicketStatus,
};

use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{LineEnds, shown};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign lock run resource:database:prod -- psql -f change.sql
  countersign lock run resource:service:api resource:service:web --wait 600 -- ./deploy.sh

The command finds the largest fencing token in COUNTERSIGN_FENCING_TOKEN, and all of them by key, as JSON, in
COUNTERSIGN_FENCING_TOKENS. If a lock is lost its whole process group is ended. The exit code is the command's own;
if it was never started: 3 refused, 4 timed out waiting, 5 no hub.";

/// How often a ticket is asked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// How long a command may take to end after it was told to.
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

pub(crate) fn run(run: &Run) -> anyhow::Result<Exit> {
    let status = block_on(async {
        let mut holding = Holding::new(run)?;
        let taken = holding.take(run).await;
        let ended = match taken {
            Ok(()) => holding.around(&run.command).await,
            Err(error) => Err(error),
        };
        holding.give_back().await;
        ended
    })?;
    let Some(status) = status else { return Ok(Exit::TimedOut) };
    match status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) {
        0 => Ok(Exit::Done),
        code => std::process::exit(code),
    }
}

/// The locks that are held so far.
struct Holding {
    client: Client,
    /// One per run, so that two of them exclude each other.
    owner: String,
    locks: Vec<Lock>,
    ticket: Option<Uuid>,
    renewed: Instant,
}

impl Holding {
    fn new(run: &Run) -> anyhow::Result<Self> {
        let owner = format!("run-{}", SystemIds.fresh());
        let client = run.client.client()?;
        Ok(Self { client, owner, locks: Vec::new(), ticket: None, renewed: Instant::now() })
    }

    /// Takes the keys one after the other in their order, keeping what it has.
    async fn take(&mut self, run: &Run) -> anyhow::Result<()> {
        let deadline = run.wait.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut keys = run.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let lock = self.take_one(run, &key, deadline).await?;
            self.locks.push(lock);
        }
        clear_progress();
        Ok(())
    }

    async fn take_one(&mut self, run: &Run, key: &str, deadline: Option<Instant>) -> anyhow::Result<Lock> {
        let request = AcquireLock {
            key: key.to_owned(),
            mode: if run.shared { LockMode::Shared } else { LockMode::Exclusive },
            owner: Some(self.owner.clone()),
            ttl_seconds: run.ttl,
            queue: Some(true),
            purpose: run.purpose.clone(),
            ..AcquireLock::default()
        };
        loop {
            let id = match self.client.acquire_lock(&request).await? {
                AcquiredLock::Lock(lock) => return Ok(lock),
                AcquiredLock::Queued(queued) => queued.ticket_id,
            };
            self.ticket = Some(id);
            loop {
                let LockTicket { status, position, lock, .. } = self.client.lock_ticket(id).await?;
                match (status, lock) {
                    (TicketStatus::Granted, Some(lock)) => {
                        self.ticket = None;
                        return Ok(lock);
                    }
                    (TicketStatus::Cancelled, _) => {
                        bail!("the place in the line for {key} was lost: waiting would never have ended")
                    }
                    // Nobody stands in line forever; a place is asked for again.
                    (TicketStatus::Expired, _) => break,
                    _ => self.show_progress(key, position).await,
                }
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    clear_progress();
                    return Err(timed_out(key));
                }
                if !self.keep().await? {
                    bail!("a lock was lost while waiting for {key}");
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        }
    }

    /// Who is in the way, for whoever watches.
    async fn show_progress(&self, key: &str, position: Option<u32>) {
        if !stderr().is_terminal() {
            return;
        }
        let Ok(queue) = self.client.lock_queue(&LockQueueQuery { key: key.to_owned() }).await else { return };
        let holder = queue.holders.first().map_or_else(String::new, |lock| {
            let purpose = lock.purpose.as_deref().map(|text| format!(" ({text})")).unwrap_or_default();
            format!(", held by {}{purpose} since {}", lock.agent_id, lock.acquired_at)
        });
        let text = format!("waiting for {key}: place {}{holder}", position.unwrap_or(0));
        let text = shown(&text, true, LineEnds::Escape).into_owned();
        drop(write!(stderr(), "\r\u{1b}[2K{text}"));
    }

    /// Renews the locks when it is time. False if one is lost.
    async fn keep(&mut self) -> anyhow::Result<bool> {
        let Some(ttl) = self.locks.iter().map(|lock| lock.ttl_seconds).min() else { return Ok(true) };
        let ttl = Duration::from_secs(ttl.into());
        if self.renewed.elapsed() < ttl / 3 {
            return Ok(true);
        }
        let asked = Instant::now();
        for lock in &self.locks {
            let request =
                HeartbeatLock { lock_id: lock.lock_id, agent_id: None, timestamp: None, ttl_extension: None };
            match self.client.heartbeat_lock(&request).await {
                Ok(_) => {}
                // A hub that is away for a moment has not ended anything yet.
                Err(ClientError::Unreachable { .. }) if self.renewed.elapsed() < ttl => return Ok(true),
                Err(ClientError::Problem(problem))
                    if problem.status >= 500 && self.renewed.elapsed() < ttl =>
                {
                    return Ok(true);
                }
                Err(_) => return Ok(false),
            }
        }
        self.renewed = asked;
        Ok(true)
    }

    /// Runs the command while the locks are held. None if it was not started.
    async fn around(&mut self, command: &[String]) -> anyhow::Result<Option<ExitStatus>> {
        let Some((program, args)) = command.split_first() else { return Ok(None) };
        let tokens: serde_json::Map<String, serde_json::Value> =
            self.locks.iter().map(|lock| (lock.key.clone(), lock.fencing_token.into())).collect();
        let largest = self.locks.iter().map(|lock| lock.fencing_token).max().unwrap_or(0);
        let mut child = Command::new(program)
            .args(args)
            .env("COUNTERSIGN_FENCING_TOKEN", largest.to_string())
            .env("COUNTERSIGN_FENCING_TOKENS", serde_json::Value::Object(tokens).to_string())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let group = Pid::from_child(&child);
        let mut ended = tokio::task::spawn_blocking(move || child.wait());
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        loop {
            tokio::select! {
                status = &mut ended => return Ok(Some(status??)),
                _ = interrupt.recv() => ended_or_not(kill_process_group(group, Signal::INT)),
                _ = terminate.recv() => ended_or_not(kill_process_group(group, Signal::TERM)),
                () = tokio::time::sleep(LOOK_INTERVAL) => {
                    if !self.keep().await? {
                        say("a lock was lost; ending the command");
                        ended_or_not(kill_process_group(group, Signal::TERM));
                        if let Ok(status) = tokio::time::timeout(GRACE, &mut ended).await {
                            ended_or_not(kill_process_group(group, Signal::KILL));
                            return Ok(Some(status??));
                        }
                        ended_or_not(kill_process_group(group, Signal::KILL));
                        return Ok(Some(ended.await??));
                    }
                }
            }
        }
    }

    /// Gives everything back; what the hub does not hear of ends by itself.
    async fn give_back(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            drop(self.client.leave_lock_queue(ticket).await);
        }
        for lock in std::mem::take(&mut self.locks) {
            drop(self.client.release_lock(&ReleaseLock { lock_id: lock.lock_id, agent_id: None }).await);
        }
    }
}

fn timed_out(key: &str) -> anyhow::Error {
    let problem = wire::Problem::new(Code::LockWaitTimeout, format!("{key} did not become free in time"));
    ClientError::Problem(Box::new(problem)).into()
}

fn say(text: &str) {
    drop(writeln!(stderr(), "countersign: {text}"));
}

fn clear_progress() {
    if stderr().is_terminal() {
        drop(write!(stderr(), "\r\u{1b}[2K"));
    }
}

/// A group that has ended already needs no signal.
fn ended_or_not(told: rustix::io::Result<()>) {
    told.ok();
}
