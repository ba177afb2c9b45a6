//! Counting, voting, resolving.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::accounts::{AccessLevel, AccountStatus};
use crate::approvals::{Answer, ApprovalKind, ApprovalStatus};
use crate::grants::Basis;
use crate::organizations::MembershipLevel;
use crate::policies::{Candidate, RejectOn};
use crate::sample::{alone, answered, ballot, case, id, policy};
use crate::tasks::{Actor, Behind, MoveRefusal, TaskState, TaskStatus};

const NOW: Timestamp = Timestamp::from_micros(10);
const TERMS: Terms = Terms { id: Id::new(uuid::Uuid::nil()), attempts: 3, validity: Duration::from_secs(7) };

/// The case after this vote.
fn after(case: &Case, voter: u128, answer: Answer) -> (Case, Option<Resolution>) {
    let counted = case.vote(&ballot(case, voter, answer), NOW).unwrap();
    let mut case = case.clone();
    let seat = case.seats.iter_mut().find(|seat| seat.approval.id == counted.approval.id).unwrap();
    seat.approval = counted.approval;
    (case, counted.resolution)
}

#[test]
fn a_quorum_is_so_many_different_people() {
    let two = case(vec![policy(1, 2, RejectOn::Any)], &[2, 3, 4]);
    let (two, none) = after(&two, 2, Answer::Approve);
    assert_eq!(none, None);
    let (two, again) = after(&two, 2, Answer::Approve);
    assert_eq!(again, None, "the same person once more");
    assert_eq!(after(&two, 3, Answer::Approve).1, Some(Resolution::Quorum));
}

#[test]
fn every_policy_needs_its_own_quorum_and_one_vote_counts_for_several() {
    let mut both = case(vec![policy(1, 1, RejectOn::Any), policy(2, 2, RejectOn::Any)], &[2, 3]);
    both.seats[1].approval.serves = vec![1];
    both.seats[1].counts_for = vec![1];
    let (first, open) = after(&both, 3, Answer::Approve);
    assert_eq!(open, None);
    assert_eq!(after(&first, 2, Answer::Approve).1, Some(Resolution::Quorum), "2 counts for both");
    let (second, open) = after(&both, 2, Answer::Approve);
    assert_eq!(open, None, "policy 2 wants another");
    assert_eq!(after(&second, 3, Answer::Approve).1, Some(Resolution::Quorum));
}

#[test]
fn whoever_mints_anothers_key_has_not_become_two() {
    let two = case(vec![policy(1, 2, RejectOn::Any)], &[2, 3, 4]);
    let (mut two, _) = after(&two, 2, Answer::Approve);
    let minted = Ballot { behind: Behind::act(id(3), &[], id(2)), ..ballot(&two, 3, Answer::Approve) };
    let counted = two.vote(&minted, NOW).unwrap();
    assert_eq!(counted.resolution, None, "2 stands behind both");
    two.seats[1].approval = counted.approval;
    assert_eq!(after(&two, 4, Answer::Approve).1, Some(Resolution::Quorum));
}

#[test]
fn what_a_no_does_is_the_policys_choice() {
    let any = case(vec![policy(1, 1, RejectOn::Any)], &[2, 3]);
    assert_eq!(after(&any, 2, Answer::Reject).1, Some(Resolution::Rejected));
    let patient = case(vec![policy(1, 2, RejectOn::Unreachable)], &[2, 3, 4]);
    let (patient, open) = after(&patient, 2, Answer::Reject);
    assert_eq!(open, None, "3 and 4 can still agree");
    assert_eq!(after(&patient, 3, Answer::Reject).1, Some(Resolution::Rejected));
    let (changed, open) = after(&patient, 2, Answer::Approve);
    assert_eq!(open, None, "a change of mind");
    assert_eq!(after(&changed, 4, Answer::Approve).1, Some(Resolution::Quorum));
}

