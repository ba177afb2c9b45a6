//! The steps: each by the rules, with what the promises will be asked of noted beside them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Rules;
use super::world::{AUTHOR, CAROL, MAX, PEOPLE, Skipping, World, account, line, matter, person, provenance};
use crate::Id;
use crate::accounts::Account;
use crate::approvals::{Answer, ApprovalKind, ApprovalStatus};
use crate::delegations::{Chain, Link, Route, may_stand_in};
use crate::policies::{Candidate, OnTimeout};
use crate::reviews::{
    Ballot, Case, Ladder, Moved, Outcome, Request, Resolution, Seat, Signing, panel, routed,
};
use crate::sample::{alone, at, id};
use crate::tasks::{Behind, Provenance};

pub(super) fn submit(rules: &Rules, world: &mut World) {
    let (task, review) = world.review();
    let candidates: Vec<Candidate> = (0..PEOPLE).map(|one| world.candidate(rules, one)).collect();
    let looked_at = if rules.voids { provenance() } else { Provenance::default() };
    let asked = panel(&review.policies, &candidates, &provenance());
    let able = |who: Id<Account>| may_stand_in(&world.candidate(rules, person(who)));
    let routed = routed(asked, &world.book(rules), &matter(), (&looked_at, at(10)), able);
    world.requests = routed
        .placed
        .into_iter()
        .map(|placed| {
            let (reviewer, serves) = (placed.reviewer, placed.serves);
            let request = Request { id: id(1), reviewer, serves, joined: false, due_at: None };
            let mut request = review.request(&task, request, at(2));
            if let Some(chain) = &placed.passed_on {
                request = request.passed_on(chain, at(3));
            }
            line(&request)
        })
        .collect();
    world.requests.sort_by_key(|line| (line.0, line.1.as_str()));
}

/// What the job does: where the request of this person belongs now, if they went on leave, took their word back, or
/// left.
pub(super) fn move_open(rules: &Rules, world: &mut World, who: usize) -> Option<()> {
    let case = world.case(rules);
    let origin: &Seat = case.seat_of(account(who))?;
    let has_left = !world.is_active[who];
    let holder = origin.approval.delegated_to.and_then(|to| case.seat_of(to));
    let is_answered =
        |seat: &Seat| matches!(seat.approval.status, ApprovalStatus::Approved | ApprovalStatus::Rejected);
    if is_answered(origin)
        || origin.approval.status == ApprovalStatus::Expired
        || holder.is_some_and(|holder| is_answered(holder) && holder.counts_for.contains(&0))
    {
        return None;
    }
    let able = |who: Id<Account>| may_stand_in(&world.candidate(rules, person(who)));
    let route = world.book(rules).route(account(who), &matter(), (&provenance(), at(10)), able);
    let free = |to: Id<Account>| case.seat_of(to).is_none_or(|seat| !is_answered(seat));
    let chain = match route {
        Route::To(chain) if free(chain.to) => Some(chain),
        _ if has_left && free(account(MAX)) => {
            Some(Chain { links: vec![Link { from: account(who), by: None }], to: account(MAX) })
        }
        _ if has_left => return None,
        _ => None,
    };
    let chain = chain.map(|chain| match has_left {
        true => Chain { links: vec![Link { from: account(who), by: None }], ..chain },
        false => chain,
    });
    let moved = case.reroute(origin, chain.as_ref(), has_left, at(10));
    apply(world, &case, &moved);
    Some(())
}

pub(super) fn apply(world: &mut World, case: &Case, moved: &Moved) {
    let mut case = case.clone();
    for changed in &moved.changed {
        if let Some(seat) = case.seats.iter_mut().find(|seat| seat.approval.id == changed.id) {
            seat.approval = changed.clone();
        }
    }
    world.keep(&case);
    if let Some((to, _)) = moved.asked {
        world.requests.push((
            person(to),
            ApprovalKind::Review,
            ApprovalStatus::Pending,
            None,
            Vec::new(),
            false,
            None,
            false,
        ));
        world.requests.sort_by_key(|line| (line.0, line.1.as_str()));
    }
}

/// The time of the policy is over: Max is asked, then nobody is left.
pub(super) fn time_is_up(rules: &Rules, world: &mut World) -> Option<()> {
    if world.requests.is_empty() {
        return None;
    }
    let case = world.case(rules);
    let silent: Vec<usize> = (0..PEOPLE).filter(|who| !world.has_answered(*who)).collect();
    world.ran_out.extend(silent);
    let levels = vec![vec![world.candidate(rules, MAX)]];
    let ladder = Ladder { levels: &levels, on_timeout: OnTimeout::Deny, wait: Duration::from_micros(1) };
    let step = (rules.time_is_up)(&case, &ladder);
    let mut after = case.clone();
    for changed in &step.changed {
        if let Some(seat) = after.seats.iter_mut().find(|seat| seat.approval.id == changed.id) {
            seat.approval = changed.clone();
        }
    }
    world.keep(&after);
    for asked in &step.asked {
        let request =
            Request { id: id(1), reviewer: *asked, serves: Vec::new(), joined: false, due_at: None };
        let request = case.review.request(&case.task, request, at(10)).named_at(0, 1);
        world.requests.push(line(&request));
    }
    world.requests.sort_by_key(|line| (line.0, line.1.as_str()));
    world.level = step.review.clock(0).level;
    if world.level == 1 {
        world.ran_out.remove(&MAX);
    }
    match step.outcome {
        Some(Outcome::Denied) => {
            world.is_over = Some(false);
            world.timed_out = true;
        }
        Some(Outcome::Parked) | None => return None,
        Some(Outcome::Escalated) => {}
    }
    Some(())
}

