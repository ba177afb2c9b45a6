//! How the agents of the demo live: they say that they do, and apply what was approved.

use std::time::Duration;

use client::{AcquiredLock, Claim, Client, ClientError, Failed};
use serde_json::{Map, json};
use uuid::Uuid;
use wire::{AcquireLock, Code, FailExecution, Heartbeat, HeartbeatLock, NextTask, ReleaseLock};

const HEARTBEAT_EVERY: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(900);
const WAIT_SECONDS: u32 = 30;
const LOCK_WAIT_SECONDS: u32 = 60;
/// How often a lock is kept before others get it.
const HELD_HEARTBEATS: usize = 9;

/// One agent, until the hub is gone.
pub(super) async fn live(id: Uuid, client: Client) -> anyhow::Result<()> {
    tokio::try_join!(breathe(id, &client), work(id, &client)).map(drop)
}

async fn breathe(id: Uuid, client: &Client) -> anyhow::Result<()> {
    let started = tokio::time::Instant::now();
    loop {
        let minutes = started.elapsed().as_secs() / 60;
        let health = Map::from_iter([("uptime_minutes".to_owned(), json!(minutes))]);
        client.agent_heartbeat(id, &Heartbeat { health: Some(health) }).await?;
        tokio::time::sleep(HEARTBEAT_EVERY).await;
    }
}

/// Holds a lock that another one wants too, for a while, again and again.
pub(super) async fn take_turns(client: Client, purpose: &'static str) -> anyhow::Result<()> {
    let wanted = AcquireLock {
        key: "resource:report:warehouse".to_owned(),
        wait_seconds: Some(LOCK_WAIT_SECONDS),
        purpose: Some(purpose.to_owned()),
        ..AcquireLock::default()
    };
    loop {
        let lock = match client.acquire_lock(&wanted).await {
            Ok(AcquiredLock::Lock(lock)) => lock,
            Ok(AcquiredLock::Queued(_)) => continue,
            Err(ClientError::Problem(problem)) if problem.known_code() == Some(Code::LockWaitTimeout) => {
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for _ in 0..HELD_HEARTBEATS {
            tokio::time::sleep(HEARTBEAT_EVERY).await;
            client
                .heartbeat_lock(&HeartbeatLock {
                    lock_id: lock.lock_id,
                    agent_id: None,
                    timestamp: None,
                    ttl_extension: None,
                })
                .await?;
        }
        client.release_lock(&ReleaseLock { lock_id: lock.lock_id, agent_id: None }).await?;
    }
}

async fn work(id: Uuid, client: &Client) -> anyhow::Result<()> {
    loop {
        let next = NextTask { wait_seconds: Some(WAIT_SECONDS) };
        if let Some(claim) = client.next(id, &next, None).await? {
            apply(claim).await?;
        }
    }
}

/// Does in small steps what the config says, as far as a demo can.
async fn apply(claim: Claim) -> anyhow::Result<()> {
    let config = claim.task().config.clone();
    let mut writer = claim.writer();
    for step in ["looking at what is there", "taking a snapshot", "changing it", "checking what came of it"] {
        let written = claim.work(async {
            tokio::time::sleep(STEP).await;
            writer.write(&format!("{step}\n")).await
        });
        match written.await {
            Ok(written) => written?,
            // Somebody has ended it: there is nothing left to report.
            Err(_) => return Ok(()),
        }
    }
    if config["parameters"]["fails"] != true {
        claim.complete(Some("done\n".to_owned())).await?;
        return Ok(());
    }
    let error = "the authority answered 503 three times".to_owned();
    if let Failed::RollBack(claim) = claim.fail(&FailExecution { error, error_details: None }).await? {
        claim.complete(Some("the old one is back in place\n".to_owned())).await?;
    }
    Ok(())
}
