//! Answering many requests at once: all of the answers are taken, or none.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::approvals::Approval;
use domain::grants::Grant;
use domain::permissions::Capability;
use domain::reviews::{Ballot, Case, Counted, Resolution, Review};
use domain::tasks::{Behind, Task, TaskState};
use records::{Tx, approvals, reviews, tasks};

use super::list::seen_all;
use super::vote::{refused, settle, write as write_answer};
use super::{MISSING, Seen, Vote};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::reviews::load;
use crate::tasks::{PUT_FIRST, actor, behind, put_first, subject as task_subject};
use crate::{Caller, Failed, Hub, HubError, settings};

/// How many answers one batch has at most (DECISIONS.md 26).
pub const BATCH_MAX: usize = 500;

/// Many answers.
pub struct Batch {
    /// Each to another request.
    pub votes: Vec<Vote>,
    /// Whether an admin answers although the preview may be old; what is decided on is checked all the same.
    pub skip_validation: bool,
    /// Whether the tasks go to the head of the queue; for admins.
    pub apply_immediately: bool,
}

/// An answer that is taken, with the case as it was before.
struct Taken {
    before: Case,
    ballot: Ballot,
    counted: Counted,
}

/// Takes all answers in their order, and ends the reviews that they settle.
pub async fn batch(
    hub: &Hub,
    caller: &Caller,
    batch: Batch,
    once: Option<Once<Vec<Seen>>>,
) -> Result<Outcome<Vec<Seen>>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, batch);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Batch>) -> Result<Vec<Seen>, HubError> {
    let ids: Vec<Id<Approval>> = act.input.votes.iter().map(|vote| vote.approval_id).collect();
    let requests = approvals::these(tx, act.org(), &ids).await?;
    let locked = lock(tx, act, &requests).await?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    require_allowed(tx, act, &current).await?;
    let mut cases = BTreeMap::new();
    for request in &requests {
        if cases.contains_key(&request.review_id) {
            continue;
        }
        let Some(task) = locked.get(&request.task_id) else { continue };
        let review = reviews::get(tx, act.org(), request.review_id).await?.ok_or(MISSING)?;
        cases.insert(request.review_id, load(tx, task.clone(), review, (true, act.now)).await?);
    }
    let behind = behind(tx, &current).await?;
    let taken = decide(act, &requests, &mut cases, &behind)?;
    write(tx, act, &current, (&cases, &taken)).await?;
    let answered = taken.into_iter().map(|taken| taken.counted.approval).collect();
    seen_all(tx, &act.caller, answered).await
}

/// The tasks, locked in the order of their ids, so that no two units wait for each other.
async fn lock(
    tx: &mut Tx,
    act: &Act<Batch>,
    requests: &[Approval],
) -> Result<BTreeMap<Id<Task>, Task>, HubError> {
    let ids: BTreeSet<Id<Task>> = requests.iter().map(|request| request.task_id).collect();
    let mut locked = BTreeMap::new();
    for id in ids {
        if let Some(task) = tasks::get_locked(tx, act.org(), id).await? {
            locked.insert(id, task);
        }
    }
    Ok(locked)
}

/// The organization allows batches, and the caller what goes beyond answering.
async fn require_allowed(tx: &mut Tx, act: &Act<Batch>, current: &Credential) -> Result<(), HubError> {
    if !settings::load(tx, act.org()).await?.feature_batch_approvals {
        let off = "this organization has switched batches off (feature:batch_approvals); answer one by one";
        return Err(HubError::Forbidden(off.into()));
    }
    let asks_for_more = act.input.skip_validation || act.input.apply_immediately;
    if asks_for_more && !current.capabilities().contains(Capability::TasksForceApply) {
        let admins = "skip_validation and apply_immediately are for admins of the organization";
        return Err(HubError::Forbidden(admins.into()));
    }
    Ok(())
}

/// What comes of each answer, given those before it. Nothing is written here, so a refusal leaves nothing behind.
fn decide(
    act: &Act<Batch>,
    requests: &[Approval],
    cases: &mut BTreeMap<Id<Review>, Case>,
    behind: &Behind,
) -> Result<Vec<Taken>, HubError> {
    let (mut taken, mut failed) = (Vec::new(), Vec::new());
    for (place, vote) in act.input.votes.iter().enumerate() {
        let request = requests.iter().find(|request| request.id == vote.approval_id);
        let case = request.and_then(|request| cases.get_mut(&request.review_id));
        match case.ok_or(MISSING).and_then(|case| take(act, case, vote.ballot(act.actor(), behind))) {
            Ok(answer) => taken.push(answer),
            Err(error) => failed.push(Failed { place, approval_id: vote.approval_id, error }),
        }
    }
    let of = act.input.votes.len();
    if failed.is_empty() { Ok(taken) } else { Err(HubError::Batch { failed, of }) }
}

fn take(act: &Act<Batch>, case: &mut Case, ballot: Ballot) -> Result<Taken, HubError> {
    let counted = case.vote(&ballot, act.now).map_err(refused)?;
    let before = case.clone();
    case.note(&counted);
    Ok(Taken { before, ballot, counted })
}

async fn write(
    tx: &mut Tx,
    act: &Act<Batch>,
    current: &Credential,
    (cases, taken): (&BTreeMap<Id<Review>, Case>, &[Taken]),
) -> Result<(), HubError> {
    // All of a person's answers in one review are one act: it ends as the last of them leaves it.
    let mut ends: BTreeMap<Id<Review>, (Option<Resolution>, Option<&Grant>)> = BTreeMap::new();
    for answer in taken {
        write_answer(tx, act, &answer.before, (&answer.ballot, &answer.counted)).await?;
        ends.insert(answer.before.review.id, (answer.counted.resolution, answer.counted.grant.as_ref()));
    }
    for (review, end) in ends {
        let Some(case) = cases.get(&review) else { continue };
        let task = settle(tx, act, case, end).await?;
        if act.input.apply_immediately {
            put_approved_first(tx, act, current, &task).await?;
        }
    }
    Ok(())
}

/// What was approved goes to the head of the queue; what still waits for others does not.
async fn put_approved_first(
    tx: &mut Tx,
    act: &Act<Batch>,
    current: &Credential,
    task: &Task,
) -> Result<(), HubError> {
    if task.state != TaskState::Approved {
        return Ok(());
    }
    let mut entry = act.entry(PUT_FIRST, task_subject(task.id));
    entry.details.insert("skip_validation".into(), act.input.skip_validation.into());
    put_first(tx, act, (task, actor(current, task)), &entry).await.map(drop)
}
