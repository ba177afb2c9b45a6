//! Taking locks.

use std::time::{Duration, Instant};

use coordination::locks::{
    Acquired, All, Answer, Grip, Held, Refusal, Rules, Several, Wait, Wanted, acquire_many as take_many,
};
use domain::Id;
use domain::accounts::Account;
use domain::executions::Execution;
use domain::json::FieldError;
use domain::locks::{
    About, Hold, KEYS_MAX, LABEL_CHARS_MAX, LockKey, Mode, PURPOSE_CHARS_MAX, WAIT_SECONDS_MAX,
};
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::settings::Settings;
use domain::text;
use records::executions;

use super::{acting, engine, key};
use crate::identity::authenticate::still_may;
use crate::{Caller, Hub, HubError, settings};

const WAIT_SECONDS: &str = "countersign_lock_wait_seconds";
const REFUSALS: &str = "countersign_lock_refusals_total";

/// What somebody asks for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The key.
    pub key: String,
    /// Alone or with others.
    pub mode: Mode,
    /// For whom, if not for the caller.
    pub agent: Option<Id<Account>>,
    /// For which piece of its work, if not for the agent as such.
    pub owner: Option<String>,
    /// The same one again means the same request.
    pub request_id: Option<String>,
    /// How long it lives without a heartbeat.
    pub ttl_seconds: Option<u32>,
    /// How long to wait for it.
    pub wait_seconds: u32,
    /// Whether to leave a ticket.
    pub queue: bool,
    /// What it is for.
    pub purpose: Option<String>,
    /// Informational.
    pub priority: Option<i32>,
}

/// The same for several keys, all or none.
#[derive(Clone, Debug, Default)]
pub struct AskMany {
    /// The keys, and how.
    pub keys: Vec<(String, Mode)>,
    /// Everything else; its key, mode and ticket are not looked at.
    pub terms: Ask,
}

/// Takes a lock, or waits for it, or leaves a ticket.
pub async fn acquire(hub: &Hub, caller: &Caller, ask: Ask) -> Result<Acquired, HubError> {
    let key = taken_by_agents("/key", &ask.key)?;
    let wanted = wanted(hub, caller, &ask, key).await?;
    limit(hub, wanted.agent, 1)?;
    let locks = engine(hub)?;
    let taken = |acquired: &Acquired| match acquired {
        Acquired::Held(held) => vec![held.hold.id],
        Acquired::Again(_) | Acquired::Queued { .. } => Vec::new(),
    };
    waited(hub, caller, &wanted.clone(), locks.acquire(wanted), taken).await
}

/// Takes several locks, or none of them.
pub async fn acquire_many(hub: &Hub, caller: &Caller, many: AskMany) -> Result<Vec<Held>, HubError> {
    let count = many.keys.len();
    if !(1..=KEYS_MAX).contains(&count) {
        return Err(HubError::field("/keys", format!("must be 1 to {KEYS_MAX} keys")));
    }
    let mut keys = Vec::with_capacity(count);
    for (place, (text, mode)) in many.keys.iter().enumerate() {
        keys.push((taken_by_agents(&format!("/keys/{place}/key"), text)?, *mode));
    }
    let first = keys[0].0.clone();
    let terms = wanted(hub, caller, &many.terms, first).await?;
    limit(hub, terms.agent, count)?;
    let locks = engine(hub)?;
    let take = take_many(&*locks, Several { keys, terms: terms.clone() });
    let all = waited(hub, caller, &terms, Box::pin(take), |all: &All| all.taken.clone()).await?;
    Ok(all.held)
}

/// `task:` keys belong to the hub.
fn taken_by_agents(pointer: &str, text: &str) -> Result<LockKey, HubError> {
    let key = key(pointer, text)?;
    if key.is_task() {
        return Err(HubError::Forbidden("keys of tasks are the hub's to lock".into()));
    }
    Ok(key)
}

async fn wanted(hub: &Hub, caller: &Caller, ask: &Ask, key: LockKey) -> Result<Wanted, HubError> {
    let org = caller.credential.organization.id;
    let settings = settings::of(hub, org).await?;
    let errors = wrong(ask, &settings);
    if !errors.is_empty() {
        return Err(HubError::Invalid(errors));
    }
    let agent = acting(hub, caller, ask.agent).await?;
    require_not_an_attempt(hub, org, ask.owner.as_deref()).await?;
    let about = About {
        request_id: ask.request_id.as_deref().map(Box::from),
        purpose: ask.purpose.as_deref().map(Box::from),
        priority: ask.priority,
        ticket: None,
    };
    let wait = match ask.wait_seconds {
        _ if ask.queue => Wait::Ticket,
        0 => Wait::No,
        seconds => Wait::For(Duration::from_secs(seconds.into())),
    };
    Ok(Wanted {
        org,
        agent,
        owner: ask.owner.clone().unwrap_or_else(|| agent.to_string()).into(),
        key,
        mode: ask.mode,
        ttl_seconds: ask.ttl_seconds.unwrap_or(settings.lock_default_ttl),
        wait,
        about: (about != About::default()).then(|| Box::new(about)),
        rules: Rules {
            queue_max: settings.lock_max_queue_depth as usize,
            detects_deadlocks: settings.feature_deadlock_detection,
        },
    })
}

