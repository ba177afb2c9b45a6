//! Reviews whose time is over: the next level is asked, or the policy's last word counts (DECISIONS.md 29, EDGE-06).

use domain::approvals::{Approval, ApprovalStatus, Priority};
use domain::organizations::Organization;
use domain::policies::{Candidate, OnTimeout, PolicyRules};
use domain::reviews::{Case, Due, Ending, Escalation, Ladder, Outcome, Request, Resolution, Review, Step};
use domain::settings::Settings;
use domain::tasks::{Actor, Task, TaskState};
use domain::{Id, Timestamp};
use records::reviews::DueReview;
use records::{Tx, approvals, policies, reviews, tasks};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::case::load;
use super::plan::times;
use super::reroute::place_new;
use super::{ask, candidate, finish};
use crate::act::{self, ByItself, Deed};
use crate::approvals::announce as tell;
use crate::delegations::book;
use crate::faults::reached;
use crate::tasks::{announce, record, subject};
use crate::{Hub, HubError, settings};

/// Reviews looked at in one go.
const LOOKED_AT_ONCE: i64 = 100;

struct Found {
    hub: Hub,
    org: Id<Organization>,
    task: Id<Task>,
    review: Id<Review>,
    now: Timestamp,
}

/// What a policy says about time that is over, with the people it names as they stand now.
struct Rungs {
    levels: Vec<Vec<Candidate>>,
    on_timeout: OnTimeout,
}

/// Does what is due of every review. When something is due next, if anything is.
pub async fn escalate_due(hub: &Hub) -> Result<Option<Timestamp>, HubError> {
    let now = hub.clock.now();
    let mut after = (Timestamp::from_micros(0), Id::new(Uuid::nil()));
    while !hub.lifecycle.is_stopping() {
        let due = reviews::due(&hub.records, now, after, LOOKED_AT_ONCE).await?;
        let Some(last) = due.last() else { break };
        after = (last.next_look_at, last.id);
        for DueReview { id, org_id, task_id, .. } in due {
            reached("escalate:found");
            let found = Found { hub: hub.clone(), org: org_id, task: task_id, review: id, now };
            let done = hub.records.write(found, |tx, found| Box::pin(unit(tx, found))).await;
            // One review that cannot be moved must not keep all others waiting.
            if let Err(error) = done {
                tracing::warn!(review.id = %id, "review {id} could not be escalated: {error}");
            }
            reached("escalate:done");
        }
    }
    Ok(reviews::next_look(&hub.records).await?.filter(|next| *next > now))
}

/// A review that was settled meanwhile, or that another server has moved, is left alone.
async fn unit(tx: &mut Tx, found: &Found) -> Result<(), HubError> {
    let Some(task) = tasks::get_locked(tx, found.org, found.task).await? else { return Ok(()) };
    let Some(review) = reviews::get(tx, found.org, found.review).await? else { return Ok(()) };
    if task.state != TaskState::Reviewing || task.review_id != Some(review.id) || review.resolution.is_some()
    {
        return Ok(());
    }
    let act = ByItself::new(tx, &found.hub, found.org, found.now).await?;
    let settings = settings::load(tx, found.org).await?;
    let mut case = load(tx, task, review, (true, found.now)).await?;
    let mut is_decided = false;
    for (place, due) in case.due(found.now) {
        let step = match due {
            Due::Raise => case.raise(place, found.now),
            Due::TimeIsUp => {
                let rungs = rungs(tx, &case, place).await?;
                let wait = times(&settings).of(&case.review.policies[place]);
                let Rungs { levels, on_timeout } = rungs;
                case.time_is_up(place, &Ladder { levels: &levels, on_timeout, wait }, found.now)
            }
        };
        case = write(tx, &act, (case, &settings), (place, step)).await?;
        let last = case.review.escalations.last().filter(|last| last.at == found.now);
        is_decided |= last.is_some();
        if last.is_some_and(|last| last.outcome == Outcome::Denied) {
            return deny(tx, &act, &case).await;
        }
    }
    if is_decided {
        tasks::save(tx, &case.task, &case.task.touched(found.now)).await?;
    }
    Ok(())
}

/// The escalation list of the version that the review pinned.
async fn rungs(tx: &mut Tx, case: &Case, place: usize) -> Result<Rungs, HubError> {
    let org = case.review.org_id;
    let pinned = &case.review.policies[place];
    let policy = policies::get_version(tx, org, pinned.policy_id, pinned.version).await?;
    let PolicyRules { escalate_to, on_timeout, .. } =
        policy.ok_or(records::Error::Misbehaved("the policy of a review is missing"))?.rules;
    let mut levels = Vec::new();
    for named in escalate_to {
        let mut level = Vec::new();
        for account in named {
            level.extend(candidate(tx, org, account).await?);
        }
        levels.push(level);
    }
    Ok(Rungs { levels, on_timeout })
}

