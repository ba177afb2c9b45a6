//! Who may answer for an agent.

use super::OWNERS_MAX;
use crate::Id;
use crate::accounts::Account;

/// One of those who answer for an agent: its owner, the owner's owner, up to one that is no agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answerer {
    /// Which account.
    pub id: Id<Account>,
    /// Whether it is an active member of the organization, and, if it is an agent, not retired.
    pub may_act: bool,
}

/// Why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OwnerRefusal {
    /// Nobody answers for itself.
    #[error("an agent cannot answer for itself")]
    Itself,
    /// Nobody answers for who answers for it.
    #[error("this account is answered for by the agent itself")]
    Cycle,
    /// Not there, or not able to act.
    #[error("is not an active member of the organization")]
    NotAMember,
    /// Somebody further up is not able to act.
    #[error("nobody who may act answers for this account")]
    Unanswered,
    /// Too many stand in between.
    #[error("more than {OWNERS_MAX} owners would stand above the agent")]
    TooLong,
}

/// Whether the first of this line may own the agent; the others are who answers for it in turn.
pub fn may_own(agent: Id<Account>, line: &[Answerer]) -> Result<(), OwnerRefusal> {
    let Some((owner, above)) = line.split_first() else { return Err(OwnerRefusal::NotAMember) };
    if owner.id == agent {
        return Err(OwnerRefusal::Itself);
    }
    if !owner.may_act {
        return Err(OwnerRefusal::NotAMember);
    }
    if above.iter().any(|answerer| answerer.id == agent) {
        return Err(OwnerRefusal::Cycle);
    }
    if line.len() > OWNERS_MAX {
        return Err(OwnerRefusal::TooLong);
    }
    if above.iter().all(|answerer| answerer.may_act) { Ok(()) } else { Err(OwnerRefusal::Unanswered) }
}
