//! Answering a request.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::{Answer, Approval, ApprovalStatus};
use domain::canonical::Sha256Hash;
use domain::grants::Grant;
use domain::permissions::Capability;
use domain::reviews::{Ballot, Case, Counted, Ending, Resolution, Seat, VoteRefusal};
use domain::tasks::{Actor, Behind, Task};
use records::{Tx, approvals, reviews, tasks};
use serde_json::{Map, Value};

use super::list::seen;
use super::{MISSING, Seen, announce, subject};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::reviews::{finish, load, note_move};
use crate::tasks::{PUT_FIRST, behind, put_first, skip, subject as task_subject};
use crate::{Caller, Hub, HubError, audit};

/// An answer as it comes in.
pub struct Vote {
    /// To which request.
    pub approval_id: Id<Approval>,
    /// What.
    pub answer: Answer,
    /// Why.
    pub reason: Option<String>,
    /// What the voter saw.
    pub content_hash: Sha256Hash,
    /// All that the voter saw.
    pub review_hash: Option<Sha256Hash>,
}

impl Vote {
    /// The answer, with who gives it.
    pub(super) fn ballot(&self, voter: Id<Account>, behind: &Behind) -> Ballot {
        Ballot {
            approval_id: self.approval_id,
            answer: self.answer,
            reason: self.reason.clone(),
            content_hash: self.content_hash,
            review_hash: self.review_hash,
            voter,
            behind: behind.clone(),
        }
    }
}

/// Takes an answer, and ends the review if it settles it.
pub async fn vote(
    hub: &Hub,
    caller: &Caller,
    vote: Vote,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, vote);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Vote>) -> Result<Seen, HubError> {
    let vote = &act.input;
    let request = approvals::get(tx, act.org(), vote.approval_id).await?.ok_or(MISSING)?;
    let task = tasks::get_locked(tx, act.org(), request.task_id).await?.ok_or(MISSING)?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    let review = reviews::get(tx, act.org(), request.review_id).await?.ok_or(MISSING)?;
    let mut case = load(tx, task, review, (true, act.now)).await?;
    let ballot = vote.ballot(act.actor(), &behind(tx, &current).await?);
    let counted = case.vote(&ballot, act.now).map_err(refused)?;
    write(tx, act, &case, (&ballot, &counted)).await?;
    case.note(&counted);
    settle(tx, act, &case, (counted.resolution, counted.grant.as_ref())).await?;
    seen(tx, &act.caller, counted.approval).await
}

/// Writes the answer, and those that follow it. What was there before is what was read under the lock.
pub(super) async fn write<T>(
    tx: &mut Tx,
    act: &Act<T>,
    case: &Case,
    (ballot, counted): (&Ballot, &Counted),
) -> Result<(), HubError> {
    let before = |of: &Approval| case.seats.iter().find(|seat| seat.approval.id == of.id);
    let voted = before(&counted.approval).ok_or(MISSING)?;
    approvals::update(tx, &counted.approval).await?;
    note(tx, act, ballot, (&voted.approval, &counted.approval)).await?;
    for follower in &counted.also {
        approvals::update(tx, follower).await?;
        let seat = before(follower).ok_or(MISSING)?;
        if follower.is_followed() {
            note(tx, act, ballot, (&seat.approval, follower)).await?;
        } else {
            note_move(tx, act, "approval:follows_no_more", (&seat.approval, follower)).await?;
            announce(tx, act, "approval:requested", follower).await?;
        }
    }
    Ok(())
}

/// On record, and told.
async fn note<T>(
    tx: &mut Tx,
    act: &Act<T>,
    ballot: &Ballot,
    (before, after): (&Approval, &Approval),
) -> Result<(), HubError> {
    let action = match ballot.answer {
        Answer::Approve => "approval:approved",
        Answer::Reject => "approval:rejected",
        Answer::RequestChanges => "approval:changes_requested",
    };
    let mut entry = act.entry(action, subject(before));
    entry.from_state = Some(before.status.as_str().to_owned());
    entry.to_state = Some(after.status.as_str().to_owned());
    entry.reason.clone_from(&ballot.reason);
    entry.details = details(before, ballot);
    if after.is_followed() {
        entry.details.insert("follows".into(), ballot.voter.to_string().into());
    }
    audit::record(tx, &entry).await?;
    announce(tx, act, action, after).await
}

fn details(request: &Approval, ballot: &Ballot) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert("task_id".into(), request.task_id.to_string().into());
    details.insert("content_hash".into(), ballot.content_hash.to_string().into());
    details.insert("review_hash".into(), ballot.review_hash.map(|hash| hash.to_string()).into());
    details
}

/// Ends the review, records a second signature, or notes that something was decided about the task (DECISIONS.md 14).
pub(super) async fn settle<T>(
    tx: &mut Tx,
    act: &Act<T>,
    case: &Case,
    (resolution, signed): (Option<Resolution>, Option<&Grant>),
) -> Result<Task, HubError> {
    if let Some((grant, signed)) = signed.and_then(|grant| Some((grant, grant.skip.as_ref()?))) {
        return skip(tx, act, case, (grant, signed)).await;
    }
    let Some(resolution) = resolution else {
        let touched = case.task.touched(act.now);
        tasks::save(tx, &case.task, &touched).await?;
        return Ok(touched);
    };
    let actor = Actor { is_reviewer: true, ..Actor::default() };
    let ending = Ending { resolution, by: Some(act.actor()), actor, at: act.now };
    let task = finish(tx, act, case, ending).await?;
    let puts_first =
        |seat: &Seat| seat.approval.routing.puts_first && seat.approval.status == ApprovalStatus::Approved;
    if resolution != Resolution::Override || !case.seats.iter().any(puts_first) {
        return Ok(task);
    }
    // Two admins have signed that it goes first.
    let admins = Actor { is_admin: true, ..Actor::default() };
    put_first(tx, act, (&task, admins), &act.entry(PUT_FIRST, task_subject(task.id))).await
}

pub(crate) fn refused(refusal: VoteRefusal) -> HubError {
    let detail = refusal.to_string();
    match refusal {
        VoteRefusal::NotYours | VoteRefusal::NotEligible => HubError::NotYourReview(detail),
        VoteRefusal::OwnWork | VoteRefusal::SameHand => HubError::SelfApproval(detail),
        VoteRefusal::Resolved(resolution) => {
            HubError::AlreadyResolved { resolution: resolution.map(Resolution::as_str), detail }
        }
        VoteRefusal::Closed => HubError::AlreadyResolved { resolution: None, detail },
        VoteRefusal::Stale { content_hash, review_hash } => HubError::StaleContent {
            content_hash: content_hash.to_string(),
            review_hash: review_hash.to_string(),
        },
    }
}
