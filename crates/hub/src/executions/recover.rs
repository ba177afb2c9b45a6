//! Attempts whose agent is gone, or whose time is over (EXEC-07, EXEC-12, JOB-04).

use std::time::Duration;

use domain::executions::{Execution, executor};
use domain::tasks::Action;
use domain::{Id, Timestamp};
use records::Tx;
use records::executions::{self, Overdue};
use uuid::Uuid;

use super::settle::{end_silently, let_go};
use crate::act::ByItself;
use crate::faults::reached;
use crate::{Hub, HubError, settings};

/// Attempts looked at in one go.
const LOOKED_AT_ONCE: i64 = 100;

struct Silent {
    hub: Hub,
    of: Overdue,
    now: Timestamp,
}

/// Ends every attempt that nobody has been heard of for too long. When the next of those that are silent is to be ended.
pub(crate) async fn recover(hub: &Hub) -> Result<Option<Timestamp>, HubError> {
    let now = hub.clock.now();
    let mut soonest: Option<Timestamp> = None;
    let mut after = (Timestamp::from_micros(0), Id::new(Uuid::nil()));
    while !hub.lifecycle.is_stopping() {
        let page = executions::overdue(&hub.records, now, after, LOOKED_AT_ONCE).await?;
        let Some(last) = page.last() else { break };
        after = (last.lease_until, last.id);
        for of in page {
            let lost_at = lost_at(hub, &of, now).await?;
            if lost_at <= now {
                end(hub, of, now).await?;
            } else {
                soonest = Some(soonest.map_or(lost_at, |soonest| soonest.min(lost_at)));
            }
        }
    }
    Ok(soonest)
}

/// When it counts as lost. A hub that was away has heard nobody: every agent gets its whole time anew from when it came
/// back.
async fn lost_at(hub: &Hub, of: &Overdue, now: Timestamp) -> Result<Timestamp, HubError> {
    let ttl = settings::of(hub, of.org_id).await?.lock_default_ttl;
    let since = hub.coordination.listening_since.get().copied().unwrap_or(now);
    let lease = Duration::from_secs(ttl.into());
    Ok(of.lease_until.max(since.plus(lease)).plus(executor(Action::External).grace()))
}

async fn end(hub: &Hub, of: Overdue, now: Timestamp) -> Result<(), HubError> {
    reached("recover:found");
    let silent = Silent { hub: hub.clone(), of, now };
    let ended = hub.records.write(silent, |tx, silent| Box::pin(unit(tx, silent))).await?;
    reached("recover:ended");
    if let Some(ended) = ended {
        tracing::warn!(
            "attempt {} of task {} was ended: {}",
            of.id,
            of.task_id,
            ended.error.as_deref().unwrap_or("unknown")
        );
        let_go(hub, &ended).await;
    }
    Ok(())
}

/// One that was heard in the meantime, or ended, is left alone.
async fn unit(tx: &mut Tx, silent: &Silent) -> Result<Option<Execution>, HubError> {
    let deed = ByItself::new(tx, &silent.hub, silent.of.org_id, silent.now).await?;
    let reason = |execution: &Execution| execution.silence(executor(Action::External), silent.now);
    end_silently(tx, &deed, silent.of.id, reason).await
}
