//! The gate: what opens it, and everything that keeps it shut.

use std::time::Duration;

use super::*;
use crate::approvals::{Answer, ApprovalKind};
use crate::policies::RejectOn;
use crate::reviews::{Ending, Resolution, Terms, end};
use crate::sample::{alone, answered, at, beginning, case, id, policy, resource, revision};
use crate::tasks::Behind;

/// An approved task with all that its start needs.
#[derive(Clone)]
struct Ready {
    task: Task,
    revision: Revision,
    resources: Vec<Resource>,
    grant: Grant,
    approvals: Vec<Approval>,
    unfinished: Vec<Id<Task>>,
    capacity_left: u32,
    claims: BTreeMap<String, Claim>,
    fences: BTreeMap<String, i64>,
    now: Timestamp,
}

const DATABASE: &str = "database:one";
const CACHE: &str = "cache:two";

fn ready() -> Ready {
    let reviewed = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
    let seat = answered(&reviewed.seats[0], Answer::Approve, alone(id(2)));
    let terms = Terms { id: id(4000), attempts: 2, validity: Duration::from_secs(60) };
    let actor = Actor { is_reviewer: true, ..Actor::default() };
    let ending = Ending { resolution: Resolution::Quorum, by: Some(id(2)), actor, at: at(10) };
    let ended = end(&reviewed.task, &reviewed.review, ending, terms).unwrap();
    Ready {
        revision: revision(&reviewed.task, reviewed.provenance),
        task: ended.task,
        resources: vec![resource("database", "one", Mode::Exclusive), resource("cache", "two", Mode::Shared)],
        grant: ended.grant.unwrap(),
        approvals: vec![seat.approval],
        unfinished: Vec::new(),
        capacity_left: 1,
        claims: BTreeMap::new(),
        fences: BTreeMap::from([(DATABASE.into(), 7), (CACHE.into(), 8)]),
        now: at(20),
    }
}

impl Ready {
    fn knock(&self) -> Result<Start, GateRefusal> {
        gate(&self.facts())
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            task: &self.task,
            revision: &self.revision,
            resources: &self.resources,
            grant: &self.grant,
            approvals: &self.approvals,
            unfinished: &self.unfinished,
            capacity_left: self.capacity_left,
            claims: &self.claims,
            fences: &self.fences,
            execution: id(5000),
            now: self.now,
        }
    }

    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = ready();
        change(&mut changed);
        changed
    }
}

#[test]
fn a_start_takes_one_attempt_and_claims_everything() {
    let start = ready().knock().unwrap();
    assert_eq!((start.task.state, start.task.applying_at), (TaskState::Applying, Some(at(20))));
    assert_eq!((start.attempt, start.grant.attempts_left()), (1, 1));
    let [cache, database] = start.claims.as_slice() else { panic!("{:?}", start.claims) };
    assert_eq!((cache.resource.as_str(), cache.shared_count, cache.high_fence), (CACHE, 1, 8));
    assert_eq!((database.resource.as_str(), database.exclusive_by), (DATABASE, Some(id(5000))));
}

type Change = Box<dyn FnOnce(&mut Ready)>;