#[test]
fn a_no_counts_only_for_the_policies_that_asked() {
    let mut both = case(vec![policy(1, 1, RejectOn::Any), policy(2, 1, RejectOn::Unreachable)], &[2, 3, 4]);
    for place in [1, 2] {
        both.seats[place].approval.serves = vec![1];
        both.seats[place].counts_for = vec![1];
        both.seats[place].speaks_for = vec![1];
    }
    assert_eq!(after(&both, 3, Answer::Reject).1, None, "policy 1 did not ask 3");
    assert_eq!(after(&both, 2, Answer::Reject).1, Some(Resolution::Rejected));
}

#[test]
fn requested_changes_end_the_review() {
    let two = case(vec![policy(1, 2, RejectOn::Unreachable)], &[2, 3]);
    assert_eq!(after(&two, 2, Answer::RequestChanges).1, Some(Resolution::ChangesRequested));
}

#[test]
fn a_vote_that_lost_its_ground_no_longer_counts() {
    let two = case(vec![policy(1, 2, RejectOn::Any)], &[2, 3]);
    let (mut two, _) = after(&two, 2, Answer::Approve);
    two.seats[0].counts_for.clear();
    assert_eq!(after(&two, 3, Answer::Approve).1, None, "2 is no reviewer any more");
    let tallies = tally(&two.review.policies, &two.seats, &two.provenance);
    assert!(!tallies[0].is_reachable());
}

#[test]
fn nobody_asked_is_never_yes() {
    let nobody = case(vec![policy(1, 1, RejectOn::Any)], &[]);
    let tallies = tally(&nobody.review.policies, &nobody.seats, &nobody.provenance);
    assert!(!tallies[0].is_reachable());
    assert_eq!(verdict(&nobody.review.policies, &tallies), Verdict::Open);
    assert_eq!(verdict(&[], &[]), Verdict::Open, "no policy at all");
    let zero = case(vec![policy(1, 0, RejectOn::Any)], &[2]);
    let tallies = tally(&zero.review.policies, &zero.seats, &zero.provenance);
    assert_eq!(tallies[0].required, 1, "whatever a policy says");
    assert_eq!(verdict(&zero.review.policies, &tallies), Verdict::Open);
}

/// Whatever the minter of the asker's key came with, they would be on both sides.
#[test]
fn who_stands_behind_asking_is_not_asked_to_sign() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[]);
    let admin = |number: u128| Candidate {
        account_id: id(number),
        status: AccountStatus::Active,
        access_level: AccessLevel::User,
        level: Some(MembershipLevel::Admin),
        roles: Vec::new(),
        is_agent: false,
        owners: Vec::new(),
    };
    let admins = [admin(1), admin(5), admin(6), admin(7)];
    let asked =
        |minter: u128| one.signers((id(5), &Behind::act(id(5), &[], id(minter))), &admins, false).unwrap();
    assert_eq!(asked(5), [id(6), id(7)].into_iter().collect(), "1 wrote it, 5 asks");
    assert_eq!(asked(6), [id(7)].into_iter().collect());
}

#[test]
fn who_may_not_vote() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[2, 3]);
    let sent = ballot(&one, 2, Answer::Approve);
    let refusal = |case: &Case, ballot: &Ballot| case.vote(ballot, NOW).unwrap_err();
    assert_eq!(refusal(&one, &Ballot { voter: id(3), ..sent.clone() }), VoteRefusal::NotYours);
    assert_eq!(refusal(&one, &Ballot { approval_id: id(9), ..sent.clone() }), VoteRefusal::NotYours);
    // The author's agent, a key the author minted, and the author who was asked by mistake.
    for behind in [Behind::act(id(2), &[id(1)], id(2)), Behind::act(id(2), &[], id(1))] {
        assert_eq!(refusal(&one, &Ballot { behind, ..sent.clone() }), VoteRefusal::OwnWork);
    }
    let own = case(vec![policy(1, 1, RejectOn::Any)], &[1]);
    assert_eq!(refusal(&own, &ballot(&own, 1, Answer::Reject)), VoteRefusal::OwnWork);
    let mut demoted = one.clone();
    demoted.seats[0].counts_for.clear();
    assert_eq!(refusal(&demoted, &sent), VoteRefusal::NotEligible);
    let mut other_kind = one.clone();
    other_kind.seats[0].approval.kind = ApprovalKind::Override;
    assert_eq!(refusal(&other_kind, &sent), VoteRefusal::NotEligible, "no admin");
    other_kind.seats[0].may_sign = true;
    assert_eq!(refusal(&other_kind, &sent), VoteRefusal::SameHand, "nobody asked for it");
    other_kind.seats[0].approval.routing.asked_by = vec![id(9), sent.voter];
    assert_eq!(refusal(&other_kind, &sent), VoteRefusal::SameHand);
    other_kind.seats[0].approval.routing.asked_by = vec![id(9)];
    assert_eq!(other_kind.vote(&sent, NOW).unwrap().resolution, Some(Resolution::Override));
}

