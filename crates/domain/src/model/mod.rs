//! Every order in which things can happen to a task, tried (promises 1 to 5).
//!
//! A small world (two tasks that touch one thing, four people, two policies) is walked through breadth first, each step
//! by the rules themselves: the votes, the resolution and the gate of this crate. What the promises say is asked of a
//! history that the world keeps beside the rules, in words of its own. Then the same with one rule broken at a time: the
//! walk must find each.

mod people;
mod steps;
mod world;

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::executions::{AttemptEnded, Matter, Report, Settled, settle};
use crate::gate::{Claim, Facts, GateRefusal, Start, gate};
use crate::reviews::{Ballot, Case, Counted, VoteRefusal};
use crate::sample::at;
use crate::tasks::{Provenance, TaskState};
use world::World;

/// The rules that the world lives by; a broken one is put in their place.
#[derive(Clone, Copy)]
struct Rules {
    vote: fn(&Case, &Ballot) -> Result<Counted, VoteRefusal>,
    gate: fn(&Facts<'_>) -> Result<Start, GateRefusal>,
    settle: fn(&Matter<'_>, &Report) -> Result<Settled, AttemptEnded>,
    /// Whether repeating the task does no harm.
    idempotent: bool,
    /// Whether whoever had a hand in a task is left out when people are asked.
    asks_strangers_only: bool,
    /// Whether an edit voids the answers to what was there before.
    edit_restarts: bool,
    /// How often people are asked at most.
    rounds: u8,
}

const SOUND: Rules = Rules {
    vote: |case, ballot| case.vote(ballot, at(10)),
    gate,
    settle,
    idempotent: true,
    asks_strangers_only: true,
    edit_restarts: true,
    rounds: 2,
};

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Submit,
    /// A person answers what they saw: this revision.
    Vote {
        person: usize,
        answer: crate::approvals::Answer,
        seen: u8,
    },
    Edit {
        person: usize,
    },
    ChangePolicy,
    ChangeRole {
        person: usize,
    },
    Suspend {
        person: usize,
    },
    Cancel,
    Withdraw,
    GrantGrowsOld,
    ReviewAgain,
    Start,
    EndAttempt {
        how: End,
    },
    OtherStarts,
    OtherEnds,
}

/// How an attempt can end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum End {
    Completed,
    Failed,
    Lost,
    TimedOut,
    LockLost,
    Cancelled,
}

impl End {
    const ALL: [Self; 6] =
        [Self::Completed, Self::Failed, Self::Lost, Self::TimedOut, Self::LockLost, Self::Cancelled];
}

impl Model for Rules {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        steps::possible(self, world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        steps::take(self, world, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("1 nothing runs unapproved", |_: &Rules, world: &World| {
                world.history.unapproved == 0
            }),
            Property::always("2 what was approved is what runs", |_: &Rules, world: &World| {
                world.history.other_content == 0
            }),
            Property::always("3 once", |_: &Rules, world: &World| {
                world.history.too_often == 0 && world.history.after_doubt == 0
            }),
            Property::always("4 one at a time", |_: &Rules, world: &World| {
                !(world.is_running() && world.other_runs)
            }),
            Property::always("5 two people", |_: &Rules, world: &World| world.history.own_votes == 0),
            // The walk is worth something only if it gets everywhere.
            Property::sometimes("completed", |_: &Rules, world: &World| world.state == TaskState::Completed),
            Property::sometimes("failed", |_: &Rules, world: &World| world.state == TaskState::Failed),
            Property::sometimes("rejected", |_: &Rules, world: &World| world.state == TaskState::Rejected),
            Property::sometimes("cancelled", |_: &Rules, world: &World| world.state == TaskState::Cancelled),
            Property::sometimes("retried", |_: &Rules, world: &World| world.history.starts == 2),
            Property::sometimes("approved a second revision", |_: &Rules, world: &World| {
                world.state == TaskState::Approved && world.revision == 2
            }),
        ]
    }
}

const PROMISES: [&str; 5] = [
    "1 nothing runs unapproved",
    "2 what was approved is what runs",
    "3 once",
    "4 one at a time",
    "5 two people",
];

