//! Backtests: what a draft of a policy would have changed for tasks that were handed in. Nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::accounts::Account;
use domain::permissions::Capability;
use domain::policies::backtest::{DAYS_MAX, Past, Present, Report, TASKS_MAX};
use domain::policies::{Policy, PolicyChange, RuleSet};
use domain::settings::Settings;
use domain::{Id, Timestamp};
use records::tasks::{HandedIn, handed_in};
use records::{Tx, accounts, policies};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{MISSING, require_members, require_readable, require_room, taken, zones};
use crate::act::Act;
use crate::reviews::{candidates, several_candidates};
use crate::tasks::{read_config, read_value};
use crate::{Caller, Hub, HubError, delegations, rules, settings};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a task may have been a draft to be found.
const DRAFTED_DAYS: u32 = DAYS_MAX;
/// Backtests at once: each takes a core, and up to 32 MiB for what tasks say.
const AT_ONCE: usize = 2;
/// Backtests that wait for their turn; one more is told to come back.
const WAITING_MAX: usize = 16;
/// When a backtest stops and says how far it came; a request may take three times as long.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Whose turn it is to look at the past.
pub(crate) struct Turns {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            places: Arc::new(Semaphore::new(AT_ONCE + WAITING_MAX)),
        }
    }
}

impl Turns {
    async fn take(&self) -> Result<[OwnedSemaphorePermit; 2], HubError> {
        let overloaded = || HubError::Records(records::Error::Overloaded);
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| overloaded())?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| overloaded())?;
        Ok([place, turn])
    }
}

/// What a change of a policy would have changed.
#[derive(Clone, Debug)]
pub struct Backtest {
    /// The policy, as it stands.
    pub policy: Policy,
    /// Whether it was compared with a draft of it; otherwise with its absence.
    pub is_draft: bool,
    /// Since when tasks were looked at.
    pub since: Timestamp,
    /// Whether there are more tasks than were looked at.
    pub cut_off: bool,
    /// What was found.
    pub report: Report,
    /// What those are called who would have been asked.
    pub names: BTreeMap<Id<Account>, String>,
}

struct Wanted {
    id: Id<Policy>,
    days: u32,
    draft: Option<PolicyChange>,
}

/// All that is needed, from one moment of the records.
struct Loaded {
    policy: Policy,
    since: Timestamp,
    sets: Sets,
    tasks: Vec<HandedIn>,
    present: Present,
    names: BTreeMap<Id<Account>, String>,
}

/// Two sets of rules, and every policy in either.
struct Sets {
    before: Arc<RuleSet>,
    after: Arc<RuleSet>,
    policies: Vec<Policy>,
}

/// Holds the tasks of the last days against the rules as they stand, and against the rules with this draft of the policy.
/// Without a draft: against the rules without the policy, and against the rules as they stand.
pub async fn backtest(
    hub: &Hub,
    caller: &Caller,
    id: Id<Policy>,
    days: u32,
    draft: Option<PolicyChange>,
) -> Result<Backtest, HubError> {
    caller.require(Capability::PoliciesWrite)?;
    // The answer names tasks, which a key for policies alone may not see.
    caller.require(Capability::TasksRead)?;
    // Drafts with one threshold after the other would tell an agent every score.
    if caller.credential.agent.is_some() {
        return Err(HubError::Forbidden("agents are not told what policies make of a risk".to_owned()));
    }
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(HubError::field("/days", format!("must be 1 to {DAYS_MAX}")));
    }
    if let Some(change) = &draft {
        require_readable(change).await.map_err(in_draft)?;
    }
    let held = hub.coordination.backtests.take().await?;
    let is_draft = draft.is_some();
    let input = Act::new(hub, caller, Wanted { id, days, draft });
    let loaded = hub.records.read(input, |tx, act| Box::pin(unit(tx, act))).await?;
    let replayed = tokio::task::spawn_blocking(move || {
        // Held here and not by the request: who hangs up does not make room for one more.
        let _held = held;
        replayed(loaded, is_draft)
    });
    replayed.await.map_err(|_| records::Error::Misbehaved("a backtest panicked"))?
}

fn replayed(loaded: Loaded, is_draft: bool) -> Result<Backtest, HubError> {
    let Loaded { policy, since, sets, tasks, present, mut names } = loaded;
    let began = Instant::now();
    let mut cut_off = tasks.len() > TASKS_MAX;
    let mut report = Report::default();
    for task in tasks.into_iter().take(TASKS_MAX) {
        if began.elapsed() > TIME_MAX {
            cut_off = true;
            break;
        }
        let past = past(task)?;
        report.note(&past, present.replay((&sets.before, &sets.after), &past));
    }
    names.retain(|account, _| report.people.contains_key(account));
    Ok(Backtest { policy, is_draft, since, cut_off, report, names })
}

fn past(task: HandedIn) -> Result<Past, HubError> {
    Ok(Past {
        id: task.task_id,
        author_id: task.author_id,
        config: read_config(&task.config)?,
        value: read_value(&task.config)?,
        risk: task.risk,
        previewed_by_hub: task.effect_hash.is_some(),
        provenance: task.provenance,
        submitted_at: task.submitted_at,
    })
}

