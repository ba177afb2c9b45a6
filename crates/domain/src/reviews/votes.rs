//! Voting: whether an answer is taken, and what follows from it.

use super::panel::joins;
use super::tally::{Seat, Verdict, tally, verdict};
use super::{Resolution, Review};
use crate::accounts::Account;
use crate::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus, Response};
use crate::canonical::Sha256Hash;
use crate::grants::Grant;
use crate::policies::Candidate;
use crate::tasks::{Behind, Provenance, Task, TaskState};
use crate::{Id, Timestamp};

/// Everything a vote is decided on.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The task.
    pub task: Task,
    /// Its open review.
    pub review: Review,
    /// Who had a hand in the revision.
    pub provenance: Provenance,
    /// All requests of the review.
    pub seats: Vec<Seat>,
    /// What the review left, if it ended with yes and somebody is asked about it still.
    pub grant: Option<Grant>,
}

/// An answer as it comes in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ballot {
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
    /// Who votes.
    pub voter: Id<Account>,
    /// Who stands behind the voter.
    pub behind: Behind,
}

/// Why an answer is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VoteRefusal {
    /// Somebody else is asked.
    #[error("this request is somebody else's; nobody answers for another")]
    NotYours,
    /// The voter has a hand in it.
    #[error(
        "you, somebody you answer for, or whoever made your credential had a hand in this task; somebody else decides"
    )]
    OwnWork,
    /// The voter lost what made them a reviewer of this.
    #[error(
        "you are not eligible to decide on this any more: the policies that asked you no longer name you"
    )]
    NotEligible,
    /// Whoever asked for the override, or made the credential of whoever did, does not sign it too.
    #[error(
        "you, or whoever made the key or password you came with, asked for this override; the second signature is another's"
    )]
    SameHand,
    /// The matter is settled.
    #[error("this review is over")]
    Resolved(Option<Resolution>),
    /// The request itself was passed on, or ran out.
    #[error("this request is no longer open")]
    Closed,
    /// The task is not what the voter saw.
    #[error("the task changed since you read it; read it again before you decide")]
    Stale {
        /// What it is now.
        content_hash: Sha256Hash,
        /// And all around it.
        review_hash: Sha256Hash,
    },
}

/// What follows from an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    /// The request, answered.
    pub approval: Approval,
    /// Others' requests that follow it, or no longer do.
    pub also: Vec<Approval>,
    /// How the review ends by it; none: it goes on.
    pub resolution: Option<Resolution>,
    /// The Grant with the second signature on it, if it was that.
    pub grant: Option<Grant>,
}

impl Case {
    /// The case after an answer was taken.
    pub fn note(&mut self, counted: &Counted) {
        for approval in counted.also.iter().chain([&counted.approval]) {
            if let Some(seat) = self.seats.iter_mut().find(|seat| seat.approval.id == approval.id) {
                seat.approval = approval.clone();
            }
        }
        if let Some(grant) = &counted.grant {
            self.grant = Some(grant.clone());
        }
    }
}

impl Case {
    /// Takes an answer.
    ///
    /// # Errors
    /// Why it is not taken; nothing changes then.
    pub fn vote(&self, ballot: &Ballot, now: Timestamp) -> Result<Counted, VoteRefusal> {
        let place = self.seats.iter().position(|seat| seat.approval.id == ballot.approval_id);
        let place = place.ok_or(VoteRefusal::NotYours)?;
        let seat = &self.seats[place];
        self.admits(seat, ballot, now)?;
        let response = Response {
            action: ballot.answer,
            reason: ballot.reason.clone(),
            by: ballot.voter,
            behind: ballot.behind.clone(),
            at: now,
        };
        let approval = seat.approval.answered(response.clone());
        let also = match seat.approval.kind {
            ApprovalKind::Review => self.followers(&response),
            ApprovalKind::Override => Vec::new(),
        };
        let mut counted = Counted { approval, also, resolution: None, grant: None };
        let mut after = self.clone();
        after.note(&counted);
        match seat.approval.kind {
            ApprovalKind::Review => counted.resolution = self.outcome(ballot.answer, &after.seats),
            // Somebody who does not want the override leaves the review to those who are asked.
            ApprovalKind::Override if ballot.answer != Answer::Approve => {}
            ApprovalKind::Override if seat.approval.is_about_skipping() => {
                counted.grant = self.skipped(&seat.approval, ballot.voter, now);
            }
            ApprovalKind::Override => counted.resolution = Some(Resolution::Override),
        }
        Ok(counted)
    }