#[test]
fn every_order_keeps_the_promises() {
    // All of them before an issue is called done, a tenth otherwise.
    let is_soak = std::env::var("COUNTERSIGN_TEST_SCALE").is_ok_and(|scale| scale == "1");
    let checked =
        Rules { rounds: if is_soak { 3 } else { 2 }, ..SOUND }.checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
    let states = checked.unique_state_count();
    println!("{states} states");
    assert!(states > 10_000, "so small a world proves little: {states} states");
}

/// The promise that the walk finds broken.
fn broken(rules: Rules) -> Vec<&'static str> {
    let checked = rules.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checked.discoveries();
    PROMISES.into_iter().filter(|promise| found.contains_key(promise)).collect()
}

#[test]
fn a_gate_that_does_not_ask_for_approval_is_found() {
    let gate = |facts: &Facts<'_>| {
        let mut task = facts.task.clone();
        task.state = TaskState::Approved;
        gate(&Facts { task: &task, ..*facts })
    };
    let found = broken(Rules { gate, ..SOUND });
    assert!(found.contains(&PROMISES[0]), "{found:?}");
}

#[test]
fn votes_on_what_nobody_saw_are_found() {
    let vote = |case: &Case, ballot: &Ballot| {
        let content_hash = case.task.content_hash;
        case.vote(&Ballot { content_hash, review_hash: None, ..ballot.clone() }, at(10))
    };
    assert_eq!(broken(Rules { vote, ..SOUND }), [PROMISES[1]]);
}

#[test]
fn an_edit_that_keeps_old_answers_is_found() {
    assert_eq!(broken(Rules { edit_restarts: false, ..SOUND }), [PROMISES[1]]);
}

#[test]
fn attempts_that_are_not_counted_are_found() {
    let gate = |facts: &Facts<'_>| {
        let mut start = gate(facts)?;
        start.grant.attempts_started = facts.grant.attempts_started;
        Ok(start)
    };
    assert_eq!(broken(Rules { gate, ..SOUND }), [PROMISES[2]]);
}

/// What may not be repeated runs once, however it ended; nobody knows what a lost agent has done.
#[test]
fn what_may_not_be_repeated_is_not() {
    let once = Rules { idempotent: false, rounds: 1, ..SOUND };
    assert_eq!(broken(once), [] as [&str; 0]);
    let settle = |matter: &Matter<'_>, report: &Report| {
        let config = crate::tasks::TaskConfig { idempotent: true, ..matter.config.clone() };
        settle(&Matter { config: &config, ..*matter }, report)
    };
    assert_eq!(broken(Rules { settle, ..once }), [PROMISES[2]]);
}

#[test]
fn claims_that_are_not_looked_at_are_found() {
    let gate = |facts: &Facts<'_>| {
        let nobody = facts.claims.keys().map(|name| (name.clone(), Claim::none(name.clone()))).collect();
        gate(&Facts { claims: &nobody, ..*facts })
    };
    assert_eq!(broken(Rules { gate, ..SOUND }), [PROMISES[3]]);
}

#[test]
fn authors_who_vote_are_found_if_all_three_looks_fail() {
    let vote = |case: &Case, ballot: &Ballot| {
        Case { provenance: Provenance::default(), ..case.clone() }.vote(ballot, at(10))
    };
    let blind = |facts: &Facts<'_>| {
        let mut revision = facts.revision.clone();
        revision.provenance = Provenance::default();
        gate(&Facts { revision: &revision, ..*facts })
    };
    let once = Rules { rounds: 1, ..SOUND };
    assert_eq!(broken(Rules { vote, gate: blind, asks_strangers_only: false, ..once }), [PROMISES[4]]);
    // Any one of them is enough.
    for guarded in [
        Rules { gate: blind, asks_strangers_only: false, ..once },
        Rules { vote, gate: blind, ..once },
        Rules { vote, asks_strangers_only: false, ..once },
    ] {
        assert_eq!(broken(guarded), [] as [&str; 0]);
    }
}