#[test]
fn what_is_not_voted_on() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let sent = ballot(&one, 2, Answer::Approve);
    let other = Sha256Hash::of(b"other");
    let stale =
        VoteRefusal::Stale { content_hash: one.task.content_hash, review_hash: one.review.review_hash };
    for wrong in
        [Ballot { content_hash: other, ..sent.clone() }, Ballot { review_hash: Some(other), ..sent.clone() }]
    {
        assert_eq!(one.vote(&wrong, NOW), Err(stale.clone()));
    }
    assert!(one.vote(&Ballot { review_hash: None, ..sent.clone() }, NOW).is_ok(), "agents need not send it");
    for state in TaskState::ALL.into_iter().filter(|state| *state != TaskState::Reviewing) {
        let mut over = one.clone();
        over.task.state = state;
        assert_eq!(over.vote(&sent, NOW), Err(VoteRefusal::Resolved(None)), "{state:?}");
    }
    let mut over = one.clone();
    over.review.resolution = Some(Resolution::Rejected);
    assert_eq!(over.vote(&sent, NOW), Err(VoteRefusal::Resolved(Some(Resolution::Rejected))));
    let mut renewed = one.clone();
    renewed.task.review_id = Some(id(2001));
    assert_eq!(renewed.vote(&sent, NOW), Err(VoteRefusal::Resolved(None)), "an older round");
    for status in ApprovalStatus::ALL.into_iter().filter(|status| !status.is_changeable()) {
        let mut closed = one.clone();
        closed.seats[0].approval.status = status;
        assert_eq!(closed.vote(&sent, NOW), Err(VoteRefusal::Closed), "{status:?}");
    }
}

fn ending(resolution: Resolution) -> Ending {
    let actor = Actor { is_reviewer: true, ..Actor::HUB };
    Ending { resolution, by: Some(id(2)), actor, at: NOW }
}

#[test]
fn only_a_yes_makes_a_grant_of_exactly_what_was_reviewed() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    for resolution in Resolution::ALL {
        let ended = end(&one.task, &one.review, ending(resolution), TERMS).unwrap();
        let basis = ended.grant.as_ref().map(|grant| grant.basis);
        let (right, state) = match resolution {
            Resolution::Quorum => (Some(Basis::Quorum), TaskState::Approved),
            Resolution::Auto => (Some(Basis::Auto), TaskState::Approved),
            Resolution::Override => (Some(Basis::Override), TaskState::Approved),
            Resolution::ChangesRequested => (None, TaskState::Draft),
            _ => (None, TaskState::Rejected),
        };
        assert_eq!((basis, ended.task.state), (right, state), "{resolution:?}");
        assert_eq!(ended.review.resolution, Some(resolution));
        assert_eq!(ended.task.version, one.task.version + 1);
        assert_eq!(ended.task.ended_at.is_some(), state.is_final());
    }
    let grant = end(&one.task, &one.review, ending(Resolution::Quorum), TERMS).unwrap().grant.unwrap();
    assert_eq!((grant.content_hash, grant.revision), (one.review.content_hash, 1));
    assert_eq!((grant.attempts, grant.attempts_started), (3, 0));
    assert_eq!(grant.valid_until, NOW.plus(Duration::from_secs(7)));
    assert_eq!(grant.policy_versions.len(), 1);
}

