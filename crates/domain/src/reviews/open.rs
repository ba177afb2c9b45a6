//! Beginning a review.

use super::{PolicyClock, Review, Times};
use crate::accounts::Account;
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus, Priority};
use crate::delegations::Routing;
use crate::policies::Matched;
use crate::risk::Risk;
use crate::tasks::{Actor, Move, MoveRefusal, Task, next};
use crate::{Id, Timestamp};

/// What a review begins with.
#[derive(Clone, PartialEq, Debug)]
pub struct Opening {
    /// Its id.
    pub id: Id<Review>,
    /// What applies, pinned by it.
    pub policies: Vec<Matched>,
    /// How dangerous the task is now.
    pub risk: Risk,
    /// How long people have.
    pub times: Times,
    /// When.
    pub at: Timestamp,
}

/// Begins a review of the task as it is: after it was handed in, after an edit, or because what was approved no longer
/// holds.
///
/// # Errors
/// The move is not open to whoever makes it, or not from here.
pub fn open(
    task: &Task,
    wanted: Move,
    actor: Actor,
    opening: &Opening,
) -> Result<(Task, Review), MoveRefusal> {
    let state = next(task.state, wanted, actor)?;
    let review = Review {
        id: opening.id,
        org_id: task.org_id,
        task_id: task.id,
        revision: task.revision,
        content_hash: task.content_hash,
        effect_hash: task.effect_hash,
        risk_score: opening.risk.score,
        review_hash: Review::hash(
            task.content_hash,
            task.revision,
            task.effect_hash,
            opening.risk.score,
            &opening.policies,
        ),
        policies: opening.policies.clone(),
        clocks: opening
            .policies
            .iter()
            .map(|policy| PolicyClock::started(0, opening.times.of(policy), opening.at))
            .collect(),
        escalations: Vec::new(),
        resolution: None,
        resolved_at: None,
        resolved_by: None,
        created_at: opening.at,
    };
    let task = Task {
        review_id: Some(review.id),
        risk: opening.risk.clone(),
        approved_at: None,
        ..task.moved(state, opening.at)
    };
    Ok((task, review))
}

/// Somebody who is to be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its id.
    pub id: Id<Approval>,
    /// Who.
    pub reviewer: Id<Account>,
    /// For which of the policies, by place.
    pub serves: Vec<usize>,
    /// Whether they asked to be asked.
    pub joined: bool,
    /// Until when an answer is expected.
    pub due_at: Option<Timestamp>,
}

impl Review {
    /// A request in this review.
    #[must_use]
    pub fn request(&self, task: &Task, request: Request, now: Timestamp) -> Approval {
        let priority = Priority::of(task.priority);
        Approval {
            id: request.id,
            org_id: self.org_id,
            task_id: self.task_id,
            review_id: self.id,
            kind: ApprovalKind::Review,
            reviewer_id: request.reviewer,
            status: ApprovalStatus::Pending,
            priority,
            score: priority.score(self.risk_score),
            serves: request.serves,
            content_hash: self.content_hash,
            joined: request.joined,
            delegated_to: None,
            delegation_chain: Vec::new(),
            routing: Routing::default(),
            due_at: request.due_at,
            acknowledged_at: None,
            response: None,
            created_at: now,
            updated_at: now,
        }
    }
}
