//! Requests that move while a review is open: passed on by hand, when a leave begins or ends, when somebody leaves.

use super::Case;
use super::tally::Seat;
use crate::accounts::Account;
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus};
use crate::delegations::{Chain, Link, may_stand_in};
use crate::policies::Candidate;
use crate::tasks::{Behind, TaskState};
use crate::{Id, Timestamp};

/// Why a request is not passed on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PassRefusal {
    /// Somebody else is asked.
    #[error("this request is somebody else's; nobody passes on what another is asked")]
    NotYours,
    /// Whoever passes it on had a hand in the task, and would choose who decides.
    #[error("you, or whoever made your credential, had a hand in this task; you do not choose who decides")]
    OwnWork,
    /// It is answered, passed on, or over.
    #[error("this request is no longer open")]
    Closed,
    /// It came by a delegation that ends with its delegate.
    #[error("you decide in another's place, and they did not allow that it is passed on (cascade)")]
    EndsHere,
    /// Nobody who could decide.
    #[error("{0}")]
    NotThem(&'static str),
}

/// What moves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Moved {
    /// Requests that are there and change.
    pub changed: Vec<Approval>,
    /// Somebody who must be asked now and has no request yet, with through whom it came.
    pub asked: Option<(Id<Account>, Vec<Id<Account>>)>,
}

impl Case {
    /// Passes a request on by hand, with all that its holder decides in others' places.
    ///
    /// # Errors
    /// Why not; nothing changes then.
    pub fn pass_on(
        &self,
        id: Id<Approval>,
        (by, behind): (Id<Account>, &Behind),
        to: Option<&Candidate>,
        now: Timestamp,
    ) -> Result<Moved, PassRefusal> {
        let seat = self.seats.iter().find(|seat| seat.approval.id == id).ok_or(PassRefusal::NotYours)?;
        if seat.approval.reviewer_id != by || seat.approval.kind != ApprovalKind::Review {
            return Err(PassRefusal::NotYours);
        }
        let is_open = self.task.state == TaskState::Reviewing
            && self.review.resolution.is_none()
            && self.task.review_id == Some(seat.approval.review_id);
        if !is_open || seat.approval.status != ApprovalStatus::Pending {
            return Err(PassRefusal::Closed);
        }
        if self.provenance.meets(behind) {
            return Err(PassRefusal::OwnWork);
        }
        if !seat.may_pass_on {
            return Err(PassRefusal::EndsHere);
        }
        let to = self.takes(seat, to)?;
        let here = Link { from: by, by: None };
        let mut changed = vec![seat.approval.passed_on(&Chain { links: vec![here], to }, now)];
        for other in self.in_place_of(by) {
            let links = links(&other.approval).chain([here]).collect();
            changed.push(other.approval.passed_on(&Chain { links, to }, now));
        }
        let through = changed.last().map(|last| last.delegation_chain.clone()).unwrap_or_default();
        Ok(self.arrive(to, through, changed, now))
    }

    /// Moves the request that a policy made of somebody to the end of this chain, from wherever it is; none: back to
    /// them. An answer that was given stays where it is.
    #[must_use]
    pub fn reroute(&self, origin: &Seat, chain: Option<&Chain>, reassigned: bool, now: Timestamp) -> Moved {
        let before = &origin.approval;
        let holder = before.delegated_to.unwrap_or(before.reviewer_id);
        let to = chain.map_or(before.reviewer_id, |chain| chain.to);
        let is_there = match chain {
            None => before.status == ApprovalStatus::Pending,
            Some(chain) => {
                before.delegated_to == Some(chain.to) && links(before).eq(chain.links.iter().copied())
            }
        };
        if is_there {
            return Moved::default();
        }
        let moved = match chain {
            None => before.reopened(now),
            Some(chain) => {
                let mut moved = before.passed_on(chain, now);
                moved.routing.reassigned = reassigned;
                moved
            }
        };
        let through = moved.delegation_chain.clone();
        let mut changed = vec![moved];
        changed.extend(self.released(holder, before, now));
        if to == before.reviewer_id {
            return Moved { changed, asked: None };
        }
        self.arrive(to, through, changed, now)
    }

    /// The request of whoever decided in another's place and no longer does, closed if nothing else is asked of them.
    fn released(&self, holder: Id<Account>, origin: &Approval, now: Timestamp) -> Option<Approval> {
        let seat = self.seat_of(holder).filter(|seat| seat.approval.id != origin.id)?;
        let is_asked_otherwise = !seat.approval.serves.is_empty()
            || seat.approval.joined
            || self.in_place_of(holder).any(|other| other.approval.id != origin.id);
        let is_open = seat.approval.status.is_changeable();
        (is_open && !is_asked_otherwise).then(|| seat.approval.superseded(now))
    }

    /// Whether this person can take a request on.
    fn takes(&self, seat: &Seat, to: Option<&Candidate>) -> Result<Id<Account>, PassRefusal> {
        let Some(to) = to.filter(|to| may_stand_in(to)) else {
            let who = "must be an active person here who is a reviewer or an admin";
            return Err(PassRefusal::NotThem(who));
        };
        let id = to.account_id;
        if self.provenance.includes(id) {
            return Err(PassRefusal::NotThem("had a hand in the task, and does not decide on it"));
        }
        let came_through = self.in_place_of(seat.approval.reviewer_id);
        let mut people = came_through.flat_map(|other| other.approval.delegation_chain.clone());
        if id == seat.approval.reviewer_id || people.any(|person| person == id) {
            return Err(PassRefusal::NotThem("the request came through them; it would go round in a circle"));
        }
        let theirs = self.seat_of(id).map(|seat| seat.approval.status);
        match theirs {
            None | Some(ApprovalStatus::Pending | ApprovalStatus::Superseded) => Ok(id),
            Some(ApprovalStatus::Approved | ApprovalStatus::Rejected) => {
                Err(PassRefusal::NotThem("has answered for themselves already"))
            }
            Some(ApprovalStatus::Delegated | ApprovalStatus::Expired) => {
                Err(PassRefusal::NotThem("has passed their own request on, or let it run out"))
            }
        }
    }

    fn arrive(
        &self,
        to: Id<Account>,
        through: Vec<Id<Account>>,
        mut changed: Vec<Approval>,
        now: Timestamp,
    ) -> Moved {
        let known = self.seat_of(to).map(|seat| &seat.approval);
        let asked = if known.is_none() { Some((to, through.clone())) } else { None };
        if let Some(closed) = known.filter(|known| known.status == ApprovalStatus::Superseded) {
            changed.push(Approval { delegation_chain: through, ..closed.reopened(now) });
        }
        Moved { changed, asked }
    }

    /// The request of this person, whatever became of it.
    #[must_use]
    pub fn seat_of(&self, account: Id<Account>) -> Option<&Seat> {
        let is_theirs =
            |seat: &&Seat| seat.approval.reviewer_id == account && seat.approval.kind == ApprovalKind::Review;
        self.seats.iter().find(is_theirs)
    }

    /// The requests that others passed on to this person.
    pub fn in_place_of(&self, account: Id<Account>) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(move |seat| {
            seat.approval.status == ApprovalStatus::Delegated && seat.approval.delegated_to == Some(account)
        })
    }
}

/// The steps that a request was passed on by.
fn links(approval: &Approval) -> impl Iterator<Item = Link> {
    let via = approval.routing.via.iter().copied();
    approval.delegation_chain.iter().zip(via).map(|(from, by)| Link { from: *from, by })
}