/// An attempt has all its locks before it begins and never waits again, so it is never the one that loses its locks to
/// break a circle. It must stay like that: nobody else waits in its name.
async fn require_not_an_attempt(
    hub: &Hub,
    org: Id<Organization>,
    owner: Option<&str>,
) -> Result<(), HubError> {
    let Some(id) = owner.and_then(|owner| owner.parse::<Id<Execution>>().ok()) else { return Ok(()) };
    let attempt =
        hub.records.read((org, id), |tx, &(org, id)| Box::pin(executions::get(tx, org, id))).await?;
    match attempt {
        None => Ok(()),
        Some(_) => Err(HubError::Forbidden("the locks of an attempt are the hub's to take".into())),
    }
}

/// Everything that is wrong with what was asked.
fn wrong(ask: &Ask, settings: &Settings) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse = |pointer: &str, detail: String| {
        errors.push(FieldError { pointer: pointer.into(), detail });
    };
    if ask.ttl_seconds.is_some_and(|ttl| !(1..=settings.lock_max_ttl).contains(&ttl)) {
        refuse("/ttl_seconds", format!("must be 1 to {} (lock:max_ttl)", settings.lock_max_ttl));
    }
    if ask.wait_seconds > WAIT_SECONDS_MAX {
        refuse("/wait_seconds", format!("must be 0 to {WAIT_SECONDS_MAX}"));
    }
    if ask.queue && ask.wait_seconds > 0 {
        refuse("/wait_seconds", "a ticket waits without a connection; leave this out with `queue`".into());
    }
    let labels = [("/owner", &ask.owner, LABEL_CHARS_MAX), ("/request_id", &ask.request_id, LABEL_CHARS_MAX)];
    for (pointer, text, chars_max) in
        labels.into_iter().chain([("/purpose", &ask.purpose, PURPOSE_CHARS_MAX)])
    {
        if let Some(Err(bad)) = text.as_deref().map(|text| text::name(text, chars_max)) {
            refuse(pointer, bad.to_string());
        }
    }
    errors
}

/// Against those who ask for locks only to keep others from them (RATE-03).
fn limit(hub: &Hub, agent: Id<Account>, attempts: usize) -> Result<(), HubError> {
    let now = hub.clock.now();
    for _ in 0..attempts {
        let decision = hub.coordination.lock_limits.check(agent, now);
        if let Some(refused) = decision.filter(|decision| !decision.allowed) {
            return Err(HubError::TooMany {
                what: "this agent has asked for too many locks in a minute",
                retry_after_seconds: refused.reset_seconds,
            });
        }
    }
    Ok(())
}

/// The answer, with one of the caller's places for those who wait. Who may not act any more when it comes does not get
/// it, and what was `taken` by it is given back; whatever else its account holds, through other credentials, stays.
async fn waited<T>(
    hub: &Hub,
    caller: &Caller,
    wanted: &Wanted,
    answer: Answer<'_, T>,
    taken: impl Fn(&T) -> Vec<Id<Hold>>,
) -> Result<T, HubError> {
    if !matches!(wanted.wait, Wait::For(_)) {
        return answer.await.map_err(counted);
    }
    let account = caller.credential.account.id;
    let _place = hub.coordination.waiting.enter(account).ok_or(HubError::TooManyWaiting)?;
    let (epoch, since) = (hub.records.signals().identity_epoch(), Instant::now());
    let answered = answer.await.map_err(counted)?;
    metrics::histogram!(WAIT_SECONDS).record(since.elapsed());
    if hub.records.signals().identity_epoch() != epoch
        && let Err(error) = still_may(hub, caller, Capability::LocksWrite).await
    {
        let locks = engine(hub)?;
        for id in taken(&answered) {
            locks.abandon(Grip { org: wanted.org, agent: wanted.agent, id });
        }
        return Err(error);
    }
    Ok(answered)
}

fn counted(refusal: Refusal) -> HubError {
    let why = match refusal {
        Refusal::Busy { .. } => "held",
        Refusal::TimedOut => "timed_out",
        Refusal::Deadlock(_) => "deadlock",
        Refusal::QueueFull => "queue_full",
        _ => "other",
    };
    metrics::counter!(REFUSALS, "why" => why).increment(1);
    if matches!(refusal, Refusal::QueueFull) {
        tracing::warn!("somebody was refused because too many wait for one lock");
    }
    refusal.into()
}
