//! What somebody may do with a whole task as it stands. Asked of the very rules that would let them, so that what is
//! offered and what is taken cannot drift apart.

use domain::executions::RollbackRefusal;
use domain::permissions::Capability;
use domain::tasks::{Actor, Move, TaskState, next};

use super::change::read_config;
use super::withdraw::is_approver;
use super::{Dossier, actor, refused};
use crate::executions::{rollback, rollback_refused};
use crate::identity::credential::Credential;
use crate::{Caller, HubError};

/// Something that is done with a whole task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Hand it in.
    Submit,
    /// Give it up.
    Cancel,
    /// Make a new draft of it.
    Resubmit,
    /// Take its approval back.
    Withdraw,
    /// Ask another admin to end its review with yes.
    Override,
    /// Put it first; where it is not approved yet, with an override.
    ForceApply,
    /// Have what its last attempt began undone.
    Undo,
}

impl Offer {
    /// All of them, the usual before the unusual.
    pub const ALL: [Self; 7] = [
        Self::Submit,
        Self::Resubmit,
        Self::Cancel,
        Self::Withdraw,
        Self::Override,
        Self::ForceApply,
        Self::Undo,
    ];

    /// What whoever does it must be allowed.
    pub(crate) const fn needs(self) -> Capability {
        match self {
            Self::Submit | Self::Cancel | Self::Resubmit | Self::Undo => Capability::TasksWrite,
            Self::Withdraw => Capability::ApprovalsDecide,
            Self::Override => Capability::TasksOverride,
            Self::ForceApply => Capability::TasksForceApply,
        }
    }

    /// Which move of a task it is.
    pub(crate) const fn of(self, state: TaskState) -> Move {
        match (self, state) {
            (Self::Submit, _) => Move::Submit,
            (Self::Cancel, _) => Move::Cancel,
            // Whoever may make a failed task anew may also have it undone.
            (Self::Resubmit | Self::Undo, _) => Move::Resubmit,
            (Self::Withdraw, _) => Move::Withdraw,
            (Self::Override, _) | (Self::ForceApply, TaskState::Reviewing) => Move::Override,
            (Self::ForceApply, _) => Move::PutFirst,
        }
    }
}

impl Dossier {
    /// Whether the caller may do it with the task as it is here, or why not.
    pub fn may(&self, caller: &Caller, offer: Offer) -> Result<(), HubError> {
        caller.require(offer.needs())?;
        let task = &self.seen.task;
        if offer == Offer::Undo {
            self.may_be_undone(&caller.credential)?;
        }
        let requests = self.seats.iter().map(|seat| &seat.approval);
        let is_reviewer = is_approver(requests, caller.credential.account.id);
        let who = Actor { is_reviewer, ..actor(&caller.credential, task) };
        next(task.state, offer.of(task.state), who).map(drop).map_err(refused)
    }

    fn may_be_undone(&self, credential: &Credential) -> Result<(), HubError> {
        let task = &self.seen.task;
        let Some(newest) = &self.seen.execution else {
            return Err(rollback_refused(RollbackRefusal::NotFailed(task.state)));
        };
        let config = read_config(&self.seen.config)?;
        let last = (newest.id, config.rollback_strategy);
        rollback(credential, (task, newest), last, newest.updated_at).map(drop)
    }
}
