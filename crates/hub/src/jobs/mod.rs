//! What must happen at a time, whoever is running then.

pub mod runner;

use std::time::Duration;

use domain::Timestamp;
use domain::jobs::Job;

use crate::identity::login_sessions;
use crate::{
    Hub, HubError, agents, approvals, archives, delegations, events, executions, idempotency, reviews,
    standalone_grants, webhooks,
};

/// What becomes of a job that ran.
pub(crate) enum After {
    /// It comes back at this time.
    At(Timestamp),
    /// It is done.
    Done,
}

const HOURLY: Duration = Duration::from_secs(3600);
/// How often silent agents are looked for; one is noticed late by this at most.
const SILENCE_INTERVAL: Duration = Duration::from_secs(10);
/// How often attempts are looked for whose lease has ended; shorter than the time until they are ended for it.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(5);
/// How often reviews are looked for whose time is over; of those that began since, one is late by this at most.
const ESCALATION_INTERVAL: Duration = Duration::from_secs(10);
/// How often approvals that grew too old are looked for. The gate refuses them whether or not they were found.
const STALENESS_INTERVAL: Duration = Duration::from_secs(60);

/// When the rest of a long work is taken up: others' jobs come in between.
const SOON: Duration = Duration::from_secs(1);

/// The jobs every hub has; each is set once and sets itself again.
const STANDING: &[&str] = &[
    "agents:mark_offline",
    "approvals:escalate",
    "events:forget",
    "executions:recover",
    "grants:review_stale",
    "idempotency:forget",
    "logins:forget",
    "standalone_grants:clean",
    "tasks:archive",
    "webhooks:forget",
];

/// Runs one job. A job may run twice (its lease can end before it does), so each must bear that.
async fn run(hub: &Hub, job: &Job) -> Result<After, HubError> {
    // Counted from here: what becomes due while the job is at work is found an interval after it began.
    let began = hub.clock.now();
    let mut interval = HOURLY;
    match job.kind.as_str() {
        delegations::SETTLE => {
            return Ok(delegations::settle_job(hub, job).await?.map_or(After::Done, After::At));
        }
        approvals::REASSIGN => {
            approvals::reassign_job(hub, job).await?;
            return Ok(After::Done);
        }
        "agents:mark_offline" => {
            agents::silence::mark_offline(hub).await?;
            interval = SILENCE_INTERVAL;
        }
        "approvals:escalate" => {
            let latest = began.plus(ESCALATION_INTERVAL);
            let soonest = reviews::escalate_due(hub).await?;
            return Ok(After::At(soonest.map_or(latest, |soonest| soonest.min(latest))));
        }
        "events:forget" => events::forget::forget_old(hub).await?,
        "executions:recover" => {
            let latest = began.plus(RECOVERY_INTERVAL);
            let soonest = executions::recover(hub).await?;
            return Ok(After::At(soonest.map_or(latest, |soonest| soonest.min(latest))));
        }
        "grants:review_stale" => {
            reviews::review_stale(hub).await?;
            interval = STALENESS_INTERVAL;
        }
        "idempotency:forget" => drop(idempotency::forget_old(hub).await?),
        "logins:forget" => drop(login_sessions::forget_old(hub).await?),
        "standalone_grants:clean" => {
            standalone_grants::clean_all(hub).await?;
            interval = hub.config.grants.cleanup_interval;
        }
        "tasks:archive" => {
            if archives::archive_old(hub).await? {
                interval = SOON;
            }
        }
        "webhooks:forget" => webhooks::forget_old(hub).await?,
        // Left by a newer release that ran beside this one: it stays for its own kind.
        unknown => tracing::warn!("no server of this release can run jobs of kind {unknown}"),
    }
    Ok(After::At(began.plus(interval)))
}