#[test]
fn what_keeps_it_shut() {
    let other = Sha256Hash::of(b"other");
    let table: Vec<(GateRefusal, Change)> = vec![
        (GateRefusal::Voided, Box::new(|ready| ready.grant.voided_at = Some(at(1)))),
        (GateRefusal::OtherTask, Box::new(|ready| ready.grant.task_id = id(9))),
        (GateRefusal::OtherTask, Box::new(|ready| ready.grant.org_id = id(9))),
        (GateRefusal::OtherTask, Box::new(|ready| ready.revision.task_id = id(9))),
        (GateRefusal::OtherContent, Box::new(move |ready| ready.grant.content_hash = other)),
        (GateRefusal::OtherContent, Box::new(move |ready| ready.task.content_hash = other)),
        (GateRefusal::OtherContent, Box::new(move |ready| ready.revision.content_hash = other)),
        (GateRefusal::OtherContent, Box::new(|ready| ready.revision.config.push(b' '))),
        (GateRefusal::OtherContent, Box::new(|ready| ready.grant.revision = 2)),
        (GateRefusal::OtherContent, Box::new(|ready| ready.task.revision = 2)),
        (GateRefusal::OtherContent, Box::new(|ready| ready.revision.number = 2)),
        (GateRefusal::OtherEffect, Box::new(move |ready| ready.task.effect_hash = Some(other))),
        (GateRefusal::OtherEffect, Box::new(move |ready| ready.grant.effect_hash = Some(other))),
        (GateRefusal::Stale, Box::new(|ready| ready.now = ready.grant.valid_until)),
        (GateRefusal::NoAttemptLeft(2), Box::new(|ready| ready.grant.attempts_started = 2)),
        (GateRefusal::NotTwoPeople, Box::new(|ready| ready.approvals.clear())),
        (GateRefusal::NotTwoPeople, Box::new(|ready| ready.approvals[0].status = ApprovalStatus::Pending)),
        (GateRefusal::NotTwoPeople, Box::new(|ready| ready.approvals[0].review_id = id(9))),
        (GateRefusal::NotTwoPeople, Box::new(|ready| ready.approvals[0].response = None)),
        (
            GateRefusal::NotTwoPeople,
            Box::new(|ready| {
                let behind = Behind::act(id(2), &[], id(1));
                ready.approvals[0].response.as_mut().unwrap().behind = behind;
            }),
        ),
        (
            GateRefusal::NotTwoPeople,
            Box::new(|ready| ready.revision.provenance = ready.revision.provenance.with(&alone(id(2)))),
        ),
        (GateRefusal::Blocked, Box::new(|ready| ready.unfinished = vec![id(70)])),
        (GateRefusal::TooSoon(at(21)), Box::new(|ready| ready.task.not_before = Some(at(21)))),
        (GateRefusal::AtCapacity, Box::new(|ready| ready.capacity_left = 0)),
    ];
    for (number, (refusal, change)) in table.into_iter().enumerate() {
        assert_eq!(Ready::with(change).knock(), Err(refusal), "case {number}");
    }
    for state in TaskState::ALL.into_iter().filter(|state| *state != TaskState::Approved) {
        let knocked = Ready::with(|ready| ready.task.state = state).knock();
        assert_eq!(knocked, Err(GateRefusal::NotApproved(state)));
    }
}

/// The approved task waits for two others, and two admins (2 asked, 3 signed) let it pass both.
fn skipping() -> Ready {
    Ready::with(|ready| {
        ready.unfinished = vec![id(70), id(71)];
        let mut signed = ready.approvals[0].clone();
        signed.id = id(3001);
        signed.kind = ApprovalKind::Override;
        signed.reviewer_id = id(3);
        signed.routing.asked_by = vec![id(2)];
        signed.routing.skips = vec![id(70), id(71)];
        let response = signed.response.as_mut().unwrap();
        (response.by, response.behind) = (id(3), alone(id(3)));
        let prerequisites = signed.routing.skips.clone();
        let skip = Skip { prerequisites, approval_id: signed.id, signed_by: id(3), signed_at: at(15) };
        ready.grant = ready.grant.skipping(skip);
        ready.approvals.push(signed);
    })
}

#[test]
fn what_two_admins_signed_need_not_be_done() {
    let start = skipping().knock().unwrap();
    assert_eq!((start.attempt, start.grant.skip), (1, skipping().grant.skip), "for every attempt");
    let mut one_is_done = skipping();
    one_is_done.unfinished.pop();
    assert!(one_is_done.knock().is_ok());
    let mut locked = skipping();
    locked.fences.clear();
    assert_eq!(locked.knock(), Err(GateRefusal::OldFence(CACHE.into())), "locks are not skipped");
}

