//! What must happen at a time, whoever is running then.

pub mod runner;

use domain::Timestamp;
use domain::jobs::Job;

use crate::identity::login_sessions;
use crate::{Hub, HubError, events, idempotency};

/// What becomes of a job that ran.
pub(crate) enum After {
    /// It comes back at this time.
    At(Timestamp),
}

const HOURLY: std::time::Duration = std::time::Duration::from_secs(3600);

/// The jobs every hub has; each is set once and sets itself again.
const STANDING: &[&str] = &["events:forget", "idempotency:forget", "logins:forget"];

/// Runs one job. A job may run twice (its lease can end before it does), so each must bear that.
async fn run(hub: &Hub, job: &Job) -> Result<After, HubError> {
    match job.kind.as_str() {
        "events:forget" => events::forget::forget_old(hub).await?,
        "idempotency:forget" => drop(idempotency::forget_old(hub).await?),
        "logins:forget" => drop(login_sessions::forget_old(hub).await?),
        // Left by a newer release that ran beside this one: it stays for its own kind.
        unknown => tracing::warn!("no server of this release can run jobs of kind {unknown}"),
    }
    Ok(After::At(hub.clock.now().plus(HOURLY)))
}
