//! Everything a vote is decided on, read in the unit that takes it.

use domain::approvals::{Approval, ApprovalStatus};
use domain::reviews::{Case, Review, Seat, counts_for};
use domain::tasks::{Revision, Task};
use records::{Tx, accounts, approvals, members, reviews, task_revisions};

use super::people;
use crate::HubError;

/// The task's current or last review.
pub(crate) async fn of_task(tx: &mut Tx, task: &Task) -> Result<Option<Review>, HubError> {
    match task.review_id {
        Some(id) => Ok(reviews::get(tx, task.org_id, id).await?),
        None => Ok(None),
    }
}

/// The case of a review. `holds` keeps those whose yes is counted from changing until the unit ends.
pub(crate) async fn load(tx: &mut Tx, task: Task, review: Review, holds: bool) -> Result<Case, HubError> {
    let org = task.org_id;
    let requests = approvals::of_review(tx, org, review.id).await?;
    if holds {
        hold_voters(tx, &task, &requests).await?;
    }
    let provenance = reviewed(tx, &task, &review).await?.provenance;
    let people = people::asked(tx, org, review.id).await?;
    let seat = |approval: Approval| {
        let person = people.get(&approval.reviewer_id);
        Seat { counts_for: counts_for(&review.policies, &approval, person, &provenance), approval }
    };
    let seats = requests.into_iter().map(seat).collect();
    Ok(Case { task, review, provenance, seats })
}

/// What is reviewed.
pub(super) async fn reviewed(tx: &mut Tx, task: &Task, review: &Review) -> Result<Revision, HubError> {
    let revision = task_revisions::get(tx, task.org_id, task.id, review.revision).await?;
    Ok(revision.ok_or(records::Error::Misbehaved("the revision of a review is missing"))?)
}

/// Whoever loses a role or an account while their yes is being counted waits until it is, or it is counted without them.
async fn hold_voters(tx: &mut Tx, task: &Task, requests: &[Approval]) -> Result<(), HubError> {
    let voters = requests.iter().filter(|approval| approval.status == ApprovalStatus::Approved);
    let mut voters: Vec<_> = voters.map(|approval| approval.reviewer_id).collect();
    voters.sort_unstable();
    for voter in voters {
        accounts::get_shared(tx, voter).await?;
        members::get_shared(tx, task.org_id, voter).await?;
    }
    Ok(())
}
