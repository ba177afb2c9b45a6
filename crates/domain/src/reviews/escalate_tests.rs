//! What follows when time is over, case by case.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::accounts::{AccessLevel, AccountStatus};
use crate::approvals::ApprovalStatus::{Approved, Delegated, Expired, Pending, Rejected};
use crate::approvals::{Answer, Approval, ApprovalStatus, Priority};
use crate::delegations::{Chain, Link};
use crate::members::HeldRole;
use crate::organizations::MembershipLevel;
use crate::policies::{Candidate, OnTimeout, RejectOn};
use crate::sample::{alone, answered, at, case, id, policy, seat};

const DUE: Timestamp = Timestamp::from_micros(1_000_000);
const WAIT: Duration = Duration::from_secs(10);

fn member(number: u128) -> Candidate {
    Candidate {
        account_id: id(number),
        status: AccountStatus::Active,
        access_level: AccessLevel::User,
        level: Some(MembershipLevel::Member),
        roles: Vec::<HeldRole>::new(),
        is_agent: false,
        owners: Vec::new(),
    }
}

fn ladder(levels: &[Vec<Candidate>], on_timeout: OnTimeout) -> Ladder<'_> {
    Ladder { levels, on_timeout, wait: WAIT }
}

/// Who stands where after a step, by number.
fn after(case: &Case, step: &Step) -> BTreeMap<u128, ApprovalStatus> {
    let changed =
        |approval: &Approval| step.changed.iter().find(|changed| changed.id == approval.id).cloned();
    case.seats
        .iter()
        .map(|seat| changed(&seat.approval).unwrap_or_else(|| seat.approval.clone()))
        .map(|approval| (approval.reviewer_id.raw().as_u128(), approval.status))
        .collect()
}

fn changed(step: &Step, number: u128) -> &Approval {
    step.changed.iter().find(|changed| changed.reviewer_id == id(number)).expect("it changed")
}

#[test]
fn each_policy_has_its_own_time() {
    let asked = case(vec![policy(1, 1, RejectOn::Any), policy(2, 1, RejectOn::Any)], &[2]);
    let half = PolicyClock { level: 0, raise_at: Some(at(5)), due_at: Some(at(10)) };
    let asked = Case { review: asked.review.with_clock(1, half), ..asked };
    assert_eq!(asked.due(at(4)), []);
    assert_eq!(asked.due(at(5)), [(1, Due::Raise)]);
    assert_eq!(asked.due(at(10)), [(1, Due::TimeIsUp)]);
    assert_eq!(asked.due(DUE), [(0, Due::TimeIsUp), (1, Due::TimeIsUp)]);
    assert_eq!(asked.review.next_look_at(), Some(at(5)));
    assert_eq!((asked.review.due_at(&[0, 1]), asked.review.due_at(&[0])), (Some(at(10)), Some(DUE)));
    assert_eq!(asked.review.due_at(&[]), None);
}

#[test]
fn age_makes_requests_more_urgent_once_on_each_level() {
    let asked = case(vec![policy(1, 2, RejectOn::Any)], &[2, 3]);
    let step = asked.raise(0, at(500_000));
    assert_eq!(step.changed.iter().map(|one| one.priority).collect::<Vec<_>>(), [Priority::High; 2]);
    assert_eq!(step.changed[0].score, Priority::High.score(asked.review.risk_score));
    assert_eq!(step.review.clock(0).raise_at, None);
    assert_eq!(step.review.next_look_at(), Some(DUE));
    let silent = Case { review: step.review, ..asked };
    assert_eq!(silent.due(at(999_999)), []);
}

#[test]
fn the_next_level_is_asked_and_those_before_no_more() {
    let mut asked = case(vec![policy(1, 2, RejectOn::Any)], &[2, 3, 4]);
    asked.seats[0] = answered(&asked.seats[0], Answer::Approve, alone(id(2)));
    let levels = [vec![member(8), member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(step.outcome, Some(Outcome::Escalated));
    assert_eq!((step.asked.clone(), step.to.clone()), (vec![id(8), id(9)], vec![id(8), id(9)]));
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Approved), (3, Expired), (4, Expired)]));
    let clock = step.review.clock(0);
    assert_eq!((clock.level, clock.due_at), (1, Some(DUE.plus(WAIT))));
}

#[test]
fn a_level_that_nobody_can_answer_on_is_passed_over() {
    let asked = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let suspended = Candidate { status: AccountStatus::Suspended, ..member(7) };
    let gone = Candidate { level: None, ..member(6) };
    let program = Candidate { access_level: AccessLevel::Service, ..member(5) };
    // The author decides on nothing of theirs, whoever names them.
    let levels = [vec![suspended, gone, program, member(1)], vec![member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!((step.review.clock(0).level, step.asked), (2, vec![id(9)]));
}

#[test]
fn after_the_last_level_the_policy_has_its_last_word() {
    let asked = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let denied = asked.time_is_up(0, &ladder(&[], OnTimeout::Deny), DUE);
    assert_eq!((denied.outcome, denied.review.next_look_at()), (Some(Outcome::Denied), None));
    assert_eq!(after(&asked, &denied), BTreeMap::from([(2, Expired)]));
    let parked = asked.time_is_up(0, &ladder(&[], OnTimeout::Park), DUE);
    assert_eq!((parked.outcome, parked.review.next_look_at()), (Some(Outcome::Parked), None));
    assert_eq!(after(&asked, &parked), BTreeMap::from([(2, Pending)]));
    assert_eq!(changed(&parked, 2).due_at, None, "they wait without a time");
}

#[test]
fn whoever_is_asked_for_another_policy_too_goes_on_for_that() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Any), policy(2, 1, RejectOn::Any)], &[2]);
    asked.seats.push(seat(&asked.review, id(3), &[0]));
    let later = PolicyClock { level: 0, raise_at: None, due_at: Some(at(9_000_000)) };
    let asked = Case { review: asked.review.with_clock(1, later), ..asked };
    let levels = [vec![member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Pending), (3, Expired)]));
    let goes_on = changed(&step, 2);
    assert_eq!((goes_on.serves.as_slice(), goes_on.due_at), ([1].as_slice(), Some(at(9_000_000))));
}

