//! Ending a review: the one place where a Grant is made.

use std::time::Duration;

use super::{Resolution, Review};
use crate::accounts::Account;
use crate::grants::{Basis, Grant, PolicyVersion};
use crate::policies::Matched;
use crate::tasks::{Actor, Move, MoveRefusal, Task, next};
use crate::{Id, Timestamp};

/// What the Grant of a review that ends with yes is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Its id.
    pub id: Id<Grant>,
    /// How many attempts the approved bytes ask for.
    pub attempts: u32,
    /// How long it waits for the first (`approval:validity`).
    pub validity: Duration,
}

/// How a review ends, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ending {
    /// How.
    pub resolution: Resolution,
    /// Whose answer it was; none: the hub's rules.
    pub by: Option<Id<Account>>,
    /// What they are to the task.
    pub actor: Actor,
    /// When.
    pub at: Timestamp,
}

/// A review that has ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// The task, where the end leads it.
    pub task: Task,
    /// The review, closed.
    pub review: Review,
    /// The Grant: a new one if the end is yes, the voided one if a yes was taken back.
    pub grant: Option<Grant>,
}

/// Ends an open review.
///
/// # Errors
/// The task is not being reviewed, or not by them.
pub fn end(task: &Task, review: &Review, ending: Ending, terms: Terms) -> Result<Ended, MoveRefusal> {
    let wanted = match ending.resolution {
        Resolution::Quorum | Resolution::Auto | Resolution::Override => Move::Approve,
        Resolution::ChangesRequested => Move::RequestChanges,
        Resolution::Rejected | Resolution::Timeout | Resolution::Withdrawn | Resolution::Superseded => {
            Move::Reject
        }
    };
    let state = next(task.state, wanted, ending.actor)?;
    let grant = basis(ending.resolution).map(|basis| mint(task, review, basis, terms, ending.at));
    let task = Task {
        approved_at: grant.as_ref().map(|_| ending.at).or(task.approved_at),
        ..task.moved(state, ending.at)
    };
    Ok(Ended { task, review: review.closed(ending.resolution, ending.by, ending.at), grant })
}

/// Takes a yes back: the Grant is void and the task rejected.
///
/// # Errors
/// The task is not approved, or not by them.
pub fn withdraw(task: &Task, review: &Review, grant: &Grant, ending: Ending) -> Result<Ended, MoveRefusal> {
    let state = next(task.state, Move::Withdraw, ending.actor)?;
    Ok(Ended {
        task: task.moved(state, ending.at),
        review: review.closed(Resolution::Withdrawn, ending.by, ending.at),
        grant: Some(grant.voided(ending.at)),
    })
}

impl Review {
    /// The review, over.
    #[must_use]
    pub fn closed(&self, resolution: Resolution, by: Option<Id<Account>>, at: Timestamp) -> Self {
        Self { resolution: Some(resolution), resolved_at: Some(at), resolved_by: by, ..self.clone() }
    }
}

const fn basis(resolution: Resolution) -> Option<Basis> {
    match resolution {
        Resolution::Quorum => Some(Basis::Quorum),
        Resolution::Auto => Some(Basis::Auto),
        Resolution::Override => Some(Basis::Override),
        Resolution::Rejected
        | Resolution::ChangesRequested
        | Resolution::Timeout
        | Resolution::Withdrawn
        | Resolution::Superseded => None,
    }
}

fn mint(task: &Task, review: &Review, basis: Basis, terms: Terms, now: Timestamp) -> Grant {
    let version =
        |matched: &Matched| PolicyVersion { policy_id: matched.policy_id, version: matched.version };
    Grant {
        id: terms.id,
        org_id: task.org_id,
        task_id: task.id,
        review_id: review.id,
        revision: review.revision,
        content_hash: review.content_hash,
        effect_hash: review.effect_hash,
        policy_versions: review.policies.iter().map(version).collect(),
        basis,
        attempts: terms.attempts,
        attempts_started: 0,
        valid_until: now.plus(terms.validity),
        skip: None,
        voided_at: None,
        created_at: now,
        updated_at: now,
    }
}
