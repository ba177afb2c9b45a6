//! The life of a task: what may be done in which state, by whom, and where it leads.
//!
//! **Invariant:** no other code names a task's next state. What a move needs beside state and actor (a Grant, a quorum)
//! is decided by whoever makes the move: [`crate::reviews`] and [`crate::gate`].

use super::TaskState;

/// What somebody, or the hub itself, does to a task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Move {
    /// Change what it will do, or what it depends on.
    Edit,
    /// Change what is said about it.
    Describe,
    /// Attach a preview.
    AttachPreview,
    /// Take a draft away.
    Delete,
    /// Hand it in.
    Submit,
    /// Its preview is there: ask the reviewers.
    BeginReview,
    /// Its preview shows errors.
    ReturnToDraft,
    /// Say something about it.
    Comment,
    /// Give it up.
    Cancel,
    /// Make a new draft of it.
    Resubmit,
    /// An admin who was not asked takes part in the review.
    JoinReview,
    /// An admin asks another to end the review with yes.
    Override,
    /// An admin puts it before all others that wait for an agent.
    PutFirst,
    /// The review ends with yes.
    Approve,
    /// The review ends with no.
    Reject,
    /// A reviewer wants it changed.
    RequestChanges,
    /// Take a yes back.
    Withdraw,
    /// What was approved no longer holds: its effect changed, or its Grant grew too old.
    ReviewAgain,
    /// An attempt begins.
    Start,
    /// An attempt failed, and another may follow.
    Retry,
    /// An attempt succeeded.
    Complete,
    /// The last attempt failed.
    Fail,
}

impl Move {
    /// Every move.
    pub const ALL: [Self; 22] = [
        Self::Edit,
        Self::Describe,
        Self::AttachPreview,
        Self::Delete,
        Self::Submit,
        Self::BeginReview,
        Self::ReturnToDraft,
        Self::Comment,
        Self::Cancel,
        Self::Resubmit,
        Self::JoinReview,
        Self::Override,
        Self::PutFirst,
        Self::Approve,
        Self::Reject,
        Self::RequestChanges,
        Self::Withdraw,
        Self::ReviewAgain,
        Self::Start,
        Self::Retry,
        Self::Complete,
        Self::Fail,
    ];

    /// In the middle of a sentence: "a task that is COMPLETED cannot be …".
    #[must_use]
    pub const fn participle(self) -> &'static str {
        match self {
            Self::Edit => "edited",
            Self::Describe => "described anew",
            Self::AttachPreview => "given a preview",
            Self::Delete => "deleted",
            Self::Submit => "submitted",
            Self::BeginReview | Self::JoinReview => "reviewed",
            Self::ReturnToDraft => "returned",
            Self::Comment => "commented",
            Self::Cancel => "cancelled",
            Self::Resubmit => "resubmitted",
            Self::Override => "overridden",
            Self::PutFirst => "put first",
            Self::Approve => "approved",
            Self::Reject => "rejected",
            Self::RequestChanges => "sent back",
            Self::Withdraw => "withdrawn",
            Self::ReviewAgain => "reviewed again",
            Self::Start => "applied",
            Self::Retry => "retried",
            Self::Complete => "completed",
            Self::Fail => "failed",
        }
    }
}

impl Move {
    /// Who makes it, for those who may not.
    const fn whose(self) -> &'static str {
        match self {
            Self::Edit | Self::Describe | Self::Delete | Self::Submit | Self::Cancel | Self::Resubmit => {
                "only the author of a task and admins of the organization do this"
            }
            Self::AttachPreview => "only the author of a task attaches a preview to it",
            Self::JoinReview => "only an admin of the organization joins a review unasked",
            Self::Override => "only an admin of the organization asks for an override",
            Self::PutFirst => "only an admin of the organization puts a task first",
            Self::Approve | Self::Reject | Self::RequestChanges => {
                "only whoever is asked answers for themselves"
            }
            Self::Withdraw => "only one who approved it, or an admin, takes an approval back",
            Self::Comment
            | Self::BeginReview
            | Self::ReturnToDraft
            | Self::ReviewAgain
            | Self::Start
            | Self::Retry
            | Self::Complete
            | Self::Fail => "the hub alone does this",
        }
    }
}

/// What whoever makes a move is to the task. One person can be several of these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Actor {
    /// Whether they proposed it.
    pub is_author: bool,
    /// Whether they were asked in its current review, or in the one that approved it.
    pub is_reviewer: bool,
    /// Whether they are an admin of its organization.
    pub is_admin: bool,
    /// Whether it is the hub itself, by rules of its own.
    pub is_hub: bool,
}

