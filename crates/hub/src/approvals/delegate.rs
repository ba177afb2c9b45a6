//! Passing a request on by hand.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::Approval;
use domain::permissions::Capability;
use domain::reviews::PassRefusal;
use records::{Tx, approvals, reviews, tasks};

use super::list::seen;
use super::{MISSING, Seen, announce, subject};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::reviews::{candidate, load, save_moved};
use crate::tasks::behind;
use crate::{Caller, Hub, HubError, audit};

/// What is passed on.
pub struct PassOn {
    /// Which request.
    pub approval_id: Id<Approval>,
    /// To whom.
    pub to: Id<Account>,
    /// Why.
    pub reason: Option<String>,
}

/// Passes a request of the caller's on to somebody who may decide in another's place.
pub async fn delegate(
    hub: &Hub,
    caller: &Caller,
    pass_on: PassOn,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, pass_on);
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<PassOn>) -> Result<Seen, HubError> {
    let PassOn { approval_id, to, reason } = &act.input;
    let request = approvals::get(tx, act.org(), *approval_id).await?.ok_or(MISSING)?;
    let task = tasks::get_locked(tx, act.org(), request.task_id).await?.ok_or(MISSING)?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    let review = reviews::get(tx, act.org(), request.review_id).await?.ok_or(MISSING)?;
    let case = load(tx, task, review, (true, act.now)).await?;
    let behind = behind(tx, &current).await?;
    let to = candidate(tx, act.org(), *to).await?;
    let moved = case
        .pass_on(*approval_id, (act.actor(), &behind), to.as_ref(), act.now)
        .map_err(|refusal| refused(refusal, case.review.resolution))?;
    save_moved(tx, act, &case, &moved).await?;
    tasks::save(tx, &case.task, &case.task.touched(act.now)).await?;
    let after = moved.changed.iter().find(|changed| changed.id == *approval_id).ok_or(MISSING)?;
    let mut entry = act.entry("approval:delegated", subject(after));
    entry.from_state = Some(request.status.as_str().to_owned());
    entry.to_state = Some(after.status.as_str().to_owned());
    entry.reason.clone_from(reason);
    entry.details.insert("task_id".into(), after.task_id.to_string().into());
    entry.details.insert("delegated_to".into(), after.delegated_to.map(|to| to.to_string()).into());
    audit::record(tx, &entry).await?;
    announce(tx, act, "approval:delegated", after).await?;
    seen(tx, &act.caller, after.clone()).await
}

fn refused(refusal: PassRefusal, resolution: Option<domain::reviews::Resolution>) -> HubError {
    let detail = refusal.to_string();
    match refusal {
        PassRefusal::NotYours => HubError::NotYourReview(detail),
        PassRefusal::OwnWork => HubError::SelfApproval(detail),
        PassRefusal::Closed => {
            let resolution = resolution.map(domain::reviews::Resolution::as_str);
            HubError::AlreadyResolved { resolution, detail }
        }
        PassRefusal::EndsHere => HubError::Forbidden(detail),
        PassRefusal::NotThem(who) => HubError::field("/to", who),
    }
}