pub(super) fn vote(
    rules: &Rules,
    world: &mut World,
    (who, kind): (usize, ApprovalKind),
    answer: Answer,
) -> Option<()> {
    let mut case = world.case(rules);
    let theirs = |seat: &&Seat| seat.approval.reviewer_id == account(who) && seat.approval.kind == kind;
    let approval_id = case.seats.iter().find(theirs)?.approval.id;
    let ballot = Ballot {
        approval_id,
        answer,
        reason: None,
        content_hash: case.review.content_hash,
        review_hash: Some(case.review.review_hash),
        voter: account(who),
        behind: alone(account(who)),
    };
    let counted = (rules.vote)(&case, &ballot).ok()?;
    let is_entitled = match kind {
        ApprovalKind::Review => world.may_decide(who),
        ApprovalKind::Override => world.is_active[who] && who != AUTHOR,
    };
    let asker = counted.approval.routing.asked_by.first().map(|asker| person(*asker));
    world.strangers |= u8::from(!is_entitled && answer == Answer::Approve);
    case.note(&counted);
    world.keep(&case);
    if answer == Answer::Approve && kind == ApprovalKind::Review {
        world.entitled.insert(who);
    } else if kind == ApprovalKind::Review {
        world.entitled.remove(&who);
    }
    let Some(resolution) = counted.resolution else { return Some(()) };
    world.is_over = Some(matches!(resolution, Resolution::Quorum | Resolution::Override));
    if world.is_over == Some(true) {
        world.by_override = resolution == Resolution::Override;
        let hands: BTreeSet<usize> = match world.by_override {
            true => asker.into_iter().chain([who]).collect(),
            false => world.entitled.clone(),
        };
        world.approved_by = Some(hands.iter().filter(|who| **who != AUTHOR).count());
    }
    Some(())
}

pub(super) fn ask_override(rules: &Rules, world: &mut World, asker: usize) -> Option<()> {
    if world.requests.iter().any(|line| line.1 == ApprovalKind::Override) || world.requests.is_empty() {
        return None;
    }
    let case = world.case(rules);
    let admins: Vec<Candidate> = [CAROL, MAX].map(|one| world.candidate(rules, one)).into_iter().collect();
    let behind: Behind = alone(account(asker));
    let mut signers = case.signers((account(asker), &behind), &admins, false).ok()?;
    if !world.is_active[asker] || asker == AUTHOR {
        return None;
    }
    if !rules.asks_another {
        signers.insert(account(asker));
    }
    for signer in signers {
        let signing = Signing { id: id(100), asked_by: behind.clone(), puts_first: false, skips: Vec::new() };
        world.requests.push(line(&case.signature(signer, &signing, at(10))));
    }
    world.requests.sort_by_key(|line| (line.0, line.1.as_str()));
    Some(())
}

/// The other admins are asked to let the approved task past what it waits for.
pub(super) fn ask_skip(rules: &Rules, world: &mut World, asker: usize) -> Option<()> {
    if world.skip.is_some() || !world.is_active[asker] {
        return None;
    }
    let admins: Vec<Candidate> = [CAROL, MAX].map(|one| world.candidate(rules, one)).into_iter().collect();
    let behind = alone(account(asker));
    let asked = world.approved(rules).signers((account(asker), &behind), &admins, true).ok()?;
    let itself = (!rules.asks_another).then_some(asker);
    let asked = asked.into_iter().map(person).chain(itself).collect();
    let skip = Some(Skipping { asked_by: asker, asked, signed_by: None });
    *world = World { is_over: world.is_over, is_active: world.is_active, skip, ..World::new() };
    Some(())
}

pub(super) fn sign_skip(rules: &Rules, world: &mut World, who: usize) -> Option<()> {
    let case = world.approved(rules);
    let skip = world.skip.as_mut().filter(|skip| skip.signed_by.is_none())?;
    let ballot = Ballot {
        approval_id: id(who as u128 + 200),
        answer: Answer::Approve,
        reason: None,
        content_hash: case.review.content_hash,
        review_hash: Some(case.review.review_hash),
        voter: account(who),
        behind: alone(account(who)),
    };
    (rules.vote)(&case, &ballot).ok()?.grant?.skip?;
    skip.signed_by = Some(who);
    world.strangers |= u8::from(!world.is_active[who] || who == AUTHOR);
    Some(())
}
