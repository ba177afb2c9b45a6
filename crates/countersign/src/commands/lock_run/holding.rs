//! Taking the locks of a run, keeping them, and giving them back.

use std::future::Future;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use anyhow::bail;
use client::{AcquiredLock, Client, ClientError};
use hub::ids::{Ids, SystemIds};
use uuid::Uuid;
use wire::{
    AcquireLock, Code, HeartbeatLock, Lock, LockMode, LockQueueQuery, LockTicket, ReleaseLock, TicketStatus,
};

use super::{GRACE, Run};
use crate::terminal::{LineEnds, shown};

/// How often a ticket is asked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// How long a hub that has answered before may be away while its locks are waited for.
const AWAY_MAX: Duration = Duration::from_secs(30);

/// A lock, and when it surely was there.
struct Held {
    lock: Lock,
    /// When the request was sent that granted or renewed it. Its time began then or later, by the hub's clock.
    since: Instant,
}

impl Held {
    fn ttl(&self) -> Duration {
        Duration::from_secs(self.lock.ttl_seconds.into())
    }

    /// How long it may still be counted on: when it ends, the command must have.
    fn left(&self) -> Duration {
        let counts_for = self.ttl() - GRACE.min(self.ttl() / 3);
        counts_for.saturating_sub(self.since.elapsed())
    }
}

/// The locks that are held so far.
pub(super) struct Holding {
    client: Client,
    /// One per run, so that two of them exclude each other.
    owner: String,
    held: Vec<Held>,
    ticket: Option<Uuid>,
    /// What was asked for and not answered: there may be a lock or a ticket.
    asking: Option<AcquireLock>,
    /// When the hub last answered.
    heard: Option<Instant>,
}

impl Holding {
    pub(super) fn new(run: &Run) -> anyhow::Result<Self> {
        let owner = format!("run-{}", SystemIds.fresh());
        let client = run.client.client()?;
        Ok(Self { client, owner, held: Vec::new(), ticket: None, asking: None, heard: None })
    }

    /// What the command finds in its environment.
    pub(super) fn tokens(&self) -> [(&'static str, String); 2] {
        let locks = || self.held.iter().map(|held| &held.lock);
        let all: serde_json::Map<String, serde_json::Value> =
            locks().map(|lock| (lock.key.clone(), lock.fencing_token.into())).collect();
        let largest = locks().map(|lock| lock.fencing_token).max().unwrap_or(0);
        [
            ("COUNTERSIGN_FENCING_TOKEN", largest.to_string()),
            ("COUNTERSIGN_FENCING_TOKENS", serde_json::Value::Object(all).to_string()),
        ]
    }

    /// Takes the keys one after the other in their order, keeping what it has.
    pub(super) async fn take(&mut self, run: &Run) -> anyhow::Result<()> {
        let deadline = run.wait.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut keys = run.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let request = AcquireLock {
                key,
                mode: if run.shared { LockMode::Shared } else { LockMode::Exclusive },
                owner: Some(self.owner.clone()),
                // The owner is this run's alone, so whatever is asked for twice was not answered.
                request_id: Some(self.owner.clone()),
                ttl_seconds: run.ttl,
                queue: Some(true),
                purpose: run.purpose.clone(),
                ..AcquireLock::default()
            };
            self.take_one(&request, deadline).await?;
        }
        clear_progress();
        Ok(())
    }

    async fn take_one(&mut self, request: &AcquireLock, deadline: Option<Instant>) -> anyhow::Result<()> {
        let client = self.client.clone();
        loop {
            let sent = Instant::now();
            self.asking = Some(request.clone());
            let ticket = match self.hear(client.acquire_lock(request)).await? {
                Some(AcquiredLock::Lock(lock)) => {
                    self.asking = None;
                    self.held.push(Held { lock, since: sent });
                    return Ok(());
                }
                Some(AcquiredLock::Queued(queued)) => queued.ticket_id,
                None => {
                    self.pause(&request.key, deadline).await?;
                    continue;
                }
            };
            (self.asking, self.ticket) = (None, Some(ticket));
            let granted = self.stand((&request.key, ticket), sent, deadline).await?;
            self.ticket = None;
            if let Some(held) = granted {
                self.held.push(held);
                return Ok(());
            }
        }
    }

