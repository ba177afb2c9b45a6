//! Every order in which people can change while a task is reviewed: delegations made and taken back, leaves, somebody
//! who is deactivated and replaced, two admins who override. The steps are the rules themselves; what the promise says
//! is asked of a history that is kept beside them.

mod steps;
mod world;

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::approvals::{Answer, ApprovalKind, ApprovalStatus, Response};
use crate::reviews::{Ballot, Case, Counted, Ladder, Resolution, Step as Escalated, VoteRefusal};
use crate::sample::{alone, at, id};
use crate::tasks::Provenance;
use world::{
    ALICE, AUTHOR, BOB, CAROL, LEAVE, MAX, PEOPLE, Phase, Skipping, TO_AUTHOR, TO_CAROL, World, account,
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Submit,
    Say(usize),
    TakeBack(usize),
    Move(usize),
    Deactivate(usize),
    Vote { person: usize, answer: Answer },
    AskOverride(usize),
    Sign(usize),
    AskSkip(usize),
    SignSkip(usize),
    TimeIsUp,
}

#[derive(Clone, Copy)]
struct Rules {
    vote: fn(&Case, &Ballot) -> Result<Counted, VoteRefusal>,
    /// Whether delegations are looked at again when a vote is cast.
    looks_again: bool,
    /// Whether people are looked at as they are now.
    sees_who_left: bool,
    /// Whether whoever asks for an override is left out of those who sign.
    asks_another: bool,
    /// Whether a chain that leads to the author is void.
    voids: bool,
    /// What follows when the time of the policy is over.
    time_is_up: fn(&Case, &Ladder<'_>) -> Escalated,
}

const SOUND: Rules = Rules {
    vote: |case, ballot| case.vote(ballot, at(10)),
    looks_again: true,
    sees_who_left: true,
    asks_another: true,
    voids: true,
    time_is_up: |case, ladder| case.time_is_up(0, ladder, at(10)),
};

impl Model for Rules {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.is_over == Some(true) {
            // It is approved, and waits for another: two admins may let it pass.
            steps.extend([AUTHOR, CAROL, MAX].map(Step::AskSkip));
            steps.extend([AUTHOR, CAROL, MAX].map(Step::SignSkip));
            steps.push(Step::Deactivate(CAROL));
        }
        if world.is_over.is_some() {
            return;
        }
        if world.requests.is_empty() {
            steps.push(Step::Submit);
        }
        for number in [LEAVE, TO_CAROL, TO_AUTHOR] {
            match world.says[number] {
                // Before the review begins, except for a leave.
                Phase::Unsaid if number == LEAVE || world.requests.is_empty() => {
                    steps.push(Step::Say(number))
                }
                Phase::Holds if number != TO_AUTHOR => steps.push(Step::TakeBack(number)),
                Phase::Unsaid | Phase::Holds | Phase::Over => {}
            }
        }
        if world.requests.is_empty() {
            return;
        }
        steps.extend([ALICE, BOB].map(Step::Move));
        steps.extend([BOB, CAROL].map(Step::Deactivate));
        for person in 0..PEOPLE {
            steps.push(Step::Vote { person, answer: Answer::Approve });
        }
        steps.push(Step::Vote { person: BOB, answer: Answer::Reject });
        steps.extend([AUTHOR, CAROL].map(Step::AskOverride));
        steps.extend([AUTHOR, CAROL, MAX].map(Step::Sign));
        steps.push(Step::TimeIsUp);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut after = world.clone();
        match step {
            Step::Submit => steps::submit(self, &mut after),
            Step::Say(number) => after.says[number] = Phase::Holds,
            Step::TakeBack(number) => after.says[number] = Phase::Over,
            Step::Deactivate(person) => after.is_active[person] = false,
            Step::Move(person) => steps::move_open(self, &mut after, person)?,
            Step::Vote { person, answer } => {
                steps::vote(self, &mut after, (person, ApprovalKind::Review), answer)?
            }
            Step::Sign(person) => {
                steps::vote(self, &mut after, (person, ApprovalKind::Override), Answer::Approve)?
            }
            Step::AskOverride(person) => steps::ask_override(self, &mut after, person)?,
            Step::AskSkip(person) => steps::ask_skip(self, &mut after, person)?,
            Step::SignSkip(person) => steps::sign_skip(self, &mut after, person)?,
            Step::TimeIsUp => steps::time_is_up(self, &mut after)?,
        }
        (after != *world).then_some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PROMISES[0], |_: &Rules, world: &World| {
                let is_by_two = |skip: &Skipping| skip.signed_by != Some(skip.asked_by);
                world.approved_by.is_none_or(|people| people >= 2)
                    && world.skip.as_ref().is_none_or(is_by_two)
            }),
            Property::always(PROMISES[1], |_: &Rules, world: &World| world.strangers == 0),
            Property::sometimes("a stand-in decided", |_: &Rules, world: &World| {
                world.approved_by.is_some() && world.entitled.contains(&CAROL) && !world.by_override
            }),
            Property::sometimes("somebody was replaced", |_: &Rules, world: &World| {
                world.approved_by.is_some() && world.entitled.contains(&MAX) && !world.by_override
            }),
            Property::sometimes("the next level decided", |_: &Rules, world: &World| {
                world.approved_by.is_some() && world.level == 1 && world.entitled.contains(&MAX)
            }),
            Property::sometimes("timed out", |_: &Rules, world: &World| world.timed_out),
            Property::sometimes("overridden", |_: &Rules, world: &World| world.by_override),
            Property::sometimes("let past another", |_: &Rules, world: &World| {
                world.skip.as_ref().is_some_and(|skip| skip.signed_by.is_some())
            }),
            Property::sometimes("rejected", |_: &Rules, world: &World| world.is_over == Some(false)),
        ]
    }
}

