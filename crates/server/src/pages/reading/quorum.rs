//! Who signed, who is missing, and whether it can still be reached: policy by policy.

use domain::Timestamp;
use domain::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus};
use domain::policies::Matched;
use domain::reviews::{PolicyTally, Seat};
use hub::tasks::Dossier;

use super::People;
use crate::pages::show::{Markup, ago, clock, line, time};

/// One policy of the review.
pub(in crate::pages) struct Quorum {
    pub(in crate::pages) name: Markup,
    pub(in crate::pages) about: Markup,
    pub(in crate::pages) because: Vec<Markup>,
    pub(in crate::pages) given: u32,
    pub(in crate::pages) needed: u32,
    pub(in crate::pages) is_met: bool,
    pub(in crate::pages) seats: Vec<SeatShown>,
    /// Why it cannot be met any more; none: it can.
    pub(in crate::pages) unreachable: bool,
}

/// One person of it.
pub(in crate::pages) struct SeatShown {
    pub(in crate::pages) face: Markup,
    pub(in crate::pages) name: Markup,
    pub(in crate::pages) about: Markup,
    pub(in crate::pages) is_me: bool,
    /// Whether an answer is still expected.
    pub(in crate::pages) is_waiting: bool,
    /// What the answer was: `check`, `x`, `edit`; empty: none yet.
    pub(in crate::pages) icon: &'static str,
    /// Its colour: only a yes is green.
    pub(in crate::pages) class: &'static str,
    /// Through whom it came, the first asked first.
    pub(in crate::pages) chain: Vec<Markup>,
}

pub(super) fn of(dossier: &Dossier, people: &People<'_>, now: Timestamp) -> Vec<Quorum> {
    let Some(review) = &dossier.seen.review else { return Vec::new() };
    let is_open = review.review.resolution.is_none();
    let policies = review.review.policies.iter().zip(&review.summary.tallies).enumerate();
    policies
        .map(|(place, (policy, tally))| Quorum {
            name: line(&policy.name),
            about: about(policy),
            because: policy.because.iter().map(|why| line(why)).collect(),
            given: tally.approved,
            needed: tally.required,
            is_met: tally.is_met(),
            seats: seats(dossier, place, people, now),
            unreachable: is_open && !PolicyTally::is_reachable(tally),
        })
        .collect()
}

/// `2 of 3`, over all policies.
pub(super) fn total(dossier: &Dossier) -> String {
    let tallies =
        dossier.seen.review.as_ref().map(|seen| seen.summary.tallies.as_slice()).unwrap_or_default();
    let given: u32 = tallies.iter().map(|tally| tally.approved.min(tally.required)).sum();
    let needed: u32 = tallies.iter().map(|tally| tally.required).sum();
    format!("{given} of {needed}")
}

fn about(policy: &Matched) -> Markup {
    let whom = match policy.quorum.required_roles.as_slice() {
        [] => "named people".to_owned(),
        roles => roles.join(" or "),
    };
    line(&format!("v{}, {} of {whom}", policy.version, policy.quorum.min_approvers))
}

fn seats(dossier: &Dossier, place: usize, people: &People<'_>, now: Timestamp) -> Vec<SeatShown> {
    let concerned = dossier.seats.iter().filter(|seat| {
        let is_review = seat.approval.kind == ApprovalKind::Review;
        is_review && (seat.approval.serves.contains(&place) || seat.counts_for.contains(&place))
    });
    concerned.map(|seat| shown(seat, dossier, people, now)).collect()
}

fn shown(seat: &Seat, dossier: &Dossier, people: &People<'_>, now: Timestamp) -> SeatShown {
    let approval = &seat.approval;
    let (icon, class) = icon(approval);
    SeatShown {
        face: people.face(approval.reviewer_id).avatar(),
        name: people.named(approval.reviewer_id),
        about: stands(approval, people, now),
        is_me: people.is_me(approval.reviewer_id),
        is_waiting: approval.status == ApprovalStatus::Pending,
        icon,
        class,
        chain: chain(approval, dossier, people),
    }
}

fn icon(approval: &Approval) -> (&'static str, &'static str) {
    match (approval.status, approval.response.as_ref().map(|response| response.action)) {
        (ApprovalStatus::Approved, _) => ("check", "i ok"),
        (ApprovalStatus::Rejected, Some(Answer::RequestChanges)) => ("edit", "i warn"),
        (ApprovalStatus::Rejected, _) => ("x", "i bad"),
        (ApprovalStatus::Delegated, _) => ("delegate", "i"),
        _ => ("", "i"),
    }
}

/// Where the request stands, in words.
fn stands(approval: &Approval, people: &People<'_>, now: Timestamp) -> Markup {
    let mut markup = Markup::default();
    match (&approval.response, approval.status) {
        (Some(response), ApprovalStatus::Approved | ApprovalStatus::Rejected) => {
            let verb = match response.action {
                Answer::Approve => "approved",
                Answer::Reject => "rejected",
                Answer::RequestChanges => "requested changes",
            };
            markup.raw(format_args!("{verb} {}, {}", ago(response.at, now), clock(response.at, now)));
            if approval.is_followed() {
                markup.raw(format_args!(", following {}", people.named(response.by)));
            }
        }
        (_, ApprovalStatus::Delegated) => match approval.delegated_to {
            Some(to) => markup.raw(format_args!("passed on to {}", people.named(to))),
            None => markup.raw(format_args!("passed on")),
        },
        (_, ApprovalStatus::Expired) => markup.raw(format_args!("did not answer in time")),
        (_, ApprovalStatus::Superseded) => markup.raw(format_args!("no longer asked")),
        _ => {
            let asked = time(approval.created_at, &format!("asked {}", clock(approval.created_at, now)));
            markup.raw(format_args!("{asked}"));
            if let Some(due) = approval.due_at {
                markup.raw(format_args!(", due {}", clock(due, now)));
            }
            if approval.acknowledged_at.is_some() {
                markup.raw(format_args!(", opened it"));
            }
        }
    }
    markup
}

/// In whose place somebody decides.
fn chain(approval: &Approval, dossier: &Dossier, people: &People<'_>) -> Vec<Markup> {
    let came = dossier.seats.iter().find(|other| {
        other.approval.status == ApprovalStatus::Delegated
            && other.approval.delegated_to == Some(approval.reviewer_id)
    });
    let Some(came) = came else { return Vec::new() };
    let through = came.approval.delegation_chain.iter().copied().chain([approval.reviewer_id]);
    through.map(|id| people.face(id).who()).collect()
}
