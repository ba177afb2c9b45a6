//! Two admins instead of a quorum, and the head of the queue (DECISIONS.md 30).

use domain::Id;
use domain::audit::AuditEntry;
use domain::reviews::Signing;
use domain::tasks::{Move, Task};
use records::{Tx, tasks};
use serde_json::json;

use super::{
    MISSING, Offer, PUT_FIRST, Seen, actor, behind, is_waiting, locked, put_first, require, seen, subject,
};
use crate::act::Act;
use crate::approvals::refused as vote_refused;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::reviews::{admins, ask, load, of_task};
use crate::{Caller, Hub, HubError, audit};

/// Why a task goes past the rules, and where that is written down.
pub struct Urgency {
    /// Which task.
    pub id: Id<Task>,
    /// Why.
    pub reason: String,
    /// The incident.
    pub ticket: String,
}

/// Asks the other admins to end the review with yes. Nothing else changes until one of them does.
pub async fn ask_override(
    hub: &Hub,
    caller: &Caller,
    urgency: Urgency,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::Override.needs())?;
    let input = Act::new(hub, caller, urgency);
    write_once(hub, once, input, |tx, act| Box::pin(override_unit(tx, act))).await
}

async fn override_unit(tx: &mut Tx, act: &Act<Urgency>) -> Result<Seen, HubError> {
    let task = locked(tx, act, act.input.id).await?;
    let current = act.reread_with(tx, Offer::Override.needs()).await?;
    let task = call_signers(tx, act, &current, (task, false)).await?;
    seen(tx, &act.caller, task).await
}

/// Puts an approved task first; of one that is reviewed it asks for an override that then does so.
pub async fn force_apply(
    hub: &Hub,
    caller: &Caller,
    urgency: Urgency,
    once: Option<Once<Seen>>,
) -> Result<Outcome<Seen>, HubError> {
    caller.require(Offer::ForceApply.needs())?;
    let input = Act::new(hub, caller, urgency);
    write_once(hub, once, input, |tx, act| Box::pin(force_unit(tx, act))).await
}

async fn force_unit(tx: &mut Tx, act: &Act<Urgency>) -> Result<Seen, HubError> {
    let task = locked(tx, act, act.input.id).await?;
    let current = act.reread_with(tx, Offer::ForceApply.needs()).await?;
    let task = match Offer::ForceApply.of(task.state) {
        Move::Override => call_signers(tx, act, &current, (task, true)).await?,
        _ => put_approved_first(tx, act, &current, task).await?,
    };
    seen(tx, &act.caller, task).await
}

async fn put_approved_first(
    tx: &mut Tx,
    act: &Act<Urgency>,
    current: &Credential,
    task: Task,
) -> Result<Task, HubError> {
    require(current, &task, Move::PutFirst)?;
    if is_waiting(tx, act, task.id).await? {
        let detail =
            "it waits for tasks that are not completed, and those are not skipped; finish them first";
        return Err(HubError::InvalidState { state: task.state.as_str().into(), detail: detail.into() });
    }
    put_first(tx, act, (&task, actor(current, &task)), &entry(act, PUT_FIRST, &task)).await
}

/// Gives every admin who can sign a request of their own.
async fn call_signers(
    tx: &mut Tx,
    act: &Act<Urgency>,
    current: &Credential,
    (task, puts_first): (Task, bool),
) -> Result<Task, HubError> {
    require(current, &task, Move::Override)?;
    let review = of_task(tx, &task).await?.ok_or(MISSING)?;
    let case = load(tx, task, review, (false, act.now)).await?;
    let asked_by = behind(tx, current).await?;
    let admins = admins(tx, act.org()).await?;
    let signers = case.signers((act.actor(), &asked_by), &admins).map_err(vote_refused)?;
    let is_asked = |seat: &domain::reviews::Seat| {
        seat.approval.kind == domain::approvals::ApprovalKind::Override
            && seat.approval.reviewer_id != act.actor()
    };
    if signers.is_empty() && !case.seats.iter().any(is_asked) {
        let nobody =
            "there is no other admin who had no hand in this task, so nobody could sign the override";
        return Err(HubError::Conflict(nobody.into()));
    }
    for signer in &signers {
        let signing = Signing { id: act.hub.ids.id(), asked_by: asked_by.clone(), puts_first };
        ask(tx, act, &case.signature(*signer, &signing, act.now)).await?;
    }
    let touched = case.task.touched(act.now);
    tasks::save(tx, &case.task, &touched).await?;
    let asked: Vec<String> = signers.iter().map(ToString::to_string).collect();
    let mut entry = entry(act, "task:override_asked", &touched);
    entry.details.insert("asked".into(), json!(asked));
    entry.details.insert("puts_first".into(), json!(puts_first));
    entry.details.insert("content_hash".into(), json!(touched.content_hash.to_string()));
    audit::record(tx, &entry).await?;
    Ok(touched)
}

/// An audit row with why, and where that is written down.
fn entry(act: &Act<Urgency>, action: &str, task: &Task) -> AuditEntry {
    let mut entry = act.entry(action, subject(task.id));
    entry.reason = Some(act.input.reason.clone());
    entry.ticket_ref = Some(act.input.ticket.clone());
    entry
}
