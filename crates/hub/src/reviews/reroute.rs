//! Open requests that move: whoever decides on them is on leave, no longer stands in, or has left.

use std::collections::BTreeSet;

use domain::accounts::Account;
use domain::approvals::{Approval, ApprovalKind, ApprovalStatus};
use domain::delegations::{Book, Chain, Link, Route, may_stand_in};
use domain::notifications::hears;
use domain::organizations::Organization;
use domain::reviews::{Case, Moved, Request, Seat};
use domain::tasks::TaskState;
use domain::{Id, Timestamp};
use records::approvals::{Filter, Order};
use records::{Tx, approvals, policies, reviews, tasks};
use serde_json::{Map, json};

use super::case::{load, matter_of};
use super::{ask, candidate};
use crate::act::{ByItself, Deed};
use crate::approvals::{announce as tell, subject};
use crate::delegations::{book, stand_ins};
use crate::tasks::announce;
use crate::{Hub, HubError, audit};

/// Requests looked at in one go.
pub(crate) const LOOKED_AT_ONCE: i64 = 100;

/// Why a request may have to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// Whoever it is with went on leave.
    OnLeave,
    /// A delegation by which it was passed on changed or ended.
    Ended,
    /// Whoever it is with left; who was their manager.
    Left { manager: Option<Id<Account>> },
}

struct Looking {
    hub: Hub,
    org: Id<Organization>,
    request: Id<Approval>,
    cause: Cause,
    now: Timestamp,
}

/// Everything that was read to decide where requests go.
struct Ways {
    book: Book,
    able: BTreeSet<Id<Account>>,
    matter: domain::delegations::Matter,
    now: Timestamp,
}

/// Moves a request, and what its holder decides in others' places, to where it belongs now.
pub(crate) async fn reroute(
    hub: &Hub,
    org: Id<Organization>,
    request: Id<Approval>,
    cause: Cause,
) -> Result<(), HubError> {
    let looking = Looking { hub: hub.clone(), org, request, cause, now: hub.clock.now() };
    hub.records.write(looking, |tx, looking| Box::pin(unit(tx, looking))).await
}

/// Moves every open request of somebody.
pub(crate) async fn reroute_all(
    hub: &Hub,
    org: Id<Organization>,
    reviewer: Id<Account>,
    cause: Cause,
) -> Result<(), HubError> {
    let mut after = None;
    while !hub.lifecycle.is_stopping() {
        let (reviewer, status) = (Some(reviewer), Some(ApprovalStatus::Pending));
        let filter = Filter { reviewer, status, task: None, order: Order::Age(after) };
        let read = hub.records.read((org, filter), |tx, (org, filter)| {
            Box::pin(approvals::list(tx, *org, filter, LOOKED_AT_ONCE))
        });
        let found: Vec<Approval> = read.await?;
        let Some(last) = found.last() else { break };
        after = Some(last.id);
        for request in found {
            reroute(hub, org, request.id, cause).await?;
        }
    }
    Ok(())
}

/// Moves a request that was just made, in the unit that made it, to where delegations lead.
pub(super) async fn place_new(tx: &mut Tx, act: &impl Deed, request: Id<Approval>) -> Result<(), HubError> {
    let (hub, org, now) = (act.hub().clone(), act.org(), act.now());
    unit(tx, &Looking { hub, org, request, cause: Cause::OnLeave, now }).await
}

async fn unit(tx: &mut Tx, looking: &Looking) -> Result<(), HubError> {
    let Some(request) = approvals::get(tx, looking.org, looking.request).await? else { return Ok(()) };
    let Some(task) = tasks::get_locked(tx, looking.org, request.task_id).await? else { return Ok(()) };
    if task.state != TaskState::Reviewing || task.review_id != Some(request.review_id) {
        return Ok(());
    }
    let Some(review) = reviews::get(tx, looking.org, request.review_id).await? else { return Ok(()) };
    let act = ByItself::new(tx, &looking.hub, looking.org, looking.now).await?;
    let mut case = load(tx, task, review, (true, looking.now)).await?;
    let mut has_moved = false;
    for origin in concerned(&case, looking) {
        let Some(seat) = case.seats.iter().find(|seat| seat.approval.id == origin).cloned() else { continue };
        let moved = decide(tx, looking, &case, &seat).await?;
        if moved == Moved::default() {
            continue;
        }
        write(tx, &act, &case, (&seat, &moved, looking.cause)).await?;
        case = load(tx, case.task, case.review, (true, looking.now)).await?;
        has_moved = true;
    }
    if has_moved {
        tasks::save(tx, &case.task, &case.task.touched(looking.now)).await?;
    }
    Ok(())
}

