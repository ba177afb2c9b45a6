//! The next task an agent may apply, claimed: what has to be undone, then by rank, then by age.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::reservations::Passed;
use domain::Id;
use domain::accounts::Account;
use domain::permissions::Capability;
use domain::tasks::Task;
use tokio::time::Instant;

use super::NotBegun;
use super::claim::{LOOK_AGAIN, answered, begin, passes};
use super::look::{self, Looking, Queue};
use super::start::Claimed;
use crate::idempotency::{Once, Outcome, enter};
use crate::{Caller, Hub, HubError};

/// Tasks tried in one look; what is behind them is seen when these are gone.
const TRIED_AT_ONCE: usize = 16;

/// What came of one look.
enum Look {
    Begun(Box<Outcome<Claimed>>),
    /// Others took some of what was tried; there may be more behind it.
    Outrun,
    /// Nothing to begin; when to look again if nobody says that there is something, and what somebody else was about to
    /// begin.
    Nothing(Duration, Option<Passed>),
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
    caller.require(Capability::ExecutionsWrite)?;
    let deadline = Instant::now() + wait;
    let mut looking = Looking { caller: caller.clone(), agent, has_waited: false };
    let mut taken = BTreeSet::new();
    loop {
        // Listening first: what happens during the look is told afterwards.
        let mut work = hub.coordination.work.listen(caller.credential.organization.id);
        let (pause, passed) = match look_once(hub, &looking, &mut taken, once.as_ref()).await? {
            Look::Begun(begun) => return Ok(Some(*begun)),
            // Nobody would say that there is more: it was there all the time.
            Look::Outrun => continue,
            Look::Nothing(pause, passed) => (pause, passed),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || hub.lifecycle.is_stopping() {
            return Ok(None);
        }
        tokio::select! {
            _ = work.changed() => {}
            () = given_up(passed) => {}
            () = tokio::time::sleep(pause.min(left)) => {}
            () = hub.lifecycle.stopping() => {}
        }
        looking.has_waited = true;
    }
}

/// Waits until whoever was about to begin something has left it.
async fn given_up(passed: Option<Passed>) {
    match passed {
        Some(passed) => passed.left().await,
        None => std::future::pending().await,
    }
}

async fn look_once(
    hub: &Hub,
    looking: &Looking,
    taken: &mut BTreeSet<Id<Task>>,
    once: Option<&Once<Claimed>>,
) -> Result<Look, HubError> {
    let Queue { prospects, not_before, reserved } = look::at_queue(hub, looking, TRIED_AT_ONCE).await?;
    let now = hub.clock.now();
    let mut pause = not_before.map_or(Duration::MAX, |not_before| not_before.since(now));
    let (mut is_outrun, mut is_passed_over) = (false, false);
    for prospect in prospects {
        let task = prospect.task;
        let Ok(reserved) = hub.coordination.beginning.reserve(task) else {
            // Somebody was quicker since the look. The next one leaves out what is reserved, and goes further.
            is_passed_over = true;
            continue;
        };
        match begin(hub, &looking.caller, prospect, Duration::ZERO, once.cloned()).await {
            Ok(begun) => {
                reserved.taken();
                return Ok(Look::Begun(Box::new(begun)));
            }
            // Somebody else was first, or has the lock; the next one may be free.
            Err(refusal) if passes(&refusal) => pause = pause.min(LOOK_AGAIN),
            Err(HubError::NotBegun(why)) if matches!(*why, NotBegun::NotApproved { .. }) => {
                reserved.taken();
                // Once for each: what is refused and stays in the queue must not be tried for ever.
                is_outrun |= taken.insert(task);
            }
            Err(HubError::NotBegun(why)) if matches!(*why, NotBegun::AtCapacity) => {
                return Ok(Look::Nothing(Duration::MAX, None));
            }
            Err(refusal) => return Err(refusal),
        }
    }
    match reserved.map(|task| hub.coordination.beginning.reserve(task)) {
        _ if is_outrun || is_passed_over => Ok(Look::Outrun),
        // Left, or begun, between the look and now.
        Some(Ok(_)) => Ok(Look::Outrun),
        // Others that are reserved may be left too, which nobody says.
        Some(Err(passed)) => Ok(Look::Nothing(pause.min(LOOK_AGAIN), Some(passed))),
        None => Ok(Look::Nothing(pause, None)),
    }
}