#[test]
fn a_skip_that_is_not_signed_like_this_keeps_it_shut() {
    let signed =
        |change: fn(&mut Approval)| -> Change { Box::new(move |ready| change(&mut ready.approvals[1])) };
    let table: Vec<Change> = vec![
        Box::new(|ready| ready.unfinished.push(id(72))),
        Box::new(|ready| ready.grant.skip = None),
        Box::new(|ready| ready.approvals.truncate(1)),
        Box::new(|ready| ready.grant.skip.as_mut().unwrap().approval_id = id(9)),
        Box::new(|ready| ready.grant.skip.as_mut().unwrap().prerequisites.push(id(72))),
        signed(|signed| signed.review_id = id(9)),
        signed(|signed| signed.content_hash = Sha256Hash::of(b"other")),
        signed(|signed| signed.status = ApprovalStatus::Rejected),
        signed(|signed| signed.kind = ApprovalKind::Review),
        signed(|signed| signed.routing.skips = vec![id(70)]),
        signed(|signed| signed.routing.asked_by = vec![id(3)]),
        signed(|signed| signed.routing.asked_by.clear()),
        signed(|signed| signed.response = None),
        Box::new(|ready| ready.revision.provenance = ready.revision.provenance.with(&alone(id(3)))),
    ];
    for (number, change) in table.into_iter().enumerate() {
        let mut changed = skipping();
        change(&mut changed);
        assert_eq!(changed.knock(), Err(GateRefusal::Blocked), "case {number}");
    }
    // Who signed that it need not wait has not said yes to the task.
    let mut alone = skipping();
    alone.approvals.remove(0);
    assert_eq!(alone.knock(), Err(GateRefusal::NotTwoPeople));
}

#[test]
fn what_others_work_on_keeps_it_shut() {
    let claim = |name: &str| Claim::none(name.to_owned());
    let table: Vec<(GateRefusal, Change)> = vec![
        (
            GateRefusal::Claimed(DATABASE.into()),
            Box::new(move |ready| {
                let taken = Claim { exclusive_by: Some(id(9)), ..claim(DATABASE) };
                ready.claims.insert(DATABASE.into(), taken);
            }),
        ),
        (
            GateRefusal::Claimed(DATABASE.into()),
            Box::new(move |ready| {
                ready.claims.insert(DATABASE.into(), Claim { shared_count: 1, ..claim(DATABASE) });
            }),
        ),
        (
            GateRefusal::Claimed(CACHE.into()),
            Box::new(move |ready| {
                ready.claims.insert(CACHE.into(), Claim { exclusive_by: Some(id(9)), ..claim(CACHE) });
            }),
        ),
        (
            GateRefusal::OldFence(DATABASE.into()),
            Box::new(move |ready| {
                ready.claims.insert(DATABASE.into(), Claim { high_fence: 8, ..claim(DATABASE) });
            }),
        ),
        (
            GateRefusal::OldFence(CACHE.into()),
            Box::new(|ready| {
                ready.fences.remove(CACHE);
            }),
        ),
    ];
    for (number, (refusal, change)) in table.into_iter().enumerate() {
        assert_eq!(Ready::with(change).knock(), Err(refusal), "case {number}");
    }
}

#[test]
fn an_old_grant_still_serves_its_next_attempt() {
    let retried = Ready::with(|ready| {
        ready.grant.attempts_started = 1;
        ready.now = at(10_000_000_000);
    });
    assert_eq!(retried.knock().unwrap().attempt, 2);
}

#[test]
fn auto_approval_needs_no_vote() {
    let auto = Ready::with(|ready| {
        ready.grant.basis = Basis::Auto;
        ready.approvals.clear();
    });
    assert!(auto.knock().is_ok());
}

#[test]
fn what_is_shared_is_shared_and_the_fence_only_grows() {
    let beside = Ready::with(|ready| {
        let shared = Claim { shared_count: 2, high_fence: 8, ..Claim::none(CACHE.to_owned()) };
        ready.claims.insert(CACHE.into(), shared);
    });
    let start = beside.knock().unwrap();
    assert_eq!((start.claims[0].shared_count, start.claims[0].high_fence), (3, 8));
}