/// The requests that policies made and that are with whoever the request is with.
fn concerned(case: &Case, looking: &Looking) -> Vec<Id<Approval>> {
    let Some(seat) = case.seats.iter().find(|seat| seat.approval.id == looking.request) else {
        return Vec::new();
    };
    if seat.approval.kind != ApprovalKind::Review {
        return Vec::new();
    }
    let is_own = match looking.cause {
        Cause::Ended => seat.approval.status == ApprovalStatus::Delegated,
        Cause::OnLeave | Cause::Left { .. } => {
            seat.approval.status == ApprovalStatus::Pending
                && (!seat.approval.serves.is_empty() || seat.approval.joined)
        }
    };
    let others: Vec<Id<Approval>> = match looking.cause {
        Cause::Ended => Vec::new(),
        Cause::OnLeave | Cause::Left { .. } => {
            case.in_place_of(seat.approval.reviewer_id).map(|other| other.approval.id).collect()
        }
    };
    is_own.then_some(seat.approval.id).into_iter().chain(others).collect()
}

async fn decide(tx: &mut Tx, looking: &Looking, case: &Case, seat: &Seat) -> Result<Moved, HubError> {
    let approval = &seat.approval;
    let is_by_hand = approval.routing.via.contains(&None);
    let stays = match looking.cause {
        Cause::OnLeave => is_by_hand,
        Cause::Ended => holds(case, seat),
        Cause::Left { .. } => false,
    };
    if stays {
        return Ok(Moved::default());
    }
    let ways = ways(tx, looking, case, approval.reviewer_id).await?;
    let has_left = matches!(looking.cause, Cause::Left { .. }) && approval.status == ApprovalStatus::Pending;
    let chain = match ways.to(case, approval.reviewer_id) {
        Some(chain) if has_left => Some(by_the_hub(chain)),
        None if has_left => match successor(tx, looking, case, approval).await? {
            Some(chain) => Some(chain),
            None => return Ok(Moved::default()),
        },
        route => route,
    };
    Ok(case.reroute(seat, chain.as_ref(), has_left, looking.now))
}

/// Whether whoever it was passed on to still decides, or did while it held.
fn holds(case: &Case, origin: &Seat) -> bool {
    let holder = origin.approval.delegated_to.and_then(|holder| case.seat_of(holder));
    holder.is_some_and(|holder| {
        origin.approval.serves.iter().any(|place| holder.counts_for.contains(place))
            && holder.approval.status.is_changeable()
    })
}

async fn ways(tx: &mut Tx, looking: &Looking, case: &Case, from: Id<Account>) -> Result<Ways, HubError> {
    let book = book(tx, looking.org, [from]).await?;
    let able = stand_ins(tx, looking.org, &book).await?;
    Ok(Ways { matter: matter_of(tx, &case.task, &case.review).await?, book, able, now: looking.now })
}

impl Ways {
    /// Where a request to this person goes; none: to them. Whoever has answered already is not asked more.
    fn to(&self, case: &Case, from: Id<Account>) -> Option<Chain> {
        let route =
            self.book.route(from, &self.matter, (&case.provenance, self.now), |who| self.able.contains(&who));
        let Route::To(chain) = route else { return None };
        let is_open = |seat: &Seat| {
            matches!(seat.approval.status, ApprovalStatus::Pending | ApprovalStatus::Superseded)
        };
        let is_free = case.seat_of(chain.to).is_none_or(is_open);
        let is_with = |seat: &Seat| seat.approval.delegated_to == Some(chain.to);
        (is_free || case.seat_of(from).is_some_and(is_with)).then_some(chain)
    }
}

/// The steps, no longer bound to delegations of somebody who has left.
fn by_the_hub(chain: Chain) -> Chain {
    Chain { links: chain.links.iter().map(|link| Link { from: link.from, by: None }).collect(), ..chain }
}