impl Actor {
    /// The hub, by its own rules.
    pub const HUB: Self = Self { is_author: false, is_reviewer: false, is_admin: false, is_hub: true };
}

/// Why a move is not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MoveRefusal {
    /// Not from here.
    #[error("a task that is {} cannot be {}", state.as_str(), wanted.participle())]
    WrongState {
        /// Where it stands.
        state: TaskState,
        /// What was wanted.
        wanted: Move,
    },
    /// Not by them.
    #[error("{}", wanted.whose())]
    NotYours {
        /// What was wanted.
        wanted: Move,
    },
}

/// Where the move leads. A move that changes no state leads where the task is; a task that is deleted or resubmitted
/// stays what it was.
pub fn next(state: TaskState, wanted: Move, actor: Actor) -> Result<TaskState, MoveRefusal> {
    if !may(wanted, actor) {
        return Err(MoveRefusal::NotYours { wanted });
    }
    leads_to(state, wanted).ok_or(MoveRefusal::WrongState { state, wanted })
}

/// Who (PERM-01 to PERM-05, X-17, X-18).
const fn may(wanted: Move, actor: Actor) -> bool {
    match wanted {
        Move::Comment => true,
        Move::AttachPreview => actor.is_author,
        Move::Describe | Move::Delete | Move::Submit | Move::Resubmit => actor.is_author || actor.is_admin,
        // The hub edits what waited for a task that was resubmitted.
        Move::Edit | Move::Cancel => actor.is_author || actor.is_admin || actor.is_hub,
        Move::JoinReview | Move::Override | Move::PutFirst => actor.is_admin,
        Move::Approve => actor.is_reviewer || actor.is_hub,
        Move::Reject => actor.is_reviewer || actor.is_hub,
        Move::RequestChanges => actor.is_reviewer,
        Move::Withdraw => actor.is_reviewer || actor.is_admin,
        Move::BeginReview
        | Move::ReturnToDraft
        | Move::ReviewAgain
        | Move::Start
        | Move::Retry
        | Move::Complete
        | Move::Fail => actor.is_hub,
    }
}

