//! The steps: what can happen next, and what comes of it.

use super::world::{
    ATTEMPTS, AUTHOR, EDITS, EXECUTION, Given, Granted, OTHER_EXECUTION, PEOPLE, Round, World, account,
    fences, hash, resources,
};
use super::{End, Rules, Step};
use crate::approvals::Answer;
use crate::executions::{Execution, Matter, Outcome, Purpose, Report};
use crate::gate::Facts;
use crate::reviews::{Ballot, Ending, Resolution, Review, Terms, end, withdraw};
use crate::sample::{alone, at, beginning, id, task_config};
use crate::tasks::{Actor, Move, RollbackStrategy, TaskState, next};

const VOTERS: [Answer; 3] = Answer::ALL;

/// Everything somebody may try.
pub(super) fn possible(rules: &Rules, world: &World, steps: &mut Vec<Step>) {
    let has_rounds_left = world.round.as_ref().is_none_or(|round| round.number < rules.rounds);
    use TaskState::{Applying, Approved, Draft, Reviewing};
    steps.push(Step::Cancel);
    match world.state {
        Draft if has_rounds_left => steps.push(Step::Submit),
        Reviewing => {
            for person in 0..PEOPLE {
                for answer in VOTERS {
                    steps.extend((1..=world.revision).map(|seen| Step::Vote { person, answer, seen }));
                }
            }
        }
        Approved => {
            steps.extend([Step::Withdraw, Step::GrantGrowsOld]);
            if has_rounds_left {
                steps.push(Step::ReviewAgain);
            }
        }
        Applying => steps.extend(End::ALL.map(|how| Step::EndAttempt { how })),
        _ => (),
    }
    steps.push(Step::Start);
    steps.push(if world.other_runs { Step::OtherEnds } else { Step::OtherStarts });
    if world.revision <= EDITS && has_rounds_left {
        steps.extend([AUTHOR, 1].map(|person| Step::Edit { person }));
    }
    if world.policy_version == 1 {
        steps.push(Step::ChangePolicy);
    }
    // One of them loses the role, another one the account.
    steps.push(Step::ChangeRole { person: 2 });
    if world.is_active[3] {
        steps.push(Step::Suspend { person: 3 });
    }
}

/// The world after a step; none if it was refused.
pub(super) fn take(rules: &Rules, world: &World, step: Step) -> Option<World> {
    let mut after = world.clone();
    match step {
        Step::Submit => {
            after.state = next(world.state, Move::Submit, author()).ok()?;
            begin_review(rules, &mut after)?;
        }
        Step::Vote { person, answer, seen } => return vote(rules, world, person, Given { answer, seen }),
        Step::Edit { person } => edit(rules, &mut after, person)?,
        Step::ChangePolicy => after.policy_version += 1,
        Step::ChangeRole { person } => after.has_role[person] = !world.has_role[person],
        Step::Suspend { person } => after.is_active[person] = false,
        Step::Cancel => {
            after.state = next(world.state, Move::Cancel, author()).ok()?;
            close(&mut after);
        }
        Step::Withdraw => return take_back(world),
        Step::GrantGrowsOld => after.grant.as_mut()?.is_old = true,
        Step::ReviewAgain => {
            let grant = world.grant.as_ref()?;
            if !grant.grant(&world.task()).is_stale(at(20)) {
                return None;
            }
            after.state = next(world.state, Move::ReviewAgain, Actor::HUB).ok()?;
            close(&mut after);
            ask(rules, &mut after);
        }
        Step::Start => return start(rules, world),
        Step::EndAttempt { how } => end_attempt(rules, &mut after, how)?,
        Step::OtherStarts => {
            other(rules, world)?;
            after.other_runs = true;
        }
        Step::OtherEnds => after.other_runs = false,
    }
    Some(after)
}

fn author() -> Actor {
    Actor { is_author: true, ..Actor::default() }
}

fn close(world: &mut World) {
    if let Some(round) = &mut world.round {
        round.is_over = true;
    }
    world.grant = None;
}

fn begin_review(rules: &Rules, world: &mut World) -> Option<()> {
    world.state = next(world.state, Move::BeginReview, Actor::HUB).ok()?;
    ask(rules, world);
    Some(())
}

fn ask(rules: &Rules, world: &mut World) {
    let asked = (0..PEOPLE)
        .filter(|person| world.is_eligible(*person) && !(rules.asks_strangers_only && world.hands[*person]));
    let seats = asked.map(|person| (person, None)).collect();
    let number = world.round.as_ref().map_or(0, |round| round.number) + 1;
    let (revision, policy_version) = (world.revision, world.policy_version);
    world.round = Some(Round { number, revision, policy_version, seats, is_over: false });
}

fn vote(rules: &Rules, world: &World, person: usize, given: Given) -> Option<World> {
    // Whoever is suspended does not get this far.
    let round = world.round.as_ref().filter(|_| world.is_active[person])?;
    let case = world.case(round);
    let seen = Review::hash(hash(given.seen), given.seen.into(), None, 40, &case.review.policies);
    let ballot = Ballot {
        approval_id: id(person as u128 + 1),
        answer: given.answer,
        reason: None,
        content_hash: hash(given.seen),
        review_hash: Some(seen),
        voter: account(person),
        behind: alone(account(person)),
    };
    let counted = (rules.vote)(&case, &ballot).ok()?;
    let mut after = world.clone();
    let round = after.round.as_mut()?;
    round.seats.insert(person, Some(given));
    let Some(resolution) = counted.resolution else { return Some(after) };
    let actor = Actor { is_reviewer: true, ..Actor::default() };
    let ending = Ending { resolution, by: Some(account(person)), actor, at: at(10) };
    let terms = Terms { id: id(4000), attempts: ATTEMPTS, validity: std::time::Duration::from_secs(1) };
    let ended = end(&case.task, &case.review, ending, terms).ok()?;
    round.is_over = true;
    after.state = ended.task.state;
    after.grant = ended.grant.map(|_| Granted {
        round: round.number,
        revision: round.revision,
        policy_version: round.policy_version,
        started: 0,
        is_old: false,
    });
    Some(after)
}

