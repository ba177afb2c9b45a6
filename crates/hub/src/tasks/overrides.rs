//! Two admins instead of a quorum, or past what an approved task waits for; and the head of the queue (DECISIONS.md 30).

use domain::Id;
use domain::approvals::Approval;
use domain::audit::AuditEntry;
use domain::reviews::{Seat, Signing};
use domain::tasks::{Behind, Move, Task};
use records::{Tx, tasks};
use serde_json::{Value, json};

use super::{
    MISSING, Offer, PUT_FIRST, Seen, actor, behind, locked, put_first, require, seen, subject, waits_for,
};
use crate::act::Act;
use crate::approvals::refused as vote_refused;
use crate::idempotency::{Once, Outcome, write_once};
use crate::identity::credential::Credential;
use crate::reviews::{admins, ask, load, of_task};
use crate::{Caller, Hub, HubError, audit};

/// What is on record of asking to skip a review, and of asking to skip what an approved task waits for.
pub(super) const OVERRIDE_ASKED: &str = "task:override_asked";
pub(super) const SKIP_ASKED: &str = "task:skip_asked";

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
    let task = call_signers(tx, act, &current, (task, Wanted::Review { puts_first: false })).await?;
    seen(tx, &act.caller, task).await
}

/// Puts an approved task first. Of one that is reviewed, or waits for others, it asks for a second admin's signature that
/// then does so.
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
        Move::Override => {
            call_signers(tx, act, &current, (task, Wanted::Review { puts_first: true })).await?
        }
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
    let open = waits_for(tx, &task).await?;
    if !open.is_empty() {
        let skips = open.iter().map(|by| by.task_id).collect();
        return call_signers(tx, act, current, (task, Wanted::Prerequisites(skips))).await;
    }
    put_first(tx, act, (&task, actor(current, &task)), &entry(act, PUT_FIRST, &task)).await
}

/// What two admins shall sign.
enum Wanted {
    /// That the review is skipped.
    Review {
        /// And whether the task goes to the head of the queue then.
        puts_first: bool,
    },
    /// That the approved task need not wait for these; it goes to the head of the queue then.
    Prerequisites(Vec<Id<Task>>),
}

impl Wanted {
    const fn is_about_skipping(&self) -> bool {
        matches!(self, Self::Prerequisites(_))
    }

    fn skips(&self) -> &[Id<Task>] {
        match self {
            Self::Review { .. } => &[],
            Self::Prerequisites(skips) => skips,
        }
    }

    fn signing(&self, id: Id<Approval>, asked_by: &Behind) -> Signing {
        let puts_first = !matches!(self, Self::Review { puts_first: false });
        Signing { id, asked_by: asked_by.clone(), puts_first, skips: self.skips().to_vec() }
    }
}

/// Gives every admin who can sign a request of their own.
async fn call_signers(
    tx: &mut Tx,
    act: &Act<Urgency>,
    current: &Credential,
    (task, wanted): (Task, Wanted),
) -> Result<Task, HubError> {
    let (needed, action) = match &wanted {
        Wanted::Review { .. } => (Move::Override, OVERRIDE_ASKED),
        Wanted::Prerequisites(_) => (Move::PutFirst, SKIP_ASKED),
    };
    require(current, &task, needed)?;
    let review = of_task(tx, &task).await?.ok_or(MISSING)?;
    let case = load(tx, task, review, (false, act.now)).await?;
    let asked_by = behind(tx, current).await?;
    let admins = admins(tx, act.org()).await?;
    let is_about_skipping = wanted.is_about_skipping();
    let signers = case.signers((act.actor(), &asked_by), &admins, is_about_skipping).map_err(vote_refused)?;
    let is_another = |seat: &Seat| seat.approval.reviewer_id != act.actor();
    if signers.is_empty() && !case.signatures(is_about_skipping).any(is_another) {
        let nobody = "there is no other admin who had no hand in this task and did not make what you came \
                      with, so nobody could sign the override";
        return Err(HubError::Conflict(nobody.into()));
    }
    for signer in &signers {
        let signing = wanted.signing(act.hub.ids.id(), &asked_by);
        ask(tx, act, &case.signature(*signer, &signing, act.now)).await?;
    }
    let touched = case.task.touched(act.now);
    tasks::save(tx, &case.task, &touched).await?;
    let mut entry = entry(act, action, &touched);
    entry.details.insert("asked".into(), named(&signers));
    entry.details.insert("puts_first".into(), json!(!matches!(wanted, Wanted::Review { puts_first: false })));
    entry.details.insert("content_hash".into(), json!(touched.content_hash.to_string()));
    if is_about_skipping {
        entry.details.insert("skips".into(), named(wanted.skips()));
    }
    audit::record(tx, &entry).await?;
    Ok(touched)
}

fn named<'a, T: 'a>(ids: impl IntoIterator<Item = &'a Id<T>>) -> Value {
    json!(ids.into_iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// An audit row with why, and where that is written down.
fn entry(act: &Act<Urgency>, action: &str, task: &Task) -> AuditEntry {
    let mut entry = act.entry(action, subject(task.id));
    entry.reason = Some(act.input.reason.clone());
    entry.ticket_ref = Some(act.input.ticket.clone());
    entry
}
