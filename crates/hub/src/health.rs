//! Whether the hub can do its work right now.

use std::time::Duration;

use records::{Engine, instances};

use crate::Hub;

/// A server whose clock differs more from the database's stamps records wrongly.
const CLOCK_SKEW_MAX: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// One dependency and its state.
pub struct Check {
    /// Which.
    pub name: &'static str,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What is wrong, or what it is.
    pub detail: String,
}

/// Looks at every dependency.
pub async fn checks(hub: &Hub) -> Vec<Check> {
    let mut checks = vec![records_check(hub).await];
    let stopping = hub.lifecycle.is_stopping();
    let detail = if stopping { "stopping" } else { "running" };
    checks.push(Check { name: "lifecycle", ok: !stopping, detail: detail.into() });
    if let Some(lease) = hub.coordination.lease.get() {
        let ok = lease.is_valid(hub.clock.now());
        let detail = if ok { "held" } else { "lost: the database was not reached in time" };
        checks.push(Check { name: "lease", ok, detail: detail.into() });
    }
    let broken = crate::locks::failure(hub);
    let detail = broken.clone().unwrap_or_else(|| "local".into());
    checks.push(Check { name: "locks", ok: broken.is_none(), detail });
    checks
}

async fn records_check(hub: &Hub) -> Check {
    let failed = |detail: String| Check { name: "records", ok: false, detail };
    let engine = hub.records.engine();
    let answer = tokio::time::timeout(ANSWER_WITHIN, instances::database_clock(&hub.records)).await;
    let theirs = match answer {
        Ok(Ok(theirs)) => theirs,
        Ok(Err(error)) => return failed(format!("{engine}: {error}")),
        Err(_) => return failed(format!("{engine} did not answer within {} s", ANSWER_WITHIN.as_secs())),
    };
    let ours = hub.clock.now();
    let skew = ours.since(theirs).max(theirs.since(ours));
    if engine == Engine::Postgres && skew > CLOCK_SKEW_MAX {
        return failed(format!("the database's clock differs by {} ms from this server's", skew.as_millis()));
    }
    Check { name: "records", ok: true, detail: engine.to_string() }
}
