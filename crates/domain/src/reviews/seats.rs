//! What an answer to each request counts for today: its reviewer's own eligibility, and that of those in whose place
//! they decide.

use std::collections::{BTreeMap, BTreeSet};

use super::overrides::may_sign;
use super::panel::counts_for;
use super::tally::Seat;
use crate::accounts::Account;
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus};
use crate::delegations::{Delegation, DelegationKind, Matter, may_stand_in};
use crate::policies::{Candidate, Matched};
use crate::tasks::Provenance;
use crate::{Id, Timestamp};

/// What seats are worked out from, beside the requests.
#[derive(Clone, Copy, Debug)]
pub struct Hall<'a> {
    /// What the review pinned.
    pub policies: &'a [Matched],
    /// Everybody who is asked, as they stand now.
    pub people: &'a BTreeMap<Id<Account>, Candidate>,
    /// Every delegation that a request names, as it is now.
    pub delegations: &'a BTreeMap<Id<Delegation>, Delegation>,
    /// What the conditions of delegations are asked of; none where no request names one.
    pub matter: Option<&'a Matter>,
    /// Who had a hand in the revision.
    pub provenance: &'a Provenance,
    /// When.
    pub now: Timestamp,
}

/// The requests of a review with what an answer to each counts for.
#[must_use]
pub fn seats(requests: Vec<Approval>, hall: &Hall<'_>) -> Vec<Seat> {
    let passed_on: Vec<Approval> =
        requests.iter().filter(|request| request.status == ApprovalStatus::Delegated).cloned().collect();
    let seat = |approval: Approval| hall.seat(approval, &passed_on);
    requests.into_iter().map(seat).collect()
}

impl Hall<'_> {
    fn seat(&self, approval: Approval, passed_on: &[Approval]) -> Seat {
        let person = self.people.get(&approval.reviewer_id);
        let own = match approval.status {
            ApprovalStatus::Delegated => Vec::new(),
            _ => counts_for(self.policies, &approval, person, self.provenance),
        };
        let mut plain = Seat::plain(approval, own);
        if plain.approval.kind == ApprovalKind::Override {
            plain.may_sign = person.is_some_and(may_sign);
            return plain;
        }
        if passed_on.is_empty() && plain.approval.routing.is_plain() {
            return plain;
        }
        let is_in_place_of = |other: &&Approval| {
            plain.approval.kind == ApprovalKind::Review
                && plain.approval.status != ApprovalStatus::Delegated
                && other.delegated_to == Some(plain.approval.reviewer_id)
        };
        let others: Vec<&Approval> = passed_on.iter().filter(is_in_place_of).collect();
        let stands_in = others.iter().flat_map(|other| self.stands_in(&plain.approval, other));
        let counts_for: BTreeSet<usize> = plain.counts_for.iter().copied().chain(stands_in).collect();
        let others_serve = others.iter().flat_map(|other| other.serves.iter().copied());
        let speaks_for: BTreeSet<usize> = plain.speaks_for.iter().copied().chain(others_serve).collect();
        Seat {
            counts_for: counts_for.into_iter().collect(),
            speaks_for: speaks_for.into_iter().collect(),
            follows: self.follows(&plain.approval),
            may_pass_on: others.iter().all(|other| self.may_go_on(other)),
            may_sign: false,
            approval: plain.approval,
        }
    }

    /// For which policies an answer counts in the place of somebody who passed their request on. That they did so, and
    /// that they still may, is looked at again.
    fn stands_in(&self, approval: &Approval, other: &Approval) -> Vec<usize> {
        let holder = self.people.get(&approval.reviewer_id);
        let may = holder.is_some_and(may_stand_in) && !self.provenance.includes(approval.reviewer_id);
        // What was answered while it held stays answered when the time is over.
        let at = approval.response.as_ref().map_or(self.now, |response| response.at);
        let chain = (other.delegation_chain.as_slice(), approval.reviewer_id);
        if !may || !other.routing.holds(chain, self.delegations, self.matter, (self.provenance, at)) {
            return Vec::new();
        }
        match other.routing.reassigned {
            true => other.serves.clone(),
            false => counts_for(self.policies, other, self.people.get(&other.reviewer_id), self.provenance),
        }
    }

    fn may_go_on(&self, other: &Approval) -> bool {
        let last = other.routing.via.last().copied().flatten();
        last.is_none_or(|by| self.delegations.get(&by).is_some_and(|used| used.cascade))
    }

    fn follows(&self, approval: &Approval) -> Vec<Id<Account>> {
        let Some(matter) = self.matter else { return Vec::new() };
        let holds = |by: &Id<Delegation>| {
            let used = self.delegations.get(by)?;
            let is_followed = used.kind == DelegationKind::Follow && used.owner_id == approval.reviewer_id;
            let holds = is_followed && used.holds_for(matter, self.provenance, self.now);
            holds.then_some(used.delegate_to)
        };
        approval.routing.follows.iter().filter_map(holds).collect()
    }
}
