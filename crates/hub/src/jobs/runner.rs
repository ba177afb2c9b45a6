//! Claims due jobs and runs them, one owner at a time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use domain::Timestamp;
use domain::jobs::{Job, retry_at};
use records::jobs;
use serde_json::json;

use super::{After, STANDING};
use crate::webhooks::deliver;
use crate::{Hub, HubError};

/// How often the table is looked at; a job is late by this at most.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// After this long a claimed job is believed to be lost with its owner.
const LEASE: Duration = Duration::from_secs(60);
const CLAIMED_AT_ONCE: i64 = 16;
/// A job that was lost so often with its owner waits for the end of its lease: it may be what ends them.
const LOST_MAX: i64 = 5;

/// Starts the runner.
pub fn start(hub: &Hub) {
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        let owner = hub.ids.fresh().to_string();
        let mut standing_are_set = false;
        while !hub.lifecycle.is_stopping() {
            let looked = async {
                if !standing_are_set {
                    set_standing(&hub).await?;
                    standing_are_set = true;
                }
                run_due(&hub, &owner).await
            };
            if let Err(error) = looked.await {
                tracing::warn!("jobs cannot be claimed: {error}");
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                () = hub.coordination.hurry.notified() => {}
                () = hub.lifecycle.stopping() => {}
            }
        }
    });
}

/// Sets what the hub always does, and takes back what an earlier process was about to do when it ended, where no other can
/// be at work.
async fn set_standing(hub: &Hub) -> Result<(), HubError> {
    let now = hub.clock.now();
    let set = hub.records.write((now, hub.is_alone(now)), |tx, &(now, is_alone)| {
        Box::pin(async move {
            if is_alone {
                jobs::take_back(tx, LOST_MAX, now).await?;
            }
            for kind in STANDING {
                jobs::schedule_if_absent(tx, &standing(kind, now), now).await?;
            }
            Ok::<_, records::Error>(())
        })
    });
    Ok(set.await?)
}

fn standing(kind: &str, run_at: Timestamp) -> Job {
    Job {
        kind: kind.into(),
        key: "hub".into(),
        run_at,
        lease_until: None,
        owner: None,
        attempts: 0,
        payload: json!({}),
    }
}

/// Claims what is due and runs it. How many.
pub async fn run_due(hub: &Hub, owner: &str) -> Result<usize, HubError> {
    let now = hub.clock.now();
    if jobs::next_due(&hub.records).await?.is_none_or(|due| due > now) {
        return Ok(0);
    }
    let claimed = hub
        .records
        .write((owner.to_owned(), now), |tx, (owner, now)| {
            Box::pin(jobs::claim(tx, owner, now.plus(LEASE), *now, CLAIMED_AT_ONCE))
        })
        .await?;
    for job in &claimed {
        // Whoever is called may take its time; nothing else waits for that.
        if job.kind == deliver::JOB {
            deliver::start(hub, job.clone());
            continue;
        }
        run_one(hub, job).await?;
    }
    Ok(claimed.len())
}

async fn run_one(hub: &Hub, job: &Job) -> Result<(), HubError> {
    let outcome = super::run(hub, job).await;
    let now = hub.clock.now();
    let (next, error) = match outcome {
        Ok(After::Done) => return finish(hub, job).await,
        Ok(After::At(run_at)) => (Job { run_at, attempts: 0, ..job.clone() }, None),
        Err(error) => {
            tracing::warn!("job {}/{} failed (attempt {}): {error}", job.kind, job.key, job.attempts);
            let jitter = (RandomState::new().hash_one(now) % 1000) as f64 / 1000.0;
            let run_at = retry_at(job.attempts, now, jitter);
            (Job { run_at, ..job.clone() }, Some(error.to_string()))
        }
    };
    let given_back = hub
        .records
        .write((next, error, now), |tx, (next, error, now)| {
            Box::pin(jobs::again(tx, next, error.as_deref(), *now))
        })
        .await?;
    if !given_back {
        tracing::warn!("job {}/{} was taken over by another owner while it ran", job.kind, job.key);
    }
    Ok(())
}

/// Takes a job away that is done. One that was set anew while it ran stays.
async fn finish(hub: &Hub, job: &Job) -> Result<(), HubError> {
    hub.records.write(job.clone(), |tx, job| Box::pin(jobs::done(tx, job))).await?;
    Ok(())
}