/// Who decides in the place of somebody who left and delegated to nobody: their manager, else the first of the
/// escalation lists of the policies that asked them.
async fn successor(
    tx: &mut Tx,
    looking: &Looking,
    case: &Case,
    approval: &Approval,
) -> Result<Option<Chain>, HubError> {
    let Cause::Left { manager } = looking.cause else { return Ok(None) };
    let mut line: Vec<Id<Account>> = manager.into_iter().collect();
    for place in &approval.serves {
        let Some(pinned) = case.review.policies.get(*place) else { continue };
        let policy = policies::get_version(tx, looking.org, pinned.policy_id, pinned.version).await?;
        line.extend(policy.into_iter().flat_map(|policy| policy.rules.escalate_to).flatten());
    }
    for to in line {
        let is_free = case.seat_of(to).is_none_or(|seat| {
            matches!(seat.approval.status, ApprovalStatus::Pending | ApprovalStatus::Superseded)
        });
        let may = candidate(tx, looking.org, to).await?.is_some_and(|candidate| may_stand_in(&candidate));
        if may && is_free && to != approval.reviewer_id && !case.provenance.includes(to) {
            let links = vec![Link { from: approval.reviewer_id, by: None }];
            return Ok(Some(Chain { links, to }));
        }
    }
    Ok(None)
}

async fn write(
    tx: &mut Tx,
    act: &ByItself,
    case: &Case,
    (origin, moved, cause): (&Seat, &Moved, Cause),
) -> Result<(), HubError> {
    save(tx, act, case, moved).await?;
    let Some(after) = moved.changed.iter().find(|changed| changed.id == origin.approval.id) else {
        return Ok(());
    };
    let action = match (after.status, cause) {
        (ApprovalStatus::Delegated, Cause::Left { .. }) => "approval:reassigned",
        (ApprovalStatus::Delegated, _) => "approval:delegated",
        // Whoever is asked again was told so when it was written.
        _ => {
            note(tx, act, "approval:returned", (&origin.approval, after)).await?;
            return tell_of_silence(tx, act, case, after).await;
        }
    };
    note(tx, act, action, (&origin.approval, after)).await?;
    tell(tx, act, action, after).await
}

/// A request that came back to somebody who cannot act waits for nobody, and that is told.
async fn tell_of_silence(
    tx: &mut Tx,
    act: &ByItself,
    case: &Case,
    returned: &Approval,
) -> Result<(), HubError> {
    let reviewer = candidate(tx, act.org(), returned.reviewer_id).await?;
    match reviewer.is_some_and(|reviewer| hears(&reviewer)) {
        true => Ok(()),
        false => announce(tx, act, "approval:nobody_told", &case.task).await,
    }
}

/// Writes requests that moved, asks whoever is new, and tells those who are no longer asked.
pub(crate) async fn save(tx: &mut Tx, act: &impl Deed, case: &Case, moved: &Moved) -> Result<(), HubError> {
    for changed in &moved.changed {
        approvals::update(tx, changed).await?;
        approvals::route(tx, changed).await?;
        match changed.status {
            ApprovalStatus::Superseded => tell(tx, act, "approval:superseded", changed).await?,
            ApprovalStatus::Pending => tell(tx, act, "approval:requested", changed).await?,
            _ => {}
        }
    }
    let Some((reviewer, through)) = &moved.asked else { return Ok(()) };
    let serves: Vec<usize> = moved.changed.iter().flat_map(|changed| changed.serves.clone()).collect();
    let due_at = case.review.due_at(&serves);
    let request =
        Request { id: act.hub().ids.id(), reviewer: *reviewer, serves: Vec::new(), joined: false, due_at };
    let mut asked = case.review.request(&case.task, request, act.now());
    asked.delegation_chain.clone_from(through);
    ask(tx, act, &asked).await
}

/// On record: through whom a request went, and to whom.
pub(crate) async fn note(
    tx: &mut Tx,
    act: &impl Deed,
    action: &str,
    (before, after): (&Approval, &Approval),
) -> Result<(), HubError> {
    let mut entry = act.entry(action, subject(before));
    entry.from_state = Some(before.status.as_str().to_owned());
    entry.to_state = Some(after.status.as_str().to_owned());
    let chain: Vec<String> = after.delegation_chain.iter().map(ToString::to_string).collect();
    let mut details = Map::new();
    details.insert("task_id".into(), json!(after.task_id.to_string()));
    details.insert("delegated_to".into(), json!(after.delegated_to.map(|to| to.to_string())));
    details.insert("delegation_chain".into(), json!(chain));
    entry.details = details;
    audit::record(tx, &entry).await
}