const STEPS_MAX: usize = 6;
const PROMISES: [&str; 2] = ["two people", "nobody decides who is not, or no longer, the one to"];

/// The promises that the walk finds broken within so many steps; each break takes four at most.
fn broken(rules: Rules) -> Vec<&'static str> {
    let walk = rules.checker().finish_when(HasDiscoveries::AnyFailures).target_max_depth(STEPS_MAX);
    let checked = walk.spawn_bfs().join();
    let found = checked.discoveries();
    PROMISES.into_iter().filter(|promise| found.contains_key(promise)).collect()
}

#[test]
fn every_order_of_people_keeps_the_promises() {
    let checked = SOUND.checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
    let states = checked.unique_state_count();
    println!("{states} states");
    assert!(states > 1_000, "so small a world proves little: {states} states");
}

#[test]
fn a_delegation_that_is_not_looked_at_again_is_found() {
    assert_eq!(broken(Rules { looks_again: false, ..SOUND }), [PROMISES[1]]);
}

#[test]
fn a_stand_in_who_counts_for_each_of_them_is_found() {
    let vote = |case: &Case, ballot: &Ballot| {
        let mut counted = case.vote(ballot, at(10))?;
        let stands_in_for = case.in_place_of(ballot.voter).count();
        if ballot.answer == Answer::Approve && stands_in_for == 2 {
            counted.resolution = Some(Resolution::Quorum);
        }
        Ok(counted)
    };
    assert_eq!(broken(Rules { vote, ..SOUND }), [PROMISES[0]]);
}

#[test]
fn an_override_that_one_admin_signs_alone_is_found() {
    let vote = |case: &Case, ballot: &Ballot| {
        let mut forgetful = case.clone();
        for seat in &mut forgetful.seats {
            if seat.approval.kind == ApprovalKind::Override {
                seat.approval.routing.asked_by = vec![id(777)];
            }
        }
        let mut counted = forgetful.vote(ballot, at(10))?;
        let asked_by = case.seats.iter().find(|seat| seat.approval.id == ballot.approval_id);
        counted.approval.routing.asked_by =
            asked_by.map(|seat| seat.approval.routing.asked_by.clone()).unwrap_or_default();
        Ok(counted)
    };
    assert_eq!(broken(Rules { asks_another: false, vote, ..SOUND }), [PROMISES[0]]);
    // Either look is enough.
    assert_eq!(broken(Rules { asks_another: false, ..SOUND }), [] as [&str; 0]);
    assert_eq!(broken(Rules { vote, ..SOUND }), [] as [&str; 0]);
}

#[test]
fn whoever_left_and_still_decides_is_found() {
    assert_eq!(broken(Rules { sees_who_left: false, ..SOUND }), [PROMISES[1]]);
}

/// A chain that ends with the author is refused where requests are made, and once more where answers are counted.
#[test]
fn an_author_who_stands_in_is_found_if_both_looks_fail() {
    let blind = |case: &Case, ballot: &Ballot| {
        let mut case = case.clone();
        case.provenance = Provenance::default();
        for seat in &mut case.seats {
            if seat.approval.reviewer_id == account(AUTHOR) && seat.approval.kind == ApprovalKind::Review {
                seat.counts_for = vec![0];
            }
        }
        case.vote(ballot, at(10))
    };
    assert_eq!(broken(Rules { voids: false, ..SOUND }), [] as [&str; 0]);
    assert_eq!(broken(Rules { vote: blind, ..SOUND }), [] as [&str; 0]);
    let found = broken(Rules { voids: false, vote: blind, ..SOUND });
    assert!(found.contains(&PROMISES[0]), "{found:?}");
}

/// Whoever let their time run out answers no more: others are asked instead.
#[test]
fn a_request_that_ran_out_and_is_answered_is_found() {
    let vote = |case: &Case, ballot: &Ballot| {
        let mut generous = case.clone();
        for seat in &mut generous.seats {
            if seat.approval.status == ApprovalStatus::Expired {
                seat.approval.status = ApprovalStatus::Pending;
            }
        }
        generous.vote(ballot, at(10))
    };
    assert_eq!(broken(Rules { vote, ..SOUND }), [PROMISES[1]]);
}

/// Time alone must not agree for anybody.
#[test]
fn a_yes_that_is_counted_for_silence_is_found() {
    let time_is_up = |case: &Case, ladder: &Ladder<'_>| {
        let mut step = case.time_is_up(0, ladder, at(10));
        for changed in step.changed.iter_mut().filter(|changed| changed.status == ApprovalStatus::Expired) {
            let by = changed.reviewer_id;
            let response =
                Response { action: Answer::Approve, reason: None, by, behind: alone(by), at: at(10) };
            *changed = changed.answered(response);
        }
        step
    };
    let found = broken(Rules { time_is_up, ..SOUND });
    assert!(found.contains(&PROMISES[0]), "{found:?}");
}
