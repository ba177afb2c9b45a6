//! How a review stands, in numbers and words.

use std::collections::BTreeSet;

use super::{PolicyTally, Resolution, Review, Seat, tally};
use crate::approvals::{ApprovalKind, ApprovalStatus};
use crate::policies::Matched;
use crate::tasks::Provenance;

/// How a review stands (APPR-14).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The largest number of people that one policy asks for.
    pub required_count: u32,
    /// How many people said yes.
    pub approved_count: u32,
    /// How many said no.
    pub rejected_count: u32,
    /// How many have not answered.
    pub pending_count: u32,
    /// Whether every policy is content.
    pub quorum_reached: bool,
    /// Whether every policy still can be.
    pub reachable: bool,
    /// What is missing, policy by policy, in words.
    pub missing: Vec<String>,
    /// How far each policy has come.
    pub tallies: Vec<PolicyTally>,
}

/// How the review stands, with these answers.
#[must_use]
pub fn summary(review: &Review, seats: &[Seat], provenance: &Provenance) -> Summary {
    let tallies = tally(&review.policies, seats, provenance);
    let with = |status: ApprovalStatus| {
        let people: BTreeSet<_> = seats
            .iter()
            .filter(|seat| seat.approval.status == status && seat.approval.kind == ApprovalKind::Review)
            .map(|seat| seat.approval.reviewer_id)
            .collect();
        u32::try_from(people.len()).unwrap_or(u32::MAX)
    };
    let is_yes =
        matches!(review.resolution, Some(Resolution::Quorum | Resolution::Auto | Resolution::Override));
    let is_open = review.resolution.is_none();
    let missing = review.policies.iter().zip(&tallies).filter(|(_, tally)| is_open && !tally.is_met());
    Summary {
        required_count: tallies.iter().map(|tally| tally.required).max().unwrap_or(0),
        approved_count: with(ApprovalStatus::Approved),
        rejected_count: with(ApprovalStatus::Rejected),
        pending_count: with(ApprovalStatus::Pending),
        quorum_reached: is_yes || (is_open && !tallies.is_empty() && tallies.iter().all(PolicyTally::is_met)),
        reachable: is_yes || (is_open && tallies.iter().all(PolicyTally::is_reachable)),
        missing: missing.map(|(policy, tally)| wanting(policy, tally)).collect(),
        tallies,
    }
}

/// What a policy lacks, in words.
#[must_use]
pub fn wanting(policy: &Matched, tally: &PolicyTally) -> String {
    let more = tally.required.saturating_sub(tally.approved);
    let people = if more == 1 { "1 more person".to_owned() } else { format!("{more} more people") };
    let from = match policy.quorum.required_roles.as_slice() {
        [] => String::new(),
        roles => format!(" ({})", roles.join(" or ")),
    };
    let hope = if tally.is_reachable() { "" } else { ", and nobody is left who could" };
    format!("{}: {people}{from} must approve{hope}", policy.name)
}
