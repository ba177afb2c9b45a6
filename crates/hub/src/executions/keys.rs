//! The locks of an attempt: all of them or none, in the attempt's name.

use std::sync::Arc;
use std::time::Duration;

use coordination::locks::{Grip, Held, Locks, Refusal, Renewal, Rules, Several, Wait, Wanted, acquire_many};
use domain::accounts::Account;
use domain::executions::{Execution, LockTaken};
use domain::locks::{LockKey, Mode};
use domain::organizations::Organization;
use domain::settings::Settings;
use domain::tasks::{Mode as Shares, Resource, Task};
use domain::{Id, Timestamp};

use crate::faults::reached;
use crate::{Hub, HubError, locks};

/// Whose locks, for what.
#[derive(Clone, Copy)]
pub(super) struct Holder {
    pub(super) org: Id<Organization>,
    pub(super) agent: Id<Account>,
    pub(super) execution: Id<Execution>,
}

/// Locks that were taken for an attempt that has not begun. Whoever drops this gives them back.
pub(super) struct Taken {
    engine: Arc<dyn Locks>,
    grips: Vec<Grip>,
    pub(super) locks: Vec<LockTaken>,
    /// When each of them ends unless it is renewed.
    pub(super) expires_at: Vec<Timestamp>,
}

impl Taken {
    /// The attempt has begun: the locks are its own.
    pub(super) fn keep(mut self) {
        self.grips.clear();
    }

    /// The attempt does not begin. Others have the locks when this is over.
    pub(super) async fn give_back(mut self) {
        for grip in std::mem::take(&mut self.grips) {
            // Whatever ended it in the meantime has done the same.
            drop(self.engine.release(grip).await);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for grip in &self.grips {
            self.engine.abandon(*grip);
        }
    }
}

/// Takes the locks of a task and of what it touches.
pub(super) async fn take(
    hub: &Hub,
    holder: Holder,
    (task, resources): (Id<Task>, &[Resource]),
    settings: &Settings,
    wait: Duration,
) -> Result<Taken, HubError> {
    let engine = locks::engine(hub)?;
    let key = |text: String| {
        text.parse::<LockKey>().map_err(|_| records::Error::Misbehaved("a resource that cannot be locked"))
    };
    let own = key(format!("task:{task}"))?;
    let mut keys = vec![(own.clone(), Mode::Exclusive)];
    for resource in resources {
        keys.push((key(format!("resource:{}", resource.name()))?, engine_mode(resource.mode)));
    }
    let terms = Wanted {
        org: holder.org,
        agent: holder.agent,
        owner: holder.execution.to_string().into(),
        key: own,
        mode: Mode::Exclusive,
        ttl_seconds: settings.lock_default_ttl,
        wait: if wait.is_zero() { Wait::No } else { Wait::For(wait) },
        about: None,
        rules: Rules {
            queue_max: settings.lock_max_queue_depth as usize,
            detects_deadlocks: settings.feature_deadlock_detection,
        },
    };
    let held = acquire_many(&*engine, Several { keys, terms }).await?.held;
    let grips =
        held.iter().map(|held| Grip { org: holder.org, agent: holder.agent, id: held.hold.id }).collect();
    let expires_at = held.iter().map(|held| held.hold.expires_at).collect();
    Ok(Taken { engine, grips, locks: held.iter().map(taken).collect(), expires_at })
}

const fn engine_mode(mode: Shares) -> Mode {
    match mode {
        Shares::Exclusive => Mode::Exclusive,
        Shares::Shared => Mode::Shared,
    }
}

fn taken(held: &Held) -> LockTaken {
    LockTaken {
        key: held.key.to_string(),
        lock_id: held.hold.id.raw(),
        fence: i64::try_from(held.hold.fence).unwrap_or(i64::MAX),
        mode: match held.hold.mode {
            Mode::Exclusive => Shares::Exclusive,
            Mode::Shared => Shares::Shared,
        },
    }
}

fn grips(execution: &Execution) -> impl Iterator<Item = Grip> + '_ {
    let Execution { org_id: org, agent_id: agent, .. } = *execution;
    execution.locks.iter().map(move |lock| Grip { org, agent, id: Id::new(lock.lock_id) })
}

/// Renews every lock of an attempt. False if one of them is not its own any more.
pub(super) async fn renew(hub: &Hub, execution: &Execution, ttl_seconds: u32) -> Result<bool, HubError> {
    let engine = locks::engine(hub)?;
    for grip in grips(execution) {
        match engine.renew(grip, Some(ttl_seconds), Renewal::Heartbeat).await {
            Ok(_) => {}
            Err(Refusal::Expired | Refusal::NotHolder) => return Ok(false),
            Err(refusal) => return Err(refusal.into()),
        }
    }
    Ok(true)
}

/// Gives back every lock of an attempt that has ended. One that is missed ends by itself.
pub(super) async fn release(hub: &Hub, execution: &Execution) {
    let Ok(engine) = locks::engine(hub) else { return };
    for grip in grips(execution) {
        match engine.release(grip).await {
            Ok(_) | Err(Refusal::Expired | Refusal::NotHolder) => {}
            Err(refusal) => tracing::warn!("a lock of an attempt that has ended ends by itself: {refusal}"),
        }
        reached("release:one");
    }
    // Whoever was woken by the records may have come before the locks were free.
    hub.coordination.work.tell(&execution.org_id, 0);
}