/// Writes a step with all it changes. Gives the case as it is then.
async fn write(
    tx: &mut Tx,
    act: &ByItself,
    (case, settings): (Case, &Settings),
    (place, mut step): (usize, Step),
) -> Result<Case, HubError> {
    for changed in &step.changed {
        approvals::update(tx, changed).await?;
        approvals::route(tx, changed).await?;
        approvals::requeue(tx, changed).await?;
        tell_changed(tx, act, &case, changed).await?;
    }
    reached("escalate:requests");
    let level = step.review.clock(place).level;
    let due_at = step.review.due_at(&[place]);
    let mut new = Vec::new();
    for reviewer in &step.asked {
        let request = Request {
            id: act.hub().ids.id(),
            reviewer: *reviewer,
            serves: Vec::new(),
            joined: false,
            due_at,
        };
        let request = case.review.request(&case.task, request, act.now()).named_at(place, level);
        let priority = Priority::of(case.task.priority).raised(level);
        let request = Approval { priority, score: priority.score(case.review.risk_score), ..request };
        ask(tx, act, &request).await?;
        new.push(request.id);
    }
    reached("escalate:asked");
    let escalation =
        step.outcome.map(|outcome| Escalation { place, level, outcome, to: step.to.clone(), at: act.now() });
    step.review.escalations.extend(escalation.clone());
    reviews::set_clocks(tx, &step.review, act.now()).await?;
    reached("escalate:clocks");
    let told = Told { case: &case, step: &step, place, settings };
    match escalation {
        Some(escalation) => told.escalated(tx, act, &escalation).await?,
        None => told.raised(tx, act).await?,
    }
    reached("escalate:announced");
    lead_on(tx, act, (&step, new)).await?;
    // Requests that delegations moved have moved the task's version too.
    let task = tasks::get_locked(tx, act.org(), case.task.id).await?;
    let task = task.ok_or(records::Error::Misbehaved("the task of a review is missing"))?;
    load(tx, task, step.review, (true, act.now())).await
}

/// Those who are asked now may have somebody who decides in their place.
async fn lead_on(
    tx: &mut Tx,
    act: &ByItself,
    (step, new): (&Step, Vec<Id<Approval>>),
) -> Result<(), HubError> {
    if step.asked.is_empty() || book(tx, act.org(), step.asked.iter().copied()).await?.is_empty() {
        return Ok(());
    }
    for request in new {
        place_new(tx, act, request).await?;
    }
    Ok(())
}

async fn tell_changed(tx: &mut Tx, act: &ByItself, case: &Case, changed: &Approval) -> Result<(), HubError> {
    let before = case.seats.iter().find(|seat| seat.approval.id == changed.id);
    let before = before.map(|seat| seat.approval.status);
    match changed.status {
        ApprovalStatus::Expired => tell(tx, act, "approval:expired", changed).await,
        ApprovalStatus::Pending if before != Some(ApprovalStatus::Pending) => {
            tell(tx, act, "approval:requested", changed).await
        }
        _ => Ok(()),
    }
}

/// Nobody answered in time, and the policy says that this is a no. Nobody said it.
async fn deny(tx: &mut Tx, act: &ByItself, case: &Case) -> Result<(), HubError> {
    let ending = Ending { resolution: Resolution::Timeout, by: None, actor: Actor::HUB, at: act.now() };
    finish(tx, act, case, ending).await?;
    reached("escalate:finished");
    Ok(())
}

/// What is put on record of a step, and told.
struct Told<'a> {
    case: &'a Case,
    step: &'a Step,
    place: usize,
    settings: &'a Settings,
}

impl Told<'_> {
    fn facts(&self) -> Map<String, Value> {
        let policy = &self.case.review.policies[self.place];
        let clock = self.step.review.clock(self.place);
        let mut facts = Map::new();
        facts.insert("review_id".into(), json!(self.case.review.id.to_string()));
        facts.insert("policy_id".into(), json!(policy.policy_id.to_string()));
        facts.insert("policy_version".into(), json!(policy.version));
        facts.insert("level".into(), json!(clock.level));
        facts.insert("due_at".into(), json!(clock.due_at.map(|at| at.to_string())));
        facts
    }

    /// With whoever is on call: they are told of every time that is over.
    async fn escalated(&self, tx: &mut Tx, act: &ByItself, escalation: &Escalation) -> Result<(), HubError> {
        let task = &self.case.task;
        let to: Vec<String> = escalation.to.iter().map(ToString::to_string).collect();
        let on_call: Vec<String> = self.settings.approval_on_call.iter().map(ToString::to_string).collect();
        let mut facts = self.facts();
        facts.insert("outcome".into(), json!(escalation.outcome.as_str()));
        facts.insert("to".into(), json!(to));
        facts.insert("on_call".into(), json!(on_call));
        let mut payload = facts.clone();
        let expired = self.step.changed.iter().filter(|one| one.status == ApprovalStatus::Expired);
        let expired: Vec<String> = expired.map(|one| one.reviewer_id.to_string()).collect();
        facts.insert("expired".into(), json!(expired));
        record(tx, act, "task:escalated", (Some(task.state), task), facts).await?;
        payload.insert("task_id".into(), json!(task.id.to_string()));
        payload.insert("author_id".into(), json!(task.author_id.to_string()));
        let event = act.event("approval:escalated", subject(task.id), payload.into());
        let on_call = act::announce_all(tx, act, &[event]).await?;
        // Whoever is asked now was told by their own request; a no is told to the author.
        let is_silent = on_call == 0 && escalation.to.is_empty() && escalation.outcome != Outcome::Denied;
        if is_silent { announce(tx, act, "approval:nobody_told", task).await } else { Ok(()) }
    }

    async fn raised(&self, tx: &mut Tx, act: &ByItself) -> Result<(), HubError> {
        let before = |one: &Approval| self.case.seats.iter().find(|seat| seat.approval.id == one.id);
        let is_raised =
            |one: &Approval| before(one).is_some_and(|before| before.approval.priority != one.priority);
        if !self.step.changed.iter().any(is_raised) {
            return Ok(());
        }
        let task = &self.case.task;
        let facts = self.facts();
        record(tx, act, "task:review_raised", (Some(task.state), task), facts.clone()).await?;
        let mut payload = facts;
        payload.insert("task_id".into(), json!(task.id.to_string()));
        act::announce(tx, act, "approval:raised", subject(task.id), payload.into()).await
    }
}