#[test]
fn a_yes_for_another_policy_is_asked_for_again_and_never_counted_by_the_clock() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Any), policy(2, 2, RejectOn::Any)], &[2]);
    asked.seats[0].approval.serves = vec![0];
    asked.seats[0].counts_for = vec![0];
    let mut chief = seat(&asked.review, id(9), &[1]);
    chief = answered(&chief, Answer::Approve, alone(id(9)));
    asked.seats.push(chief);
    let levels = [vec![member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Expired), (9, Pending)]));
    let again = changed(&step, 9);
    assert_eq!(
        (again.serves.as_slice(), again.routing.escalated.as_slice()),
        ([0, 1].as_slice(), [0].as_slice())
    );
    assert!(again.response.is_none() && step.asked.is_empty());
    assert_eq!(step.to, [id(9)]);
}

#[test]
fn whoever_said_no_has_been_heard() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Unreachable)], &[2, 3]);
    asked.seats[1] = answered(&asked.seats[1], Answer::Reject, alone(id(3)));
    let levels = [vec![member(3)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(step.outcome, Some(Outcome::Denied));
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Expired), (3, Rejected)]));
}

#[test]
fn a_policy_that_is_content_begins_its_time_anew() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Any), policy(2, 2, RejectOn::Any)], &[2, 3]);
    asked.seats[0] = answered(&asked.seats[0], Answer::Approve, alone(id(2)));
    let levels = [vec![member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!((step.outcome, step.review.clock(0).level), (None, 0));
    assert_eq!(step.review.clock(0).due_at, Some(DUE.plus(WAIT)));
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Approved), (3, Pending)]));
}

#[test]
fn what_was_passed_on_runs_out_with_whom_it_was_passed_to() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let chain = Chain { links: vec![Link { from: id(2), by: None }], to: id(3) };
    asked.seats[0].approval = asked.seats[0].approval.passed_on(&chain, at(5));
    asked.seats.push(seat(&asked.review, id(3), &[]));
    let levels = [vec![member(9)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Expired), (3, Expired)]));
    // Where the next level names whoever it was passed to, they are asked themselves.
    let levels = [vec![member(3)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Expired), (3, Pending)]));
    assert_eq!(changed(&step, 3).serves, [0]);
}

#[test]
fn what_was_passed_on_and_answered_stays_answered() {
    let mut asked = case(vec![policy(1, 2, RejectOn::Any)], &[2]);
    let chain = Chain { links: vec![Link { from: id(2), by: None }], to: id(3) };
    asked.seats[0].approval = asked.seats[0].approval.passed_on(&chain, at(5));
    asked.seats.push(answered(&seat(&asked.review, id(3), &[]), Answer::Approve, alone(id(3))));
    let step = asked.time_is_up(0, &ladder(&[vec![member(9)]], OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Delegated), (3, Approved)]));
}

#[test]
fn an_admin_who_joined_is_not_sent_away() {
    let mut asked = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    asked.seats[0].approval.joined = true;
    let step = asked.time_is_up(0, &ladder(&[vec![member(9)]], OnTimeout::Deny), DUE);
    assert_eq!(after(&asked, &step), BTreeMap::from([(2, Pending)]));
}

#[test]
fn somebody_who_is_on_two_levels_is_asked_on_both() {
    let asked = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let levels = [vec![member(2)], vec![member(2)]];
    let step = asked.time_is_up(0, &ladder(&levels, OnTimeout::Deny), DUE);
    let stays = changed(&step, 2);
    assert_eq!((stays.status, stays.priority, stays.routing.level), (Pending, Priority::High, 1));
    assert_eq!(stays.due_at, Some(DUE.plus(WAIT)));
}

#[test]
fn what_is_stored_comes_back() {
    for clock in [
        PolicyClock { level: 3, raise_at: None, due_at: None },
        PolicyClock { level: 0, raise_at: Some(at(-5)), due_at: Some(at(7)) },
    ] {
        assert_eq!(PolicyClock::from_value(&clock.to_value()), Ok(clock));
    }
    let escalation =
        Escalation { place: 1, level: 2, outcome: Outcome::Parked, to: vec![id(4), id(5)], at: at(9) };
    assert_eq!(Escalation::from_value(&escalation.to_value()), Ok(escalation.clone()));
    for missing in ["place", "level", "outcome", "to", "at"] {
        let mut value = escalation.to_value();
        value.as_object_mut().unwrap().remove(missing);
        assert!(Escalation::from_value(&value).is_err(), "{missing}");
    }
}
