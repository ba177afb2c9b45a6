//! What follows when the time of a policy is over: the next level is asked, or the policy's last word counts. Time alone
//! never approves anything (DECISIONS.md 29).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::clocks::{Outcome, PolicyClock};
use super::panel::REQUESTS_MAX;
use super::tally::{Seat, tally};
use super::{Case, Review};
use crate::accounts::Account;
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus};
use crate::policies::{Candidate, OnTimeout, eligible_by_escalation};
use crate::{Id, Timestamp};

/// What a policy says about time that is over.
#[derive(Clone, Copy, Debug)]
pub struct Ladder<'a> {
    /// Who is asked on each level, as they stand now.
    pub levels: &'a [Vec<Candidate>],
    /// What happens after the last.
    pub on_timeout: OnTimeout,
    /// How long people have on each.
    pub wait: Duration,
}

/// What is due of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// Its requests become more urgent.
    Raise,
    /// The time of its people is over.
    TimeIsUp,
}

/// What changes when something is due.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// What was done; none: the policy is content, or only more urgent.
    pub outcome: Option<Outcome>,
    /// The review with its clock.
    pub review: Review,
    /// Requests that are there and change.
    pub changed: Vec<Approval>,
    /// Who has no request yet and gets one.
    pub asked: Vec<Id<Account>>,
    /// Everybody whom the new level asks.
    pub to: Vec<Id<Account>>,
}

