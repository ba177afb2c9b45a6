//! Voting: whether an answer is taken, and what follows from it.

use super::panel::joins;
use super::tally::{Seat, Verdict, tally, verdict};
use super::{Resolution, Review};
use crate::accounts::Account;
use crate::approvals::{Answer, Approval, ApprovalKind, Response};
use crate::canonical::Sha256Hash;
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
    /// How the review ends by it; none: it goes on.
    pub resolution: Option<Resolution>,
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
        self.admits(seat, ballot)?;
        let response = Response {
            action: ballot.answer,
            reason: ballot.reason.clone(),
            by: ballot.voter,
            behind: ballot.behind.clone(),
            at: now,
        };
        let approval = seat.approval.answered(response);
        let mut seats = self.seats.clone();
        seats[place].approval = approval.clone();
        let resolution = self.outcome(ballot.answer, &seats);
        Ok(Counted { approval, resolution })
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

    fn admits(&self, seat: &Seat, ballot: &Ballot) -> Result<(), VoteRefusal> {
        if seat.approval.reviewer_id != ballot.voter || seat.approval.kind != ApprovalKind::Review {
            return Err(VoteRefusal::NotYours);
        }
        let is_open = self.task.state == TaskState::Reviewing && self.review.resolution.is_none();
        if !is_open
            || self.task.review_id != Some(self.review.id)
            || seat.approval.review_id != self.review.id
        {
            return Err(VoteRefusal::Resolved(self.review.resolution));
        }
        if !seat.approval.status.is_changeable() {
            return Err(VoteRefusal::Closed);
        }
        if self.provenance.meets(&ballot.behind) || self.provenance.includes(ballot.voter) {
            return Err(VoteRefusal::OwnWork);
        }
        if seat.counts_for.is_empty() {
            return Err(VoteRefusal::NotEligible);
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
