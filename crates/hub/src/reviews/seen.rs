//! Reviews as they are shown.

use std::collections::BTreeMap;

use domain::Id;
use domain::approvals::Approval;
use domain::reviews::{Hall, Review, Summary, seats, summary};
use domain::tasks::{Provenance, Task};
use records::{Tx, approvals, reviews, task_revisions};

use super::case::load;
use super::people;
use crate::HubError;

/// A review, and how it stands now.
#[derive(Clone, Debug)]
pub struct ReviewSeen {
    /// The review.
    pub review: Review,
    /// How it stands.
    pub summary: Summary,
}

impl ReviewSeen {
    /// Whether it is open and cannot end with yes as things are.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.review.resolution.is_none() && !self.summary.reachable
    }
}

/// What reviews are shown by, each by its id.
struct Read {
    reviews: BTreeMap<Id<Review>, Review>,
    requests: BTreeMap<Id<Review>, Vec<Approval>>,
    provenances: BTreeMap<Id<Review>, Provenance>,
}

/// Each task's current or last review, as it stands now, in the same order. All are of one organization. Lists are long,
/// so what one statement can read of all of them is read by one.
pub(crate) async fn seen_all(tx: &mut Tx, tasks: &[Task]) -> Result<Vec<Option<ReviewSeen>>, HubError> {
    let ids: Vec<Id<Review>> = tasks.iter().filter_map(|task| task.review_id).collect();
    let Some(org) = tasks.first().map(|task| task.org_id).filter(|_| !ids.is_empty()) else {
        return Ok(tasks.iter().map(|_| None).collect());
    };
    let found = reviews::these(tx, org, &ids).await?;
    let provenances = task_revisions::reviewed(tx, org, &ids).await?;
    let mut read = Read {
        reviews: found.into_iter().map(|review| (review.id, review)).collect(),
        requests: approvals::of_reviews(tx, org, &ids).await?,
        provenances: provenances.into_iter().map(|one| (one.review_id, one.provenance)).collect(),
    };
    let asked = read.requests.values().flatten().map(|request| request.reviewer_id).collect();
    let people = people::standing(tx, org, asked).await?;
    let mut all = Vec::with_capacity(tasks.len());
    for task in tasks {
        let review = task.review_id.and_then(|id| read.reviews.remove(&id));
        all.push(match review {
            Some(review) => Some(seen(tx, task, review, (&mut read, &people)).await?),
            None => None,
        });
    }
    Ok(all)
}

async fn seen(
    tx: &mut Tx,
    task: &Task,
    review: Review,
    (read, people): (&mut Read, &BTreeMap<Id<domain::accounts::Account>, domain::policies::Candidate>),
) -> Result<ReviewSeen, HubError> {
    // What is shown goes by the last change, what is decided by the clock.
    let now = task.updated_at.max(review.created_at);
    let requests = read.requests.remove(&review.id).unwrap_or_default();
    // Passing on by a delegation is rare, and takes more to look at.
    if requests.iter().any(|request| request.routing.delegations().next().is_some()) {
        let case = load(tx, task.clone(), review, (false, now)).await?;
        let summary = summary(&case.review, &case.seats, &case.provenance);
        return Ok(ReviewSeen { review: case.review, summary });
    }
    let provenance = read.provenances.remove(&review.id);
    let provenance = provenance.ok_or(records::Error::Misbehaved("the revision of a review is missing"))?;
    let hall = Hall {
        policies: &review.policies,
        people,
        delegations: &BTreeMap::new(),
        matter: None,
        provenance: &provenance,
        now,
    };
    let summary = summary(&review, &seats(requests, &hall), &provenance);
    Ok(ReviewSeen { review, summary })
}
