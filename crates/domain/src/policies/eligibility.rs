//! Who may answer for a policy. Asked when requests are made, when a vote is cast, and by the gate.

use super::Quorum;
use crate::Id;
use crate::accounts::{AccessLevel, Account, AccountStatus};
use crate::members::HeldRole;
use crate::organizations::MembershipLevel;
use crate::roles;
use crate::tasks::{Behind, Provenance};

/// Somebody who might answer, as they stand now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Who.
    pub account_id: Id<Account>,
    /// Whether they may act.
    pub status: AccountStatus,
    /// A person or a program.
    pub access_level: AccessLevel,
    /// What they are to the organization; none: nothing.
    pub level: Option<MembershipLevel>,
    /// What they hold there.
    pub roles: Vec<HeldRole>,
    /// Whether this is an agent.
    pub is_agent: bool,
    /// Who answers for it if it is, one after the other.
    pub owners: Vec<Id<Account>>,
}

/// Why somebody may answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Because {
    /// The policy names them.
    Named,
    /// They hold a role that the policy asks for.
    Role(String),
    /// They are an admin who joined, and the policy counts those.
    Joined,
}

/// Why somebody may not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ineligible {
    /// Suspended, or gone.
    #[error("the account is not active")]
    NotActive,
    /// No member of the organization.
    #[error("the account is no member of the organization")]
    NotAMember,
    /// Nobody decides on what they had a hand in.
    #[error("they had a hand in the task")]
    InProvenance,
    /// The policy wants people.
    #[error("the policy does not let services decide")]
    IsService,
    /// They hold the role only because they gave it to themselves.
    #[error("they gave the role to themselves")]
    RoleFromThemselves,
    /// The policy means others.
    #[error("the policy neither names them nor asks for a role they hold")]
    NotMeant,
}

/// Whether somebody may answer for a policy, and why.
///
/// # Errors
/// Why not. A policy that means nobody is answered by nobody.
pub fn eligible(
    quorum: &Quorum,
    candidate: &Candidate,
    provenance: &Provenance,
) -> Result<Because, Ineligible> {
    may_act(quorum, candidate, provenance)?;
    if quorum.reviewers.contains(&candidate.account_id) {
        return Ok(Because::Named);
    }
    let is_admin = candidate.level.is_some_and(MembershipLevel::is_admin);
    if is_admin && asks_for(quorum, roles::ADMIN) {
        return Ok(Because::Role(roles::ADMIN.to_owned()));
    }
    let mut asked =
        candidate.roles.iter().filter(|held| held.role != roles::ADMIN && asks_for(quorum, &held.role));
    match asked.clone().find(|held| held.counts_for(candidate.account_id)) {
        Some(held) => Ok(Because::Role(held.role.clone())),
        None if asked.next().is_some() => Err(Ineligible::RoleFromThemselves),
        None => Err(Ineligible::NotMeant),
    }
}

/// Whether somebody who joined the review, without being asked, counts for a policy: whom it means counts anyway, and
/// admins where it says so.
///
/// # Errors
/// Why not.
pub fn eligible_by_joining(
    quorum: &Quorum,
    candidate: &Candidate,
    provenance: &Provenance,
) -> Result<Because, Ineligible> {
    may_act(quorum, candidate, provenance)?;
    let is_admin = candidate.level.is_some_and(MembershipLevel::is_admin);
    if is_admin && quorum.admins_count {
        return Ok(Because::Joined);
    }
    eligible(quorum, candidate, provenance)
}

/// Whether somebody whom the policy's escalation list names counts for it.
///
/// # Errors
/// Why not.
pub fn eligible_by_escalation(
    quorum: &Quorum,
    candidate: &Candidate,
    provenance: &Provenance,
) -> Result<Because, Ineligible> {
    may_act(quorum, candidate, provenance).map(|()| Because::Named)
}

fn asks_for(quorum: &Quorum, role: &str) -> bool {
    quorum.required_roles.iter().any(|required| required == role)
}

fn may_act(quorum: &Quorum, candidate: &Candidate, provenance: &Provenance) -> Result<(), Ineligible> {
    if candidate.status != AccountStatus::Active {
        return Err(Ineligible::NotActive);
    }
    if candidate.level.is_none() {
        return Err(Ineligible::NotAMember);
    }
    let behind = Behind::act(candidate.account_id, &candidate.owners, candidate.account_id);
    if provenance.meets(&behind) {
        return Err(Ineligible::InProvenance);
    }
    let is_program = candidate.is_agent || !candidate.access_level.is_person();
    if is_program && !quorum.allow_service_reviewers { Err(Ineligible::IsService) } else { Ok(()) }
}
