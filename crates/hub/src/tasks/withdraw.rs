//! Taking a yes back.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::{Approval, ApprovalStatus};
use domain::reviews::{Ending, Resolution, withdraw as taken_back};
use domain::tasks::{Actor, Task};
use records::{Tx, approvals, grants, reviews, tasks};
use serde_json::json;

use super::{MISSING, Offer, Seen, actor, announce_resolved, locked, refused, seen, subject};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::reviews::{close, of_task, tell_dependents};
use crate::{Caller, Hub, HubError, audit};

struct Input {
    id: Id<Task>,
    reason: String,
}

/// Takes the approval of a task back: its Grant is void, the task rejected.
pub async fn withdraw(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    reason: String,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::Withdraw.needs())?;
    let input = Act::new(hub, caller, Input { id, reason });
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

/// Whether somebody's yes is among the answers.
pub(super) fn is_approver<'a>(requests: impl IntoIterator<Item = &'a Approval>, who: Id<Account>) -> bool {
    let mut requests = requests.into_iter();
    requests.any(|request| request.reviewer_id == who && request.status == ApprovalStatus::Approved)
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Seen, HubError> {
    let before = locked(tx, act, act.input.id).await?;
    let current = act.reread_with(tx, Offer::Withdraw.needs()).await?;
    let review = of_task(tx, &before).await?.ok_or(MISSING)?;
    let requests = approvals::of_review(tx, act.org(), review.id).await?;
    let is_reviewer = is_approver(&requests, act.actor());
    let who = Actor { is_reviewer, ..actor(&current, &before) };
    let ending = Ending { resolution: Resolution::Withdrawn, by: Some(act.actor()), actor: who, at: act.now };
    let grant = grants::standing_locked(tx, act.org(), before.id).await?;
    let Some(grant) = grant else {
        // Whatever is not approved has none; the rule says so in its own words.
        domain::tasks::next(before.state, domain::tasks::Move::Withdraw, who).map_err(refused)?;
        return Err(records::Error::Misbehaved("an approved task has no grant").into());
    };
    let ended = taken_back(&before, &review, &grant, ending).map_err(refused)?;
    tasks::save(tx, &before, &ended.task).await?;
    reviews::resolve(tx, &ended.review).await?;
    if let Some(void) = &ended.grant {
        grants::update(tx, void).await?;
    }
    close(tx, act, (review.id, &requests)).await?;
    let mut entry = act.entry("approval:withdrawn", subject(before.id));
    entry.from_state = Some(before.state.as_str().to_owned());
    entry.to_state = Some(ended.task.state.as_str().to_owned());
    entry.reason = Some(act.input.reason.clone());
    audit::record(tx, &entry).await?;
    super::announce_move(tx, act, (before.state, &ended.task)).await?;
    let payload = json!({"task_id": before.id.to_string(), "content_hash": before.content_hash.to_string()});
    act.announce(tx, "approval:withdrawn", subject(before.id), payload).await?;
    let withdrawn = Some(Resolution::Withdrawn.as_str());
    announce_resolved(tx, act, "task:rejected", (&ended.task, withdrawn)).await?;
    tell_dependents(tx, act, &ended.task).await?;
    seen(tx, &act.caller, ended.task).await
}