#[test]
fn an_end_lets_go_of_its_own_claims_only() {
    let start = ready().knock().unwrap();
    let held: BTreeMap<String, Claim> =
        start.claims.iter().map(|claim| (claim.resource.clone(), claim.clone())).collect();
    let resources = ready().resources;
    let freed = released(&held, &resources, id(5000));
    assert!(freed.iter().all(|claim| claim.exclusive_by.is_none() && claim.shared_count == 0));
    assert_eq!(freed.iter().map(|claim| claim.high_fence).collect::<Vec<_>>(), [8, 7], "fences stay");
    let strangers = released(&held, &resources[..1], id(9));
    assert_eq!(strangers, [], "another attempt holds it");
}

#[test]
fn a_start_at_its_hour_forgets_it() {
    let waited = Ready::with(|ready| ready.task.not_before = Some(at(20)));
    assert_eq!(waited.knock().unwrap().task.not_before, None);
}

/// A task that failed, whose only attempt somebody asked to have undone.
fn failed() -> (Ready, Execution) {
    let ready = Ready::with(|ready| {
        ready.task.state = TaskState::Failed;
        ready.grant.attempts_started = ready.grant.attempts;
        ready.now = at(10_000_000_000);
    });
    let begun = beginning(4999, Purpose::Apply, at(20));
    let attempt = Execution::begun(&ready.task, &ready.grant, 1, begun);
    (ready, attempt.rolled_back(Rollback::Asked, at(30)))
}

#[test]
fn what_was_asked_for_is_undone_under_claims_of_its_own() {
    let (ready, attempt) = failed();
    let start = roll_back(&ready.facts(), &attempt).unwrap();
    assert_eq!(start.undone.rollback, Rollback::Running);
    let claimed: Vec<&str> = start.claims.iter().map(|claim| claim.resource.as_str()).collect();
    assert_eq!(claimed, [CACHE, DATABASE]);
    assert_eq!(start.claims[1].exclusive_by, Some(id(5000)));
}

#[test]
fn what_keeps_it_from_being_undone() {
    let (_, attempt) = failed();
    let other = Sha256Hash::of(b"other");
    let table: Vec<(GateRefusal, Change)> = vec![
        (GateRefusal::Voided, Box::new(|ready| ready.grant.voided_at = Some(at(1)))),
        (GateRefusal::OtherTask, Box::new(|ready| ready.grant.task_id = id(9))),
        (GateRefusal::OtherContent, Box::new(move |ready| ready.grant.content_hash = other)),
        (GateRefusal::OtherContent, Box::new(|ready| ready.revision.config.push(b' '))),
        (GateRefusal::OtherEffect, Box::new(move |ready| ready.task.effect_hash = Some(other))),
        (GateRefusal::NotTwoPeople, Box::new(|ready| ready.approvals.clear())),
        (GateRefusal::AtCapacity, Box::new(|ready| ready.capacity_left = 0)),
        (
            GateRefusal::Claimed(DATABASE.into()),
            Box::new(|ready| {
                let taken = Claim { exclusive_by: Some(id(9)), ..Claim::none(DATABASE.to_owned()) };
                ready.claims.insert(DATABASE.into(), taken);
            }),
        ),
    ];
    for (number, (refusal, change)) in table.into_iter().enumerate() {
        let (mut ready, _) = failed();
        change(&mut ready);
        assert_eq!(roll_back(&ready.facts(), &attempt), Err(refusal), "case {number}");
    }
    for rollback in Rollback::ALL.into_iter().filter(|rollback| *rollback != Rollback::Asked) {
        let (ready, attempt) = failed();
        let tried = attempt.rolled_back(rollback, at(31));
        assert_eq!(roll_back(&ready.facts(), &tried), Err(GateRefusal::NoRollback), "{rollback:?}");
    }
    for state in TaskState::ALL.into_iter().filter(|state| *state != TaskState::Failed) {
        let (mut ready, attempt) = failed();
        ready.task.state = state;
        assert_eq!(roll_back(&ready.facts(), &attempt), Err(GateRefusal::NotApproved(state)));
    }
}
