//! Counting: what the answers of a review amount to.

use std::collections::{BTreeMap, BTreeSet};

use crate::Id;
use crate::accounts::Account;
use crate::approvals::{Approval, ApprovalKind, ApprovalStatus};
use crate::policies::{Matched, RejectOn};
use crate::tasks::Provenance;

/// A request, and what an answer to it counts for today.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The request.
    pub approval: Approval,
    /// Those of the policies for which its reviewer may answer now, for themselves or in another's place.
    pub counts_for: Vec<usize>,
    /// Those of the policies for which a no weighs: in doubt it does.
    pub speaks_for: Vec<usize>,
    /// Whose approval the reviewer follows now.
    pub follows: Vec<Id<Account>>,
    /// Whether the reviewer may pass it on: those in whose place they decide allow it.
    pub may_pass_on: bool,
    /// Whether the reviewer may sign an override now: an active person who is an admin.
    pub may_sign: bool,
}

impl Seat {
    /// A request that nobody passed on.
    #[must_use]
    pub fn plain(approval: Approval, counts_for: Vec<usize>) -> Self {
        let speaks_for = approval.serves.clone();
        Self { approval, counts_for, speaks_for, follows: Vec::new(), may_pass_on: true, may_sign: false }
    }
}

/// How far one policy has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyTally {
    /// How many people must say yes.
    pub required: u32,
    /// How many have.
    pub approved: u32,
    /// How many could have, if everybody who is still asked said yes.
    pub attainable: u32,
    /// Whether somebody said no.
    pub rejected: bool,
}

impl PolicyTally {
    /// Whether the policy is content.
    #[must_use]
    pub const fn is_met(&self) -> bool {
        self.approved >= self.required
    }

    /// Whether it still can be.
    #[must_use]
    pub const fn is_reachable(&self) -> bool {
        self.attainable >= self.required
    }
}

/// What the answers amount to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Nothing yet.
    Open,
    /// Yes.
    Approved,
    /// No.
    Rejected,
}

/// How far each policy has come, in their order.
#[must_use]
pub fn tally(policies: &[Matched], seats: &[Seat], provenance: &Provenance) -> Vec<PolicyTally> {
    let of_policy = |(place, policy): (usize, &Matched)| {
        let mut approvers = People::default();
        let mut attainable = People::default();
        let mut rejected = false;
        for seat in seats {
            rejected |= seat.speaks_for.contains(&place) && says_no(&seat.approval);
            if !seat.counts_for.contains(&place) || seat.approval.kind != ApprovalKind::Review {
                continue;
            }
            let follows_in_vain = seat.approval.is_followed() && !policy.quorum.following_counts;
            if seat.approval.status == ApprovalStatus::Pending || follows_in_vain {
                attainable.join(&BTreeSet::from([seat.approval.reviewer_id]));
            } else if let Some(behind) = says_yes(&seat.approval, provenance) {
                approvers.join(&behind);
                attainable.join(&behind);
            }
        }
        PolicyTally {
            // Whatever a stored policy says: nobody is never enough (promise 5).
            required: policy.quorum.min_approvers.max(1),
            approved: approvers.count(),
            attainable: attainable.count(),
            rejected,
        }
    };
    policies.iter().enumerate().map(of_policy).collect()
}

/// What they amount to. In doubt it is no: a rejection outweighs a quorum.
#[must_use]
pub fn verdict(policies: &[Matched], tallies: &[PolicyTally]) -> Verdict {
    let rejects = |(policy, tally): (&Matched, &PolicyTally)| match policy.quorum.reject_on {
        RejectOn::Any => tally.rejected,
        RejectOn::Unreachable => tally.rejected && !tally.is_reachable(),
    };
    if policies.iter().zip(tallies).any(rejects) {
        return Verdict::Rejected;
    }
    let is_met =
        !tallies.is_empty() && tallies.len() == policies.len() && tallies.iter().all(PolicyTally::is_met);
    if is_met { Verdict::Approved } else { Verdict::Open }
}

fn says_no(approval: &Approval) -> bool {
    approval.status == ApprovalStatus::Rejected && approval.kind == ApprovalKind::Review
}

/// Who stands behind a yes that counts.
fn says_yes(approval: &Approval, provenance: &Provenance) -> Option<BTreeSet<Id<Account>>> {
    if approval.status != ApprovalStatus::Approved {
        return None;
    }
    let response = approval.response.as_ref()?;
    if provenance.meets(&response.behind) || provenance.includes(response.by) {
        return None;
    }
    // Where following counts, it is the follower who agrees; whoever went before them counts for themselves.
    if approval.is_followed() {
        return Some(BTreeSet::from([approval.reviewer_id]));
    }
    Some(response.behind.iter().chain([response.by]).collect())
}

/// Different people. Acts that somebody stands behind together are one person's: whoever mints another's key and votes
/// with it has not become two.
#[derive(Default)]
struct People {
    group_of: BTreeMap<Id<Account>, usize>,
    /// Which group each was merged into.
    merged_into: Vec<usize>,
}

impl People {
    fn join(&mut self, behind: &BTreeSet<Id<Account>>) {
        let group = self.merged_into.len();
        self.merged_into.push(group);
        for account in behind {
            let known = self.group_of.insert(*account, group);
            if let Some(known) = known {
                let root = self.root(known);
                self.merged_into[root] = group;
            }
        }
    }

    fn root(&self, mut group: usize) -> usize {
        while self.merged_into[group] != group {
            group = self.merged_into[group];
        }
        group
    }

    fn count(&self) -> u32 {
        let roots = self.merged_into.iter().enumerate().filter(|(group, into)| group == *into).count();
        u32::try_from(roots).unwrap_or(u32::MAX)
    }
}