    /// Stands in line until it is served. None if its time there is over: nobody stands in line forever.
    async fn stand(
        &mut self,
        (key, ticket): (&str, Uuid),
        asked: Instant,
        deadline: Option<Instant>,
    ) -> anyhow::Result<Option<Held>> {
        let client = self.client.clone();
        // When it surely still waited; the lock came later.
        let mut since = asked;
        loop {
            let sent = Instant::now();
            let heard = self.hear(client.lock_ticket(ticket)).await?;
            if let Some(LockTicket { status, position, lock, .. }) = heard {
                match (status, lock) {
                    (TicketStatus::Granted, Some(lock)) => return Ok(Some(Held { lock, since })),
                    (TicketStatus::Cancelled, _) => {
                        bail!("the place in the line for {key} was lost: waiting would never have ended")
                    }
                    (TicketStatus::Expired, _) => return Ok(None),
                    _ => {
                        since = sent;
                        self.show_progress(key, position).await;
                    }
                }
            }
            self.pause(key, deadline).await?;
        }
    }

    /// What the hub says; none if it is away for a moment, as it is when it starts anew.
    async fn hear<T>(
        &mut self,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<Option<T>, ClientError> {
        match answer.await {
            Ok(answer) => {
                self.heard = Some(Instant::now());
                Ok(Some(answer))
            }
            Err(error) if passes(&error) => match self.heard {
                Some(heard) if heard.elapsed() < AWAY_MAX => Ok(None),
                _ => Err(error),
            },
            Err(error) => {
                self.asking = None;
                Err(error)
            }
        }
    }

    /// Between two looks: the locks there are must stay.
    async fn pause(&mut self, key: &str, deadline: Option<Instant>) -> anyhow::Result<()> {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(timed_out(key));
        }
        if let Some(lost) = self.keep().await {
            bail!("{lost} was lost while waiting for {key}");
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
        Ok(())
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

    /// Keeps the locks until one is lost; its key. May be dropped and begun again at any time.
    pub(super) async fn lost(&mut self) -> String {
        loop {
            if let Some(lost) = self.keep().await {
                return lost;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Renews the locks when it is time. The key of one that is lost: the hub says so, or has said nothing for so long
    /// that it may have given it to others. No answer is waited for longer than the lock can be counted on.
    async fn keep(&mut self) -> Option<String> {
        for held in self.held.iter_mut().filter(|held| held.since.elapsed() >= held.ttl() / 3) {
            let (sent, lock_id) = (Instant::now(), held.lock.lock_id);
            let request = HeartbeatLock { lock_id, agent_id: None, timestamp: None, ttl_extension: None };
            let patience = (held.ttl() / 6).min(held.left());
            match tokio::time::timeout(patience, self.client.heartbeat_lock(&request)).await {
                Ok(Ok(_)) => held.since = sent,
                Ok(Err(error)) if !passes(&error) => return Some(held.lock.key.clone()),
                Ok(Err(_)) | Err(_) => {}
            }
        }
        let lost = self.held.iter().find(|held| held.left().is_zero());
        lost.map(|held| held.lock.key.clone())
    }

    /// Gives everything back; what the hub does not hear of ends by itself.
    pub(super) async fn give_back(&mut self) {
        clear_progress();
        drop(tokio::time::timeout(GRACE, self.tell_hub()).await);
    }

    async fn tell_hub(&mut self) {
        // The same request again says what came of it.
        if let Some(request) = self.asking.take() {
            match self.client.acquire_lock(&request).await {
                Ok(AcquiredLock::Lock(lock)) => self.held.push(Held { lock, since: Instant::now() }),
                Ok(AcquiredLock::Queued(queued)) => self.ticket = Some(queued.ticket_id),
                Err(_) => {}
            }
        }
        if let Some(ticket) = self.ticket.take()
            && let Ok(left) = self.client.leave_lock_queue(ticket).await
            && let Some(lock) = left.lock
        {
            // It was served in the meantime.
            self.held.push(Held { lock, since: Instant::now() });
        }
        for held in std::mem::take(&mut self.held) {
            let request = ReleaseLock { lock_id: held.lock.lock_id, agent_id: None };
            drop(self.client.release_lock(&request).await);
        }
    }
}

/// Whether it may be otherwise in a moment: nothing was decided about the lock, whatever it was that answered.
fn passes(error: &ClientError) -> bool {
    error.passes() || matches!(error, ClientError::Protocol(_))
}

fn timed_out(key: &str) -> anyhow::Error {
    let problem = wire::Problem::new(Code::LockWaitTimeout, format!("{key} did not become free in time"));
    ClientError::Problem(Box::new(problem)).into()
}

fn clear_progress() {
    if stderr().is_terminal() {
        drop(write!(stderr(), "\r\u{1b}[2K"));
    }
}