async fn unit(tx: &mut Tx, act: &Act<Wanted>) -> Result<Loaded, HubError> {
    let Wanted { id, days, draft } = &act.input;
    act.confirm(tx, Capability::PoliciesWrite).await?;
    let policy = policies::get(tx, act.org(), *id).await?.ok_or(MISSING)?;
    let settings = settings::load(tx, act.org()).await?;
    let sets = match draft {
        Some(change) => {
            let after = drafted(tx, act, &policy, change, &settings).await.map_err(in_draft)?;
            with_draft(tx, act, after).await?
        }
        None => without(tx, act, &policy).await?,
    };
    let since = act.now.minus(DAY * *days);
    let made_since = since.minus(DAY * DRAFTED_DAYS);
    let limit = i64::try_from(TASKS_MAX).unwrap_or(i64::MAX).saturating_add(1);
    let tasks = handed_in(tx, act.org(), (since, made_since), limit).await?;
    let present = present(tx, act, &sets, &tasks, &settings).await?;
    let named = present.candidates.iter().map(|candidate| candidate.account_id);
    let named: Vec<Id<Account>> = named.chain(present.stand_ins.iter().copied()).collect();
    let called = accounts::called(tx, act.org(), &named).await?;
    let names = called.into_iter().map(|called| (called.id, called.name)).collect();
    Ok(Loaded { policy, since, sets, tasks, present, names })
}

/// The policy as the draft has it, if that could be saved.
async fn drafted(
    tx: &mut Tx,
    act: &Act<Wanted>,
    before: &Policy,
    change: &PolicyChange,
    settings: &Settings,
) -> Result<Policy, HubError> {
    let after = before.changed(change, settings.approval_max_timeout, act.now).map_err(HubError::Invalid)?;
    if after.active && !before.active {
        require_room(tx, act.org()).await?;
    }
    require_members(tx, act.org(), &after.rules).await?;
    if policies::is_name_taken(tx, &after).await? {
        return Err(HubError::Conflict(taken(&after.name)));
    }
    Ok(after)
}

async fn with_draft(tx: &mut Tx, act: &Act<Wanted>, draft: Policy) -> Result<Sets, HubError> {
    let before = rules::load(tx, &act.hub, act.org()).await?;
    let in_force = policies::active(tx, act.org()).await?;
    let others = in_force.iter().filter(|policy| policy.id != draft.id).cloned();
    let after = ready(&before, others.chain(draft.active.then(|| draft.clone())).collect())?;
    let policies = in_force.into_iter().chain([draft]).collect();
    Ok(Sets { before, after, policies })
}

async fn without(tx: &mut Tx, act: &Act<Wanted>, policy: &Policy) -> Result<Sets, HubError> {
    if policy.is_default {
        let detail = "the default policy stands in where none applies, so there are no rules without it; say what \
                      would be different";
        return Err(HubError::field("/draft", detail));
    }
    let after = rules::load(tx, &act.hub, act.org()).await?;
    let policies = policies::active(tx, act.org()).await?;
    let others = policies.iter().filter(|other| other.id != policy.id).cloned();
    let before = ready(&after, others.collect())?;
    Ok(Sets { before, after, policies })
}

/// These policies with everything in them read; nobody else will ask for such a set.
fn ready(known: &RuleSet, policies: Vec<Policy>) -> Result<Arc<RuleSet>, HubError> {
    let set = RuleSet::new(known.version(), policies, known.catalogue().clone(), Some(known));
    let set = set.map_err(|missing| {
        let reason = missing.to_string();
        records::Error::BadRow { column: "policies.is_default", reason }
    });
    Ok(Arc::new(set?))
}

/// Everybody in question, in a few statements, however many tasks there are.
async fn present(
    tx: &mut Tx,
    act: &Act<Wanted>,
    sets: &Sets,
    tasks: &[HandedIn],
    settings: &Settings,
) -> Result<Present, HubError> {
    let quorums = sets.policies.iter().map(|policy| &policy.rules.quorum);
    let candidates = candidates(tx, act.org(), quorums).await?;
    let authors: BTreeSet<Id<Account>> = tasks.iter().map(|task| task.author_id).collect();
    let authors = several_candidates(tx, act.org(), authors).await?;
    let from = candidates.iter().map(|candidate| candidate.account_id);
    let book = delegations::book(tx, act.org(), from).await?;
    let stand_ins = delegations::stand_ins(tx, act.org(), &book).await?;
    Ok(Present {
        candidates,
        authors,
        book,
        stand_ins,
        thresholds: settings.risk_thresholds,
        lets_pass: settings.feature_auto_approve_low_risk,
        now: (act.now, zones::local),
    })
}

/// What is wrong with a draft is wrong within it.
fn in_draft(error: HubError) -> HubError {
    match error {
        HubError::Invalid(mut errors) => {
            for error in &mut errors {
                error.pointer.insert_str(0, "/draft");
            }
            HubError::Invalid(errors)
        }
        other => other,
    }
}
