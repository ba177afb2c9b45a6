//! The next task an agent may apply, claimed: what has to be undone, then by rank, then by age.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Id;
use domain::accounts::Account;
use domain::agents::Agent;
use domain::tasks::Task;
use records::executions;
use tokio::time::Instant;

use super::NotBegun;
use super::claim::{LOOK_AGAIN, answered, begin, passes};
use super::look::{self, Queue};
use super::start::Claimed;
use crate::idempotency::{Once, Outcome, enter};
use crate::identity::authenticate::still_may;
use crate::{Caller, Hub, HubError};

/// Tasks tried in one look; what is behind them is seen when these are gone.
const TRIED_AT_ONCE: usize = 16;

/// What came of one look.
enum Look {
    Begun(Box<Outcome<Claimed>>),
    /// Others took some of what was tried; there may be more behind it.
    Outrun,
    /// Nothing to begin; when to look again if nobody says that there is something.
    Nothing(Duration),
}

/// Claims the best task there is for the agent, or waits for one. None if there was none in time.
pub async fn next(
    hub: &Hub,
    caller: &Caller,
    (agent, wait): (Id<Account>, Duration),
    once: Option<Once<Claimed>>,
) -> Result<Option<Outcome<Claimed>>, HubError> {
    let _turn = enter(hub, once.as_ref()).await?;
    if let Some(answer) = answered(hub, caller, once.as_ref()).await? {
        return Ok(Some(Outcome::Replayed(answer)));
    }
    let account = caller.credential.account.id;
    let _place = hub.coordination.waiting.enter(account).ok_or(HubError::TooManyWaiting)?;
    let deadline = Instant::now() + wait;
    let mut taken = BTreeSet::new();
    loop {
        // Listening first: what happens during the look is told afterwards.
        let mut work = hub.coordination.work.listen(caller.credential.organization.id);
        let agent = look::applicant(hub, caller, agent).await?;
        let pause = match look_once(hub, caller, (&agent, &mut taken), once.as_ref()).await? {
            Look::Begun(begun) => return Ok(Some(*begun)),
            // Nobody would say that there is more: it was there all the time.
            Look::Outrun => continue,
            Look::Nothing(pause) => pause,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || hub.lifecycle.is_stopping() {
            return Ok(None);
        }
        tokio::select! {
            _ = work.changed() => {}
            () = tokio::time::sleep(pause.min(left)) => {}
            () = hub.lifecycle.stopping() => {}
        }
        still_may(hub, caller, domain::permissions::Capability::ExecutionsWrite).await?;
    }
}

async fn look_once(
    hub: &Hub,
    caller: &Caller,
    (agent, taken): (&Agent, &mut BTreeSet<Id<Task>>),
    once: Option<&Once<Claimed>>,
) -> Result<Look, HubError> {
    if agent.draining {
        return Err(HubError::NotBegun(Box::new(NotBegun::Draining)));
    }
    if is_busy(hub, agent).await? {
        return Ok(Look::Nothing(Duration::MAX));
    }
    let Queue { prospects, not_before } = look::at_queue(hub, agent, TRIED_AT_ONCE).await?;
    let now = hub.clock.now();
    let mut pause = not_before.map_or(Duration::MAX, |not_before| not_before.since(now));
    let mut is_outrun = false;
    for prospect in prospects {
        let task = prospect.task;
        match begin(hub, caller, prospect, Duration::ZERO, once.cloned()).await {
            Ok(begun) => return Ok(Look::Begun(Box::new(begun))),
            // Somebody else was first, or has the lock; the next one may be free.
            Err(refusal) if passes(&refusal) => pause = pause.min(LOOK_AGAIN),
            Err(HubError::NotBegun(why)) if matches!(*why, NotBegun::NotApproved { .. }) => {
                // Once for each: what is refused and stays in the queue must not be tried for ever.
                is_outrun |= taken.insert(task);
            }
            Err(HubError::NotBegun(why)) if matches!(*why, NotBegun::AtCapacity) => {
                return Ok(Look::Nothing(Duration::MAX));
            }
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(if is_outrun { Look::Outrun } else { Look::Nothing(pause) })
}

async fn is_busy(hub: &Hub, agent: &Agent) -> Result<bool, HubError> {
    let input = (agent.org_id, agent.id);
    let read = hub.records.read(input, |tx, &(org, id)| {
        Box::pin(async move { Ok::<_, HubError>(executions::running(tx, org, &[id]).await?) })
    });
    let running: i64 = read.await?.iter().map(|(_, count)| count).sum();
    Ok(running >= agent.max_tasks)
}