/// An approved task that waits for two others, and admin 3, whom admin 9 asked to let it pass both.
fn skipping() -> Case {
    let mut one = case(vec![policy(1, 1, RejectOn::Any)], &[2, 3]);
    let ended = end(&one.task, &one.review, ending(Resolution::Quorum), TERMS).unwrap();
    (one.task, one.review, one.grant) = (ended.task, ended.review, ended.grant);
    let signing =
        Signing { id: id(3), asked_by: alone(id(9)), puts_first: true, skips: vec![id(70), id(71)] };
    one.seats[1].approval = one.signature(id(3), &signing, NOW);
    (one.seats[1].may_sign, one.seats[1].counts_for) = (true, Vec::new());
    one
}

#[test]
fn a_second_admin_lets_an_approved_task_pass_what_it_waits_for() {
    let one = skipping();
    let counted = one.vote(&ballot(&one, 3, Answer::Approve), NOW).unwrap();
    assert_eq!(counted.resolution, None, "the review is over already");
    let skip = counted.grant.clone().unwrap().skip.unwrap();
    assert_eq!((skip.prerequisites, skip.signed_by), (vec![id(70), id(71)], id(3)));
    assert_eq!(counted.grant.as_ref().map(|grant| grant.id), one.grant.as_ref().map(|grant| grant.id));
    for answer in [Answer::Reject, Answer::RequestChanges] {
        let counted = one.vote(&ballot(&one, 3, answer), NOW).unwrap();
        assert_eq!((counted.resolution, counted.grant), (None, None), "{answer:?}");
    }
    let mut signed = one.clone();
    signed.note(&counted);
    assert_eq!(signed.vote(&ballot(&one, 3, Answer::Reject), NOW), Err(VoteRefusal::Closed), "once");
}

#[test]
fn who_does_not_sign_that_and_when() {
    type Change = fn(&mut Case);
    let table: [(VoteRefusal, Change); 10] = [
        (VoteRefusal::Closed, |case| case.grant = None),
        (VoteRefusal::Closed, |case| case.grant.as_mut().unwrap().voided_at = Some(NOW)),
        (VoteRefusal::Closed, |case| case.grant.as_mut().unwrap().valid_until = NOW),
        (VoteRefusal::Closed, |case| case.grant.as_mut().unwrap().review_id = id(2001)),
        (VoteRefusal::Closed, |case| case.task.review_id = Some(id(2001))),
        (VoteRefusal::Closed, |case| case.seats[1].approval.status = ApprovalStatus::Superseded),
        (VoteRefusal::OwnWork, |case| case.provenance = case.provenance.with(&alone(id(3)))),
        (VoteRefusal::NotEligible, |case| case.seats[1].may_sign = false),
        (VoteRefusal::SameHand, |case| case.seats[1].approval.routing.asked_by = vec![id(9), id(3)]),
        (VoteRefusal::SameHand, |case| case.seats[1].approval.routing.asked_by.clear()),
    ];
    for (number, (refusal, change)) in table.into_iter().enumerate() {
        let mut changed = skipping();
        change(&mut changed);
        let sent = ballot(&changed, 3, Answer::Approve);
        assert_eq!(changed.vote(&sent, NOW), Err(refusal), "case {number}");
    }
    for state in TaskState::ALL.into_iter().filter(|state| *state != TaskState::Approved) {
        let mut over = skipping();
        over.task.state = state;
        let sent = ballot(&over, 3, Answer::Approve);
        assert_eq!(over.vote(&sent, NOW), Err(VoteRefusal::Closed), "{state:?}");
    }
    let mut edited = skipping();
    edited.task.content_hash = Sha256Hash::of(b"other");
    let sent = ballot(&edited, 3, Answer::Approve);
    assert!(matches!(edited.vote(&sent, NOW), Err(VoteRefusal::Stale { .. })));
}

#[test]
fn a_review_ends_once() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let over = end(&one.task, &one.review, ending(Resolution::Quorum), TERMS).unwrap().task;
    assert!(matches!(
        end(&over, &one.review, ending(Resolution::Quorum), TERMS),
        Err(MoveRefusal::WrongState { .. })
    ));
}

