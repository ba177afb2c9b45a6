//! Everything a vote is decided on, read in the unit that takes it.

use std::collections::{BTreeMap, BTreeSet};

use domain::approvals::{Approval, ApprovalStatus};
use domain::delegations::{Delegation, Matter};
use domain::organizations::Organization;
use domain::reviews::{Case, Hall, Review, Seat, seats};
use domain::tasks::{Revision, Task};
use domain::{Id, Timestamp};
use records::{Tx, approvals, delegations, grants, members, reviews, task_revisions};

use super::people;
use crate::HubError;
use crate::tasks::current_config;

/// The task's current or last review.
pub(crate) async fn of_task(tx: &mut Tx, task: &Task) -> Result<Option<Review>, HubError> {
    match task.review_id {
        Some(id) => Ok(reviews::get(tx, task.org_id, id).await?),
        None => Ok(None),
    }
}

/// The case of a review, as of this time. `holds` keeps those whose yes is counted, and the delegations by which requests
/// were passed on, from changing until the unit ends.
pub(crate) async fn load(
    tx: &mut Tx,
    task: Task,
    review: Review,
    (holds, now): (bool, Timestamp),
) -> Result<Case, HubError> {
    let org = task.org_id;
    let requests = approvals::of_review(tx, org, review.id).await?;
    if holds {
        hold_voters(tx, &task, &requests).await?;
    }
    let revision = reviewed(tx, &task, &review).await?;
    let people = people::asked(tx, org, review.id).await?;
    let delegations = used(tx, org, &requests, holds).await?;
    let matter = match delegations.is_empty() {
        true => None,
        false => Some(matter(&revision, &review)?),
    };
    let hall = Hall {
        policies: &review.policies,
        people: &people,
        delegations: &delegations,
        matter: matter.as_ref(),
        provenance: &revision.provenance,
        now,
    };
    let seats = seats(requests, &hall);
    let asks_to_skip = |seat: &Seat| seat.approval.is_about_skipping();
    let grant = match seats.iter().any(asks_to_skip) {
        // It changes in units that hold the task.
        true => grants::standing(tx, org, task.id).await?,
        false => None,
    };
    Ok(Case { task, review, provenance: revision.provenance, seats, grant })
}

/// Every delegation that the requests name. Where nobody delegated, nothing is read.
async fn used(
    tx: &mut Tx,
    org: Id<Organization>,
    requests: &[Approval],
    holds: bool,
) -> Result<BTreeMap<Id<Delegation>, Delegation>, HubError> {
    let named: BTreeSet<Id<Delegation>> =
        requests.iter().flat_map(|request| request.routing.delegations()).collect();
    let mut used = BTreeMap::new();
    for id in named {
        let found = match holds {
            true => delegations::get_shared(tx, org, id).await?,
            false => delegations::get(tx, org, id).await?,
        };
        used.extend(found.map(|found| (id, found)));
    }
    Ok(used)
}

fn matter(revision: &Revision, review: &Review) -> Result<Matter, HubError> {
    let config = current_config(revision)?;
    Ok(Matter::new(&config.task_type, &config.resources, review.risk_score))
}

/// What the conditions of delegations are asked of.
pub(super) async fn matter_of(tx: &mut Tx, task: &Task, review: &Review) -> Result<Matter, HubError> {
    matter(&reviewed(tx, task, review).await?, review)
}

/// What is reviewed.
pub(super) async fn reviewed(tx: &mut Tx, task: &Task, review: &Review) -> Result<Revision, HubError> {
    let revision = task_revisions::get(tx, task.org_id, task.id, review.revision).await?;
    Ok(revision.ok_or(records::Error::Misbehaved("the revision of a review is missing"))?)
}

/// Whoever loses a role or an account while their yes is being counted waits until it is, or it is counted without them.
async fn hold_voters(tx: &mut Tx, task: &Task, requests: &[Approval]) -> Result<(), HubError> {
    // Whoever passed a request on is looked at too: the yes of who decides in their place is as good as theirs would be.
    let counts = [ApprovalStatus::Approved, ApprovalStatus::Delegated];
    let voters = requests.iter().filter(|approval| counts.contains(&approval.status));
    let mut voters: Vec<_> = voters.map(|approval| approval.reviewer_id).collect();
    voters.sort_unstable();
    for voter in voters {
        members::hold(tx, task.org_id, voter).await?;
    }
    Ok(())
}
