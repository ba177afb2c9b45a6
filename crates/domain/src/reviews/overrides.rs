//! Overrides: two admins instead of a quorum, or past what an approved task waits for (DECISIONS.md 30).

use std::collections::BTreeSet;

use super::{Case, Seat, VoteRefusal};
use crate::Id;
use crate::Timestamp;
use crate::accounts::{Account, AccountStatus};
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus, Priority};
use crate::delegations::Routing;
use crate::grants::{Grant, Skip};
use crate::organizations::MembershipLevel;
use crate::policies::Candidate;
use crate::tasks::{Behind, Task, TaskState};

/// Whether somebody may sign an override: an active person who is an admin of the organization.
#[must_use]
pub fn may_sign(candidate: &Candidate) -> bool {
    let is_person = candidate.access_level.is_person() && !candidate.is_agent;
    let is_admin = candidate.level.is_some_and(MembershipLevel::is_admin);
    candidate.status == AccountStatus::Active && is_person && is_admin
}

/// Somebody who is asked to sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signing {
    /// The request's id.
    pub id: Id<Approval>,
    /// Everybody who stands behind asking.
    pub asked_by: Behind,
    /// Whether the task goes to the head of the queue then.
    pub puts_first: bool,
    /// What it shall not wait for any more; nothing, where the review is skipped.
    pub skips: Vec<Id<Task>>,
}

impl Case {
    /// The admins who can give the second signature: all but whoever stands behind asking, and nobody who had a hand in
    /// the task. Those who were asked before are not asked again: to skip the review, or what the approved task waits
    /// for. Whoever was given their password or key by one of these is asked too: they can make one of their own.
    ///
    /// # Errors
    /// Whoever asks had a hand in it.
    pub fn signers(
        &self,
        (asker, behind): (Id<Account>, &Behind),
        admins: &[Candidate],
        is_about_skipping: bool,
    ) -> Result<BTreeSet<Id<Account>>, VoteRefusal> {
        if self.provenance.meets(behind) || self.provenance.includes(asker) {
            return Err(VoteRefusal::OwnWork);
        }
        let is_new = |account: Id<Account>| {
            !self.signatures(is_about_skipping).any(|seat| seat.approval.reviewer_id == account)
        };
        let may = |admin: &&Candidate| {
            let id = admin.account_id;
            // What the minter of the asker's credential signed would be refused whatever they sign with.
            let asks = id == asker || behind.iter().any(|one| one == id);
            may_sign(admin) && !asks && !self.provenance.includes(id) && is_new(id)
        };
        Ok(admins.iter().filter(may).map(|admin| admin.account_id).collect())
    }

    /// The requests for a second signature that there are: to skip the review, or what the approved task waits for.
    pub fn signatures(&self, is_about_skipping: bool) -> impl Iterator<Item = &Seat> {
        let is_one = move |seat: &&Seat| {
            seat.approval.kind == ApprovalKind::Override
                && seat.approval.is_about_skipping() == is_about_skipping
        };
        self.seats.iter().filter(is_one)
    }

    /// The request for the second signature.
    #[must_use]
    pub fn signature(&self, signer: Id<Account>, signing: &Signing, now: Timestamp) -> Approval {
        Approval {
            id: signing.id,
            org_id: self.review.org_id,
            task_id: self.review.task_id,
            review_id: self.review.id,
            kind: ApprovalKind::Override,
            reviewer_id: signer,
            status: ApprovalStatus::Pending,
            priority: Priority::Urgent,
            score: Priority::Urgent.score(self.review.risk_score),
            serves: Vec::new(),
            content_hash: self.review.content_hash,
            joined: false,
            delegated_to: None,
            delegation_chain: Vec::new(),
            routing: Routing {
                asked_by: signing.asked_by.iter().collect(),
                puts_first: signing.puts_first,
                skips: signing.skips.clone(),
                ..Routing::default()
            },
            due_at: None,
            acknowledged_at: None,
            response: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether a request to go past what the task waits for can be answered: the Grant it would be recorded on stands, and
    /// nobody has signed before.
    pub(super) fn may_be_skipped(&self, now: Timestamp) -> bool {
        let stands = |grant: &Grant| {
            grant.review_id == self.review.id
                && grant.voided_at.is_none()
                && grant.skip.is_none()
                && !grant.is_stale(now)
        };
        self.task.state == TaskState::Approved && self.grant.as_ref().is_some_and(stands)
    }

    /// The Grant with the second signature on it.
    pub(super) fn skipped(&self, approval: &Approval, by: Id<Account>, at: Timestamp) -> Option<Grant> {
        let prerequisites = approval.routing.skips.clone();
        let skip = Skip { prerequisites, approval_id: approval.id, signed_by: by, signed_at: at };
        self.grant.as_ref().map(|grant| grant.skipping(skip))
    }
}