fn edit(rules: &Rules, world: &mut World, person: usize) -> Option<()> {
    let actor = Actor { is_author: person == AUTHOR, is_admin: person != AUTHOR, ..Actor::default() };
    world.state = next(world.state, Move::Edit, actor).ok()?;
    world.revision += 1;
    world.hands[person] = true;
    if world.state != TaskState::Reviewing {
        return Some(());
    }
    if rules.edit_restarts {
        close(world);
        ask(rules, world);
    } else if let Some(round) = &mut world.round {
        round.revision = world.revision;
    }
    Some(())
}

fn take_back(world: &World) -> Option<World> {
    let (round, grant) = (world.round.as_ref()?, world.grant.as_ref()?);
    let case = world.case(round);
    let actor = Actor { is_reviewer: true, ..Actor::default() };
    let ending = Ending { resolution: Resolution::Withdrawn, by: None, actor, at: at(10) };
    let ended = withdraw(&case.task, &case.review, &grant.grant(&case.task), ending).ok()?;
    let mut after = world.clone();
    after.state = ended.task.state;
    close(&mut after);
    Some(after)
}

/// Knocks at the gate, whatever there is to show; what is not there is made up, as an attacker would.
fn start(rules: &Rules, world: &World) -> Option<World> {
    let task = world.task();
    let made_up = Granted {
        round: world.round.as_ref().map_or(0, |round| round.number),
        revision: world.revision,
        policy_version: world.policy_version,
        started: 0,
        is_old: false,
    };
    let held = world.grant.clone().unwrap_or(made_up);
    let (revision, approvals) = (world.bytes(), world.approvals());
    let started = (rules.gate)(&Facts {
        task: &task,
        revision: &revision,
        resources: &resources(),
        grant: &held.grant(&task),
        approvals: &approvals,
        unfinished: &[],
        capacity_left: 1,
        claims: &world.claims(),
        fences: &fences(),
        execution: id(EXECUTION),
        now: at(20),
    });
    let started = started.ok()?;
    let mut after = world.clone();
    note(&mut after);
    after.state = started.task.state;
    after.grant = Some(Granted { started: started.grant.attempts_started, ..held });
    Some(after)
}

/// What the promises will be asked of, looked up without the rules' help.
fn note(world: &mut World) {
    let round = world.round.as_ref();
    let yes = |given: &Given| given.answer == Answer::Approve;
    let votes: Vec<(usize, Given)> = round
        .map(|round| round.seats.iter().filter_map(|(person, given)| Some((*person, (*given)?))).collect())
        .unwrap_or_default();
    let yes: Vec<&(usize, Given)> = votes.iter().filter(|(_, given)| yes(given)).collect();
    let history = &mut world.history;
    history.starts += 1;
    let is_approved = world.state == TaskState::Approved && world.grant.is_some() && yes.len() >= 2;
    history.unapproved += u8::from(!is_approved);
    history.other_content += u8::from(yes.iter().any(|(_, given)| given.seen != world.revision));
    history.too_often += u8::from(u32::from(history.starts) > ATTEMPTS);
    history.after_doubt += u8::from(history.in_doubt);
    history.own_votes += u8::from(yes.iter().any(|(person, _)| world.hands[*person]));
}

fn end_attempt(rules: &Rules, world: &mut World, how: End) -> Option<()> {
    let held = world.grant.as_ref()?;
    let task = world.task();
    let grant = held.grant(&task);
    let begun = beginning(EXECUTION, Purpose::Apply, at(20));
    let execution = Execution::begun(&task, &grant, held.started, begun);
    let config = task_config(RollbackStrategy::None, rules.idempotent);
    let report = match how {
        End::Completed => Report::Completed,
        End::Failed => Report::Failed { error: "no".into(), details: None },
        End::Lost => Report::Lost,
        End::TimedOut => Report::TimedOut,
        End::LockLost => Report::LockLost,
        End::Cancelled => Report::Cancelled,
    };
    let (execution, config) = (&execution, &config);
    let matter = Matter { task: &task, execution, grant: &grant, config, jitter: 0.5, now: at(30) };
    let settled = (rules.settle)(&matter, &report).ok()?;
    world.state = settled.task.state;
    let is_known = settled.execution.outcome == Some(Outcome::Known);
    world.history.in_doubt |= !is_known && !rules.idempotent;
    Some(())
}

/// Another task, long approved, knocks at the same gate for the same thing.
fn other(rules: &Rules, world: &World) -> Option<()> {
    let mut approved = World::new();
    approved.state = TaskState::Approved;
    let given = Some(Given { answer: Answer::Approve, seen: 1 });
    let seats = [(2, given), (3, given)].into_iter().collect();
    approved.round = Some(Round { number: 1, revision: 1, policy_version: 1, seats, is_over: true });
    let held = Granted { round: 1, revision: 1, policy_version: 1, started: 0, is_old: false };
    let task = approved.task();
    let started = (rules.gate)(&Facts {
        task: &task,
        revision: &approved.bytes(),
        resources: &resources(),
        grant: &held.grant(&task),
        approvals: &approved.approvals(),
        unfinished: &[],
        capacity_left: 1,
        claims: &world.claims(),
        fences: &fences(),
        execution: id(OTHER_EXECUTION),
        now: at(20),
    });
    started.ok().map(drop)
}