    /// Whoever follows the voter agrees with a yes as long as they say nothing themselves; whoever followed a yes that
    /// is no longer one is asked again.
    fn followers(&self, response: &Response) -> Vec<Approval> {
        let says_yes = response.action == Answer::Approve;
        let follows = |seat: &&Seat| {
            let is_open = seat.approval.status == ApprovalStatus::Pending;
            let may = !seat.counts_for.is_empty() && !self.provenance.includes(seat.approval.reviewer_id);
            says_yes && is_open && may && seat.follows.contains(&response.by)
        };
        let followed = |seat: &&Seat| {
            let before = seat.approval.response.as_ref().map(|before| before.by);
            !says_yes && seat.approval.is_followed() && before == Some(response.by)
        };
        let agreed = self.seats.iter().filter(follows).map(|seat| seat.approval.answered(response.clone()));
        let asked_again = self.seats.iter().filter(followed).map(|seat| seat.approval.reopened(response.at));
        agreed.chain(asked_again).collect()
    }

    /// For which of the policies an admin counts who was not asked and wants to take part.
    ///
    /// # Errors
    /// They had a hand in it.
    pub fn join(&self, admin: &Candidate, behind: &Behind) -> Result<Vec<usize>, VoteRefusal> {
        if self.provenance.meets(behind) {
            return Err(VoteRefusal::OwnWork);
        }
        Ok(joins(&self.review.policies, admin, &self.provenance))
    }

    fn admits(&self, seat: &Seat, ballot: &Ballot, now: Timestamp) -> Result<(), VoteRefusal> {
        if seat.approval.reviewer_id != ballot.voter {
            return Err(VoteRefusal::NotYours);
        }
        self.is_asked(&seat.approval, now)?;
        if self.provenance.meets(&ballot.behind) || self.provenance.includes(ballot.voter) {
            return Err(VoteRefusal::OwnWork);
        }
        match seat.approval.kind {
            ApprovalKind::Review if seat.counts_for.is_empty() => return Err(VoteRefusal::NotEligible),
            ApprovalKind::Override if !seat.may_sign => return Err(VoteRefusal::NotEligible),
            ApprovalKind::Override if !seat.approval.routing.is_seconded_by(&ballot.behind) => {
                return Err(VoteRefusal::SameHand);
            }
            ApprovalKind::Review | ApprovalKind::Override => {}
        }
        let seen = ballot.review_hash.unwrap_or(self.review.review_hash);
        if ballot.content_hash != self.review.content_hash
            || ballot.content_hash != self.task.content_hash
            || seen != self.review.review_hash
        {
            return Err(VoteRefusal::Stale {
                content_hash: self.task.content_hash,
                review_hash: self.review.review_hash,
            });
        }
        Ok(())
    }

    /// Whether the request is open: its review, or what became of it.
    fn is_asked(&self, approval: &Approval, now: Timestamp) -> Result<(), VoteRefusal> {
        let is_skip = approval.is_about_skipping();
        let is_open = match is_skip {
            true => self.may_be_skipped(now),
            false => self.task.state == TaskState::Reviewing && self.review.resolution.is_none(),
        };
        let is_current = self.task.review_id == Some(self.review.id) && approval.review_id == self.review.id;
        match is_open && is_current {
            // How the review ended says nothing about this.
            false if is_skip => Err(VoteRefusal::Closed),
            false => Err(VoteRefusal::Resolved(self.review.resolution)),
            true if !approval.status.is_changeable() => Err(VoteRefusal::Closed),
            true => Ok(()),
        }
    }

    fn outcome(&self, answer: Answer, seats: &[Seat]) -> Option<Resolution> {
        if answer == Answer::RequestChanges {
            return Some(Resolution::ChangesRequested);
        }
        let tallies = tally(&self.review.policies, seats, &self.provenance);
        match verdict(&self.review.policies, &tallies) {
            Verdict::Open => None,
            Verdict::Approved => Some(Resolution::Quorum),
            Verdict::Rejected => Some(Resolution::Rejected),
        }
    }
}