impl Case {
    /// What is due, policy by policy.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Vec<(usize, Due)> {
        let due = |place: usize| {
            let clock = self.review.clock(place);
            if clock.due_at.is_some_and(|at| at <= now) {
                return Some((place, Due::TimeIsUp));
            }
            clock.raise_at.is_some_and(|at| at <= now).then_some((place, Due::Raise))
        };
        (0..self.review.policies.len()).filter_map(due).collect()
    }

    /// Makes the open requests of a policy one step more urgent (DEGRADE-03).
    #[must_use]
    pub fn raise(&self, place: usize, now: Timestamp) -> Step {
        let clock = PolicyClock { raise_at: None, ..self.review.clock(place) };
        let is_asked = |seat: &&Seat| {
            seat.approval.status == ApprovalStatus::Pending && self.answers(seat).contains(&place)
        };
        let open = self.seats.iter().filter(|seat| seat.approval.kind == ApprovalKind::Review);
        let raised = |seat: &Seat| seat.approval.more_urgent(self.review.risk_score, now);
        let changed = open.filter(is_asked).map(raised).collect();
        let review = self.review.with_clock(place, clock);
        Step { outcome: None, review, changed, asked: Vec::new(), to: Vec::new() }
    }

    /// Ends the time of a policy's people.
    #[must_use]
    pub fn time_is_up(&self, place: usize, ladder: &Ladder<'_>, now: Timestamp) -> Step {
        let clock = self.review.clock(place);
        let tallies = tally(&self.review.policies, &self.seats, &self.provenance);
        if tallies.get(place).is_some_and(super::PolicyTally::is_met) {
            // Whoever agreed may change their mind while others are still asked; then time counts again.
            let again = PolicyClock::started(clock.level, ladder.wait, now);
            return self.retimed(self.review.with_clock(place, again), BTreeMap::new(), None, now);
        }
        let next = usize::try_from(clock.level).unwrap_or(usize::MAX);
        let levels = ladder.levels.iter().enumerate().skip(next);
        let mut able = levels.map(|(level, people)| (level, self.askable(place, people)));
        if let Some((level, people)) = able.find(|(_, people)| !people.is_empty()) {
            let level = u32::try_from(level + 1).unwrap_or(u32::MAX);
            let started = PolicyClock::started(level, ladder.wait, now);
            return self.climb(place, (started, &people), now);
        }
        match ladder.on_timeout {
            OnTimeout::Deny => {
                let clock = PolicyClock { raise_at: None, due_at: None, ..clock };
                let expired = self.expired(place, &BTreeSet::new(), now);
                self.retimed(self.review.with_clock(place, clock), expired, Some(Outcome::Denied), now)
            }
            OnTimeout::Park => {
                let clock = PolicyClock { raise_at: None, due_at: None, ..clock };
                let review = self.review.with_clock(place, clock);
                self.retimed(review, BTreeMap::new(), Some(Outcome::Parked), now)
            }
        }
    }

    /// Those of a level who can be asked for a policy. Whoever said no has been heard.
    fn askable(&self, place: usize, people: &[Candidate]) -> BTreeSet<Id<Account>> {
        let Some(policy) = self.review.policies.get(place) else { return BTreeSet::new() };
        let can = |candidate: &&Candidate| {
            eligible_by_escalation(&policy.quorum, candidate, &self.provenance).is_ok()
                && self.seat_of(candidate.account_id).is_none_or(|seat| self.can_be_asked(seat, place))
        };
        people.iter().filter(can).map(|candidate| candidate.account_id).collect()
    }

    fn can_be_asked(&self, seat: &Seat, place: usize) -> bool {
        match seat.approval.status {
            ApprovalStatus::Pending | ApprovalStatus::Expired | ApprovalStatus::Superseded => true,
            // Their yes counts for this policy already.
            ApprovalStatus::Approved => !seat.counts_for.contains(&place),
            ApprovalStatus::Rejected => false,
            ApprovalStatus::Delegated => self.is_with_somebody(&seat.approval),
        }
    }

    /// Whether whoever a request was passed on to has not answered.
    fn is_with_somebody(&self, passed_on: &Approval) -> bool {
        let holder = passed_on.delegated_to.and_then(|holder| self.seat_of(holder));
        holder.is_some_and(|holder| holder.approval.status == ApprovalStatus::Pending)
    }

    fn climb(
        &self,
        place: usize,
        (clock, people): (PolicyClock, &BTreeSet<Id<Account>>),
        now: Timestamp,
    ) -> Step {
        let mut changed = self.expired(place, people, now);
        let mut asked = Vec::new();
        let open = |approval: &Approval| approval.status == ApprovalStatus::Pending;
        let count = |changed: &BTreeMap<Id<Approval>, Approval>| {
            let now = |seat: &&Seat| open(changed.get(&seat.approval.id).unwrap_or(&seat.approval));
            self.seats.iter().filter(now).count()
        };
        let mut left = REQUESTS_MAX.saturating_sub(count(&changed));
        let mut to = Vec::new();
        for person in people {
            match self.seat_of(*person).map(|seat| &seat.approval) {
                None if left == 0 => continue,
                None => {
                    left -= 1;
                    asked.push(*person);
                }
                Some(before) => {
                    let again = self.asked_again(before, (place, clock.level), now);
                    changed.insert(before.id, again);
                }
            }
            to.push(*person);
        }
        let mut step =
            self.retimed(self.review.with_clock(place, clock), changed, Some(Outcome::Escalated), now);
        (step.asked, step.to) = (asked, to);
        step
    }

    /// The request of somebody who is asked already, or was, for one policy more. Whoever said yes says so again: it was
    /// not said for this policy.
    fn asked_again(&self, before: &Approval, (place, level): (usize, u32), now: Timestamp) -> Approval {
        let opened = match before.status {
            ApprovalStatus::Pending | ApprovalStatus::Delegated => before.clone(),
            ApprovalStatus::Approved => before.reopened(now),
            ApprovalStatus::Expired | ApprovalStatus::Superseded | ApprovalStatus::Rejected => {
                // What it was for has gone on to others.
                let mut again = before.reopened(now);
                again.serves.clear();
                again.routing.escalated.clear();
                again
            }
        };
        opened.more_urgent(self.review.risk_score, now).named_at(place, level)
    }

    /// The open requests of a policy after their time, except those of people who stay.
    fn expired(
        &self,
        place: usize,
        stay: &BTreeSet<Id<Account>>,
        now: Timestamp,
    ) -> BTreeMap<Id<Approval>, Approval> {
        let mut changed = BTreeMap::new();
        for Seat { approval, .. } in &self.seats {
            let is_open = match approval.status {
                ApprovalStatus::Pending => true,
                ApprovalStatus::Delegated => self.is_with_somebody(approval),
                _ => false,
            };
            let is_asked = approval.kind == ApprovalKind::Review && approval.serves.contains(&place);
            // An admin who joined has no time that was given to them.
            if is_open && is_asked && !approval.joined && !stay.contains(&approval.reviewer_id) {
                changed.insert(approval.id, approval.without(place, now));
            }
        }
        // Whoever only decided in the place of those is not asked any more either.
        let after = |approval: &Approval| changed.get(&approval.id).unwrap_or(approval).clone();
        let all: Vec<Approval> = self.seats.iter().map(|seat| after(&seat.approval)).collect();
        let is_needed = |holder: &Approval| {
            let stands_in = |other: &Approval| {
                other.status == ApprovalStatus::Delegated && other.delegated_to == Some(holder.reviewer_id)
            };
            !holder.serves.is_empty() || holder.joined || all.iter().any(stands_in)
        };
        let is_idle = |one: &&Approval| {
            one.kind == ApprovalKind::Review
                && one.status == ApprovalStatus::Pending
                && !stay.contains(&one.reviewer_id)
                && !is_needed(one)
        };
        let idle: Vec<Approval> = all.iter().filter(is_idle).map(|one| one.expired(now)).collect();
        changed.extend(idle.into_iter().map(|one| (one.id, one)));
        changed
    }

    /// Open requests by the clocks of the review as it is then.
    fn retimed(
        &self,
        review: Review,
        mut changed: BTreeMap<Id<Approval>, Approval>,
        outcome: Option<Outcome>,
        now: Timestamp,
    ) -> Step {
        let mut after = self.clone();
        for seat in &mut after.seats {
            if let Some(changed) = changed.get(&seat.approval.id) {
                seat.approval = changed.clone();
            }
        }
        for seat in after.seats.iter().filter(|seat| seat.approval.kind == ApprovalKind::Review) {
            let due_at = review.due_at(&after.answers(seat));
            if seat.approval.status == ApprovalStatus::Pending && seat.approval.due_at != due_at {
                let updated_at = now.after(seat.approval.updated_at);
                changed.insert(seat.approval.id, Approval { due_at, updated_at, ..seat.approval.clone() });
            }
        }
        let changed = changed.into_values().collect();
        Step { outcome, review, changed, asked: Vec::new(), to: Vec::new() }
    }

    /// For which policies an answer is expected of somebody, in others' places too.
    fn answers(&self, seat: &Seat) -> Vec<usize> {
        let others = self.in_place_of(seat.approval.reviewer_id).flat_map(|other| &other.approval.serves);
        seat.approval.serves.iter().chain(others).copied().collect()
    }
}
