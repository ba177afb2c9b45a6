//! Claiming a task: its locks, then the gate.

use std::time::Duration;

use domain::Id;
use domain::accounts::Account;
use domain::agents::Agent;
use domain::jobs::retry_at;
use domain::tasks::Task;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::heartbeat::heartbeat;
use super::keys::{self, Holder, Taken};
use super::look::{self, Prospect};
use super::start::{self, Claimed, Input};
use crate::act::Act;
use crate::faults::reached;
use crate::idempotency::{Answer, Once, Outcome, enter, kept_answer, write_in_turn};
use crate::locks::LockRefusal;
use crate::{Caller, Hub, HubError, settings};

/// How long after a refusal that may pass by itself somebody who waits looks again, if nobody says that it has: locks
/// that others hold are given back without a word to the records.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Who wants to apply what.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTask {
    /// The task.
    pub task: Id<Task>,
    /// The agent.
    pub agent: Id<Account>,
    /// How long to wait for what stands in the way.
    pub wait: Duration,
}

/// Begins an attempt of a task, or undoes its last one where somebody asked for that.
pub async fn claim(
    hub: &Hub,
    caller: &Caller,
    wanted: ClaimTask,
    once: Option<Once<Claimed>>,
) -> Result<Outcome<Claimed>, HubError> {
    let _turn = enter(hub, once.as_ref()).await?;
    if let Some(answer) = answered(hub, caller, once.as_ref()).await? {
        return Ok(Outcome::Replayed(answer));
    }
    let agent = look::applicant(hub, caller, wanted.agent).await?;
    let account = caller.credential.account.id;
    let place = (!wanted.wait.is_zero()).then(|| hub.coordination.waiting.enter(account));
    if place.as_ref().is_some_and(Option::is_none) {
        return Err(HubError::TooManyWaiting);
    }
    let deadline = Instant::now() + wanted.wait;
    let mut tries = 0;
    loop {
        // Listening first: what happens during the look is told afterwards.
        let mut work = hub.coordination.work.listen(agent.org_id);
        let left = deadline.saturating_duration_since(Instant::now());
        let refusal = match try_once(hub, caller, (&agent, wanted.task), (left, once.clone())).await {
            Ok(begun) => return Ok(begun),
            Err(refusal) => refusal,
        };
        if left.is_zero() || !passes(&refusal) || hub.lifecycle.is_stopping() {
            return Err(refusal);
        }
        tries += 1;
        let pause = pause(hub, &refusal, tries).min(left);
        tokio::select! {
            _ = work.changed() => {}
            () = tokio::time::sleep(pause) => {}
            () = hub.lifecycle.stopping() => {}
        }
    }
}

/// The answer of the first time, if there was one. Whoever asks for it only now has not been heard in between, and is
/// about to begin: an attempt that has ended meanwhile must not be begun, and one that goes on must not end just then.
pub(super) async fn answered(
    hub: &Hub,
    caller: &Caller,
    once: Option<&Once<Claimed>>,
) -> Result<Option<Answer>, HubError> {
    let Some(answer) = kept_answer(hub, once).await? else { return Ok(None) };
    let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let execution = told["execution_id"].as_str().and_then(|id| id.parse().ok());
    let execution = execution.ok_or(records::Error::Misbehaved("an answer that claims nothing"))?;
    heartbeat(hub, caller, execution).await?;
    Ok(Some(answer))
}

async fn try_once(
    hub: &Hub,
    caller: &Caller,
    (agent, task): (&Agent, Id<Task>),
    (wait, once): (Duration, Option<Once<Claimed>>),
) -> Result<Outcome<Claimed>, HubError> {
    let prospect = look::at_task(hub, agent, task).await?;
    begin(hub, caller, prospect, wait, once).await
}

/// Whether waiting may help against this.
pub(super) fn passes(refusal: &HubError) -> bool {
    match refusal {
        HubError::NotBegun(why) => why.passes(),
        HubError::Lock(LockRefusal::Busy { .. } | LockRefusal::TimedOut | LockRefusal::Deadlock(_)) => true,
        _ => false,
    }
}

/// How long to wait before the next try. Who lost its locks to break a circle waits longer each time, and not as long
/// as the others (DEADLOCK-04).
fn pause(hub: &Hub, refusal: &HubError, tries: i64) -> Duration {
    let now = hub.clock.now();
    match refusal {
        HubError::Lock(LockRefusal::Deadlock(_)) => {
            retry_at(tries, now, super::settle::chance(hub)).since(now)
        }
        HubError::NotBegun(why) => match &**why {
            super::NotBegun::TooSoon(not_before) => not_before.since(now),
            _ => LOOK_AGAIN,
        },
        _ => LOOK_AGAIN,
    }
}

/// Takes the locks and begins. Whoever asked may be gone by then: what has begun has begun, and a repetition of the
/// request is told so; if nobody repeats it, its agent is soon taken for lost.
pub(super) async fn begin(
    hub: &Hub,
    caller: &Caller,
    prospect: Prospect,
    wait: Duration,
    once: Option<Once<Claimed>>,
) -> Result<Outcome<Claimed>, HubError> {
    reached("claim:looked");
    let org = caller.credential.organization.id;
    let settings = settings::of(hub, org).await?;
    let execution = hub.ids.id();
    let holder = Holder { org, agent: prospect.agent, execution };
    let what = (prospect.task, prospect.resources.as_slice());
    let taken = keys::take(hub, holder, what, &settings, wait).await?;
    reached("claim:locked");
    let input = Input {
        prospect,
        execution,
        locks: taken.locks.clone(),
        expires_at: taken.expires_at.clone(),
        lease_seconds: settings.lock_default_ttl,
        heartbeat_interval: settings.lock_heartbeat_interval,
    };
    let act = Act::new(hub, caller, input);
    let (tell, told) = oneshot::channel();
    let in_hub = hub.clone();
    hub.lifecycle.spawn(async move {
        drop(tell.send(decide(&in_hub, act, taken, once).await));
    });
    let told = told
        .await
        .unwrap_or(Err(HubError::Records(records::Error::Misbehaved("an attempt was begun by nobody"))));
    reached("claim:answering");
    told
}

async fn decide(
    hub: &Hub,
    act: Act<Input>,
    taken: Taken,
    once: Option<Once<Claimed>>,
) -> Result<Outcome<Claimed>, HubError> {
    let begun = write_in_turn(hub, once, act, |tx, act| Box::pin(start::unit(tx, act))).await;
    match &begun {
        Ok(Outcome::Fresh(_)) => {
            reached("claim:begun");
            taken.keep();
        }
        // Nobody knows whether it has begun: then its locks are its own, and end by themselves otherwise.
        Err(HubError::Records(records::Error::OutcomeUnknown(_))) => taken.keep(),
        Ok(Outcome::Replayed(_)) | Err(_) => {
            reached("claim:refused");
            taken.give_back().await;
        }
    }
    begun
}
