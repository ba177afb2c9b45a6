//! Locks, lines and tickets.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use uuid::Uuid;
use wire::{
    AcquireLock, AcquireLocks, ForceReleaseLock, HeartbeatLock, Lock, LockGraph, LockHeard, LockQueue,
    LockQueueQuery, LockReleased, LockTicket, LockValidity, Locks, LocksQuery, Page, QueuedLock, ReleaseLock,
    ValidateLock,
};

use crate::transport::ANSWER_TIMEOUT;
use crate::{Client, ClientError};

/// What came of asking for a lock.
#[derive(Clone, Debug)]
pub enum AcquiredLock {
    /// The lock.
    Lock(Lock),
    /// A place in line.
    Queued(QueuedLock),
}

impl Client {
    /// Takes a lock, or waits for it, or leaves a ticket.
    pub async fn acquire_lock(&self, request: &AcquireLock) -> Result<AcquiredLock, ClientError> {
        let wait = Duration::from_secs(request.wait_seconds.unwrap_or(0).into());
        let asked = self.api(Method::POST, "/locks/acquire").json(request).timeout(ANSWER_TIMEOUT + wait);
        let response = self.send(asked).await?;
        match response.status() {
            StatusCode::ACCEPTED => self.read(response).await.map(AcquiredLock::Queued),
            _ => self.read(response).await.map(AcquiredLock::Lock),
        }
    }

    /// Takes several locks, or none of them.
    pub async fn acquire_locks(&self, request: &AcquireLocks) -> Result<Locks, ClientError> {
        let wait = Duration::from_secs(request.wait_seconds.unwrap_or(0).into());
        let asked = self.api(Method::POST, "/locks/acquire-many").json(request);
        self.answer(asked.timeout(ANSWER_TIMEOUT + wait)).await
    }

    /// Says that the holder of a lock is alive.
    pub async fn heartbeat_lock(&self, request: &HeartbeatLock) -> Result<LockHeard, ClientError> {
        self.answer(self.api(Method::POST, "/locks/heartbeat").json(request)).await
    }

    /// Gives a lock back.
    pub async fn release_lock(&self, request: &ReleaseLock) -> Result<LockReleased, ClientError> {
        self.answer(self.api(Method::POST, "/locks/release").json(request)).await
    }

    /// Whether a fencing token is that of a present holder.
    pub async fn validate_lock(&self, request: &ValidateLock) -> Result<LockValidity, ClientError> {
        self.answer(self.api(Method::POST, "/locks/validate").json(request)).await
    }

    /// One page of locks, newest first.
    pub async fn locks(&self, query: &LocksQuery) -> Result<Page<Lock>, ClientError> {
        self.find("/locks", query).await
    }

    /// One key: who holds it, who waits.
    pub async fn lock_queue(&self, query: &LockQueueQuery) -> Result<LockQueue, ClientError> {
        self.find("/locks/queue", query).await
    }

    /// Who waits for whom.
    pub async fn lock_graph(&self) -> Result<LockGraph, ClientError> {
        self.get("/locks/graph").await
    }

    /// How a ticket stands.
    pub async fn lock_ticket(&self, id: Uuid) -> Result<LockTicket, ClientError> {
        self.get(&format!("/locks/tickets/{id}")).await
    }

    /// Takes a ticket out of the line.
    pub async fn leave_lock_queue(&self, id: Uuid) -> Result<LockTicket, ClientError> {
        self.answer(self.api(Method::DELETE, &format!("/locks/tickets/{id}"))).await
    }

    /// Ends whatever holds a key.
    pub async fn force_release_lock(&self, request: &ForceReleaseLock) -> Result<Locks, ClientError> {
        self.answer(self.api(Method::POST, "/locks/force-release").json(request)).await
    }
}