/// From where to where (DESIGN.md 2).
const fn leads_to(state: TaskState, wanted: Move) -> Option<TaskState> {
    use TaskState::{
        Applying, Approved, Cancelled, Completed, Draft, Failed, Rejected, Reviewing, Submitted,
    };
    Some(match (wanted, state) {
        (Move::Comment, same) => same,
        (Move::Edit | Move::Describe, Draft | Reviewing) => state,
        (Move::AttachPreview | Move::Delete, Draft) => Draft,
        (Move::Submit, Draft) => Submitted,
        (Move::BeginReview, Submitted) => Reviewing,
        (Move::ReturnToDraft, Submitted) => Draft,
        (Move::Cancel, Draft | Submitted | Reviewing | Approved) => Cancelled,
        (Move::Resubmit, Rejected | Cancelled | Failed) => state,
        (Move::JoinReview | Move::Override, Reviewing) => Reviewing,
        (Move::PutFirst, Approved) => Approved,
        (Move::Approve, Reviewing) => Approved,
        (Move::Reject, Reviewing) => Rejected,
        (Move::RequestChanges, Reviewing) => Draft,
        (Move::Withdraw, Approved) => Rejected,
        (Move::ReviewAgain, Approved) => Reviewing,
        (Move::Start, Approved) => Applying,
        (Move::Retry, Applying) => Approved,
        (Move::Complete, Applying) => Completed,
        (Move::Fail, Applying) => Failed,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskState::{
        Applying, Approved, Cancelled, Completed, Draft, Failed, Rejected, Reviewing, Submitted,
    };

    const NOBODY: Actor = Actor { is_author: false, is_reviewer: false, is_admin: false, is_hub: false };
    const AUTHOR: Actor = Actor { is_author: true, ..NOBODY };
    const REVIEWER: Actor = Actor { is_reviewer: true, ..NOBODY };
    const ADMIN: Actor = Actor { is_admin: true, ..NOBODY };
    const ROLES: [(&str, Actor); 5] = [
        ("member", NOBODY),
        ("author", AUTHOR),
        ("reviewer", REVIEWER),
        ("admin", ADMIN),
        ("hub", Actor::HUB),
    ];

    type Arrows = Vec<(TaskState, TaskState)>;

    /// The whole table, written a second time, by hand: each move with who makes it and which arrows it is.
    fn expected() -> Vec<(Move, &'static [&'static str], Arrows)> {
        const EVERYBODY: &[&str] = &["member", "author", "reviewer", "admin", "hub"];
        const OWNERS: &[&str] = &["author", "admin"];
        const HUB: &[&str] = &["hub"];
        let all = TaskState::ALL.into_iter().map(|state| (state, state)).collect();
        vec![
            (Move::Edit, &["author", "admin", "hub"], vec![(Draft, Draft), (Reviewing, Reviewing)]),
            (Move::Describe, OWNERS, vec![(Draft, Draft), (Reviewing, Reviewing)]),
            (Move::AttachPreview, &["author"], vec![(Draft, Draft)]),
            (Move::Delete, OWNERS, vec![(Draft, Draft)]),
            (Move::Submit, OWNERS, vec![(Draft, Submitted)]),
            (Move::BeginReview, HUB, vec![(Submitted, Reviewing)]),
            (Move::ReturnToDraft, HUB, vec![(Submitted, Draft)]),
            (Move::Comment, EVERYBODY, all),
            (
                Move::Cancel,
                &["author", "admin", "hub"],
                [Draft, Submitted, Reviewing, Approved].map(|from| (from, Cancelled)).to_vec(),
            ),
            (Move::Resubmit, OWNERS, vec![(Rejected, Rejected), (Cancelled, Cancelled), (Failed, Failed)]),
            (Move::JoinReview, &["admin"], vec![(Reviewing, Reviewing)]),
            (Move::Override, &["admin"], vec![(Reviewing, Reviewing)]),
            (Move::PutFirst, &["admin"], vec![(Approved, Approved)]),
            (Move::Approve, &["reviewer", "hub"], vec![(Reviewing, Approved)]),
            (Move::Reject, &["reviewer", "hub"], vec![(Reviewing, Rejected)]),
            (Move::RequestChanges, &["reviewer"], vec![(Reviewing, Draft)]),
            (Move::Withdraw, &["reviewer", "admin"], vec![(Approved, Rejected)]),
            (Move::ReviewAgain, HUB, vec![(Approved, Reviewing)]),
            (Move::Start, HUB, vec![(Approved, Applying)]),
            (Move::Retry, HUB, vec![(Applying, Approved)]),
            (Move::Complete, HUB, vec![(Applying, Completed)]),
            (Move::Fail, HUB, vec![(Applying, Failed)]),
        ]
    }

    #[test]
    fn every_state_move_and_role() {
        let expected = expected();
        assert_eq!(expected.iter().map(|(wanted, ..)| *wanted).collect::<Vec<_>>(), Move::ALL);
        for (wanted, makers, arrows) in expected {
            for state in TaskState::ALL {
                for (name, actor) in ROLES {
                    let arrow = arrows.iter().find(|(from, _)| *from == state);
                    let right = match (makers.contains(&name), arrow) {
                        (false, _) => Err(MoveRefusal::NotYours { wanted }),
                        (true, None) => Err(MoveRefusal::WrongState { state, wanted }),
                        (true, Some((_, to))) => Ok(*to),
                    };
                    assert_eq!(next(state, wanted, actor), right, "{wanted:?} of {state:?} by {name}");
                }
            }
        }
    }

    #[test]
    fn one_move_leads_to_applying_and_nothing_leads_out_of_the_end() {
        for state in TaskState::ALL {
            for wanted in Move::ALL {
                let Some(to) = leads_to(state, wanted) else { continue };
                if to == Applying && state != Applying {
                    assert_eq!((state, wanted), (Approved, Move::Start));
                }
                if to == Approved && state != Approved {
                    assert!(matches!((state, wanted), (Reviewing, Move::Approve) | (Applying, Move::Retry)));
                }
                assert!(!state.is_final() || to == state, "{wanted:?} leads out of {state:?}");
            }
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let wrong = next(Completed, Move::Cancel, AUTHOR).unwrap_err();
        assert_eq!(wrong.to_string(), "a task that is COMPLETED cannot be cancelled");
        let not_yours = next(Draft, Move::Submit, REVIEWER).unwrap_err();
        assert_eq!(not_yours.to_string(), "only the author of a task and admins of the organization do this");
        assert_eq!(next(Approved, Move::Start, ADMIN).unwrap_err().to_string(), "the hub alone does this");
    }
}