#[test]
fn a_task_that_waits_says_so_wherever_it_goes() {
    let mut one = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    one.task.status = TaskStatus::Blocked;
    let status = |resolution| end(&one.task, &one.review, ending(resolution), TERMS).unwrap().task.status;
    assert_eq!(status(Resolution::Quorum), TaskStatus::Blocked);
    assert_eq!(status(Resolution::ChangesRequested), TaskStatus::Blocked);
    assert_eq!(status(Resolution::Rejected), TaskStatus::Failed);
}

#[test]
fn a_yes_taken_back_voids_the_grant() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let ended = end(&one.task, &one.review, ending(Resolution::Quorum), TERMS).unwrap();
    let grant = ended.grant.unwrap();
    let back = withdraw(&ended.task, &ended.review, &grant, ending(Resolution::Withdrawn)).unwrap();
    assert_eq!(back.task.state, TaskState::Rejected);
    assert_eq!(back.grant.unwrap().voided_at, Some(NOW));
    assert_eq!(back.review.resolution, Some(Resolution::Withdrawn));
    let stranger = Ending { actor: Actor::default(), ..ending(Resolution::Withdrawn) };
    assert!(withdraw(&ended.task, &ended.review, &grant, stranger).is_err());
}

#[test]
fn the_hash_covers_all_that_is_shown() {
    let one = case(vec![policy(1, 1, RejectOn::Any)], &[]).review;
    let hash = |content, revision, effect, score, version| {
        let mut policies = one.policies.clone();
        policies[0].version = version;
        Review::hash(content, revision, effect, score, &policies)
    };
    let content = one.content_hash;
    let other = Sha256Hash::of(b"other");
    let all = [
        one.review_hash,
        hash(other, 1, None, 40, 1),
        hash(content, 2, None, 40, 1),
        hash(content, 1, Some(other), 40, 1),
        hash(content, 1, None, 41, 1),
        hash(content, 1, None, 40, 2),
    ];
    assert_eq!(hash(content, 1, None, 40, 1), one.review_hash);
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// Whatever was answered: yes means that each policy has as many yeses, of different people outside the task's
    /// provenance who were eligible for it, as it asks for.
    #[test]
    fn a_yes_is_always_a_quorum(
        needs in prop::collection::vec((1..4u32, any::<bool>()), 1..4),
        people in prop::collection::vec((0..4u8, 0..8u8, 0..7u128), 0..7),
    ) {
        let policies = needs.iter().zip(1..).map(|((min, any), number)| {
            policy(number, *min, if *any { RejectOn::Any } else { RejectOn::Unreachable })
        });
        let reviewers: Vec<u128> = (0..people.len() as u128).map(|number| number + 2).collect();
        let mut voted = case(policies.collect(), &reviewers);
        for (seat, (answer, counts, minter)) in voted.seats.iter_mut().zip(&people) {
            seat.counts_for.retain(|place| counts & (1 << place) != 0);
            let person = seat.approval.reviewer_id;
            // 0 and 1: with a credential of one's own. Else somebody made it; account 1 is the author.
            let behind = if *minter == 0 { alone(person) } else { Behind::act(person, &[], id(*minter)) };
            *seat = match answer {
                0 => seat.clone(),
                1 => answered(seat, Answer::Reject, behind),
                _ => answered(seat, Answer::Approve, behind),
            };
        }
        let tallies = tally(&voted.review.policies, &voted.seats, &voted.provenance);
        if verdict(&voted.review.policies, &tallies) == Verdict::Approved {
            for (place, policy) in voted.review.policies.iter().enumerate() {
                let yes = voted.seats.iter().filter(|seat| {
                    let response = seat.approval.response.as_ref();
                    let independent = response.is_some_and(|response| !voted.provenance.meets(&response.behind));
                    seat.approval.status == ApprovalStatus::Approved && independent && seat.counts_for.contains(&place)
                });
                prop_assert!(yes.count() >= policy.quorum.min_approvers as usize);
                let no = voted.seats.iter().any(|seat| {
                    seat.approval.status == ApprovalStatus::Rejected && seat.approval.serves.contains(&place)
                });
                prop_assert!(!no || policy.quorum.reject_on == RejectOn::Unreachable);
            }
        }
        for tally in &tallies {
            prop_assert!(tally.approved <= tally.attainable);
        }
    }
}
