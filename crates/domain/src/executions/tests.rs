//! What follows from what, row by row.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::agents::Agent;
use crate::canonical::Sha256Hash;
use crate::gate::undo;
use crate::grants::Basis;
use crate::sample::{at, beginning, id, task, task_config as config};
use crate::tasks::{Action, TaskConfig};

const SECOND: i64 = 1_000_000;

fn grant(attempts: u32, started: u32) -> Grant {
    let task = task(id(1));
    Grant {
        id: id(4000),
        org_id: task.org_id,
        task_id: task.id,
        review_id: id(2000),
        revision: 1,
        content_hash: Sha256Hash::of(b"x"),
        effect_hash: None,
        policy_versions: Vec::new(),
        basis: Basis::Auto,
        attempts,
        attempts_started: started,
        valid_until: at(1000 * SECOND),
        skip: None,
        voided_at: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn running(purpose: Purpose) -> Execution {
    Execution::begun(&task(id(1)), &grant(1, 1), 1, beginning(5000, purpose, at(SECOND)))
}

fn failed() -> Report {
    Report::Failed { error: "no".into(), details: None }
}

/// State, result, outcome, phase, rollback, whether it is over, whether somebody has to look.
type Row = (TaskState, Option<&'static str>, Option<&'static str>, Phase, Rollback, bool, bool);

fn row(settled: &Settled) -> Row {
    let Settled { task, execution } = settled;
    (
        task.state,
        execution.result.map(ExecutionResult::as_str),
        execution.outcome.map(Outcome::as_str),
        execution.phase(),
        execution.rollback,
        execution.ended_at.is_some(),
        task.needs_attention,
    )
}

fn settled(execution: &Execution, config: &TaskConfig, grant: &Grant, report: &Report) -> Settled {
    let state = match execution.purpose {
        Purpose::Apply => TaskState::Applying,
        Purpose::Rollback => TaskState::Failed,
    };
    let task = Task { state, needs_attention: state == TaskState::Failed, ..task(id(1)) };
    settle(&Matter { task: &task, execution, grant, config, jitter: 0.5, now: at(10 * SECOND) }, report)
        .unwrap()
}

#[test]
fn what_follows_from_the_work() {
    use RollbackStrategy::{Automatic, Manual, None as Nothing};
    use TaskState::{Applying, Approved, Completed, Failed};
    let (known, unknown) = (Some("known"), Some("unknown"));
    let (success, failure) = (Some("success"), Some("failure"));
    let ended = |state, result, outcome, looks| -> Row {
        (state, result, outcome, Phase::Ended, Rollback::None, true, looks)
    };
    let rolling: Row = (Applying, failure, known, Phase::RollingBack, Rollback::Running, false, false);
    let unclear = |report: &Report| match report {
        Report::TimedOut => Some("timeout"),
        Report::Cancelled => Some("cancelled"),
        _ => failure,
    };
    for strategy in [Automatic, Manual, Nothing] {
        let once = (config(strategy, false), grant(1, 1));
        let last = (config(strategy, true), grant(2, 2));
        let again = (config(strategy, true), grant(2, 1));
        let apply = running(Purpose::Apply);
        let follows = |(config, grant): &(TaskConfig, Grant), report: &Report| {
            row(&settled(&apply, config, grant, report))
        };
        for case in [&once, &last, &again] {
            assert_eq!(follows(case, &Report::Completed), ended(Completed, success, known, false));
        }
        for case in [&once, &last] {
            let right = match strategy {
                Automatic => rolling,
                Manual => ended(Failed, failure, known, true),
                Nothing => ended(Failed, failure, known, false),
            };
            assert_eq!(follows(case, &failed()), right, "{strategy:?}");
        }
        assert_eq!(follows(&again, &failed()), ended(Approved, failure, known, false));
        for report in [Report::Lost, Report::TimedOut, Report::LockLost, Report::Cancelled] {
            let result = unclear(&report);
            for case in [&once, &last] {
                assert_eq!(follows(case, &report), ended(Failed, result, unknown, true), "{report:?}");
            }
            let state = if report == Report::Cancelled { Failed } else { Approved };
            let looks = state == Failed;
            assert_eq!(follows(&again, &report), ended(state, result, unknown, looks), "{report:?}");
        }
    }
}

#[test]
fn what_follows_from_undoing_it() {
    let config = config(RollbackStrategy::Automatic, false);
    let grant = grant(1, 1);
    let rolling = settled(&running(Purpose::Apply), &config, &grant, &failed()).execution;
    assert_eq!(rolling.deadline_at, at(70 * SECOND), "undoing has a time of its own");
    let failed_at = |execution: &Execution| execution.failed_and_undone_since(config.timeout());
    assert_eq!(failed_at(&rolling), Some(at(10 * SECOND)), "and it began when the work failed");
    let heard = rolling.heard(Duration::from_secs(30), at(20 * SECOND)).unwrap();
    assert_eq!(failed_at(&heard), Some(at(10 * SECOND)), "whoever is heard changes nothing about that");
    assert_eq!(failed_at(&running(Purpose::Apply)), None);
    assert_eq!(failed_at(&settled(&rolling, &config, &grant, &Report::Completed).execution), None);
    let over = |rollback, outcome, looks| -> Row {
        (TaskState::Failed, Some("failure"), Some(outcome), Phase::Ended, rollback, true, looks)
    };
    let follows = |report: &Report| row(&settled(&rolling, &config, &grant, report));
    assert_eq!(follows(&Report::Completed), over(Rollback::Succeeded, "known", false));
    assert_eq!(follows(&failed()), over(Rollback::Failed, "known", true));
    for report in [Report::Lost, Report::TimedOut, Report::LockLost, Report::Cancelled] {
        assert_eq!(follows(&report), over(Rollback::Failed, "unknown", true), "{report:?}");
    }
}

#[test]
fn why_it_was_not_undone_stands_beside_why_it_failed() {
    let (config, grant) = (config(RollbackStrategy::Automatic, false), grant(1, 1));
    let says = |error: &str, details: Value| Report::Failed { error: error.into(), details: Some(details) };
    let rolling = |details: Value| {
        settled(&running(Purpose::Apply), &config, &grant, &says("no room", details)).execution
    };
    assert_eq!(rolling(json!({"disk": 1})).not_undone(), None);
    let refused = says("UNDO_REFUSED: it cannot be shrunk", json!({"volume": 2}));
    let ended = settled(&rolling(json!({"disk": 1})), &config, &grant, &refused).execution;
    let why = NotUndone { error: "UNDO_REFUSED: it cannot be shrunk", is_by_hub: false };
    assert_eq!((ended.error.as_deref(), ended.not_undone()), (Some("no room"), Some(why)));
    let both = json!({"disk": 1, "rollback_error": why.error, "rollback_error_details": {"volume": 2}});
    assert_eq!(ended.error_details, Some(both));
    let late = settled(&rolling(json!({"disk": 1})), &config, &grant, &Report::TimedOut).execution;
    assert_eq!(late.not_undone(), Some(NotUndone { error: TIMEOUT, is_by_hub: true }));
    // Whatever the agent called its own words, they are neither lost nor taken for these.
    let forged = rolling(json!({"rollback_error": "mine"}));
    assert_eq!(forged.not_undone(), None);
    let ended = settled(&forged, &config, &grant, &Report::Lost).execution;
    let kept = json!({"first": {"rollback_error": "mine"}, "rollback_error": "AGENT_LOST"});
    assert_eq!(ended.error_details, Some(kept));
    let undone = settled(&rolling(json!({"disk": 1})), &config, &grant, &Report::Completed).execution;
    assert_eq!(undone.not_undone(), None);
    assert_eq!(undone.error_details, Some(json!({"disk": 1})));
}

#[test]
fn a_rollback_that_was_asked_for_leaves_the_task_failed() {
    let (config, grant) = (config(RollbackStrategy::Manual, false), grant(1, 1));
    let rollback = running(Purpose::Rollback);
    for (report, done) in [(Report::Completed, true), (failed(), false), (Report::Lost, false)] {
        let settled = settled(&rollback, &config, &grant, &report);
        assert_eq!((settled.task.state, settled.task.needs_attention), (TaskState::Failed, !done));
        let undone = running(Purpose::Apply).rolled_back(Rollback::Running, at(2));
        let right = if done { Rollback::Succeeded } else { Rollback::Failed };
        assert_eq!(settled.execution.undoes(&undone, at(3)).rollback, right);
    }
}

#[test]
fn what_is_over_stays_over() {
    let (config, grant) = (config(RollbackStrategy::None, false), grant(1, 1));
    let over = settled(&running(Purpose::Apply), &config, &grant, &Report::Lost);
    let matter = Matter {
        task: &over.task,
        execution: &over.execution,
        grant: &grant,
        config: &config,
        jitter: 0.5,
        now: at(20 * SECOND),
    };
    for report in [Report::Completed, failed(), Report::Lost, Report::TimedOut, Report::Cancelled] {
        let refused = settle(&matter, &report).unwrap_err();
        assert_eq!(refused.to_string(), "the attempt has ended: AGENT_LOST");
    }
    assert!(over.execution.heard(Duration::from_secs(30), at(20 * SECOND)).is_err());
}

#[test]
fn the_next_attempt_waits_longer_each_time() {
    let (config, grant) = (config(RollbackStrategy::None, true), grant(9, 1));
    let waits = (1..=3).map(|attempt| {
        let execution = Execution { attempt, ..running(Purpose::Apply) };
        let next = settled(&execution, &config, &grant, &failed()).task.not_before.unwrap();
        next.since(at(10 * SECOND)).as_secs()
    });
    assert_eq!(waits.collect::<Vec<_>>(), [1, 2, 4]);
}

#[test]
fn a_lease_is_renewed_and_never_beyond_the_time_there_is() {
    let began = running(Purpose::Apply);
    assert_eq!((began.lease_until, began.deadline_at), (at(31 * SECOND), at(61 * SECOND)));
    let lease = Duration::from_secs(30);
    let heard = began.heard(lease, at(20 * SECOND)).unwrap();
    assert_eq!(heard.lease_until, at(50 * SECOND));
    let late = heard.heard(lease, at(45 * SECOND)).unwrap();
    assert_eq!(late.lease_until, at(61 * SECOND));
    assert!(late.heard(lease, at(61 * SECOND)).is_err());
}

#[test]
fn silence_means_lost_until_the_time_is_over() {
    let executor = executor(Action::External);
    let began = running(Purpose::Apply);
    assert_eq!(began.silence(executor, at(35 * SECOND)), None);
    assert_eq!(began.silence(executor, at(36 * SECOND)), Some(Report::Lost));
    assert_eq!(began.silence(executor, at(61 * SECOND)), Some(Report::TimedOut));
    let over = Execution { ended_at: Some(at(2)), ..began };
    assert_eq!(over.silence(executor, at(61 * SECOND)), None);
}

#[test]
fn undoing_happens_once_and_only_if_it_was_approved() {
    use RollbackStrategy::{Automatic, Manual, None as Nothing};
    let apply = running(Purpose::Apply);
    assert_eq!(undo(&apply, Automatic), Ok(()));
    assert_eq!(undo(&apply, Manual), Err(RollbackRefusal::NotApproved));
    assert_eq!(undo(&apply, Nothing), Err(RollbackRefusal::NotApproved));
    assert_eq!(undo(&running(Purpose::Rollback), Automatic), Err(RollbackRefusal::Tried));
    for rollback in Rollback::ALL.into_iter().filter(|rollback| *rollback != Rollback::None) {
        let tried = apply.rolled_back(rollback, at(3));
        assert_eq!(undo(&tried, Automatic), Err(RollbackRefusal::Tried));
    }
    let failed = Task { state: TaskState::Failed, ..task(id(1)) };
    let asks = |execution: &Execution, task: &Task, last, strategy| {
        execution.rollback_asked(task, (last, strategy), at(3)).map(|asked| asked.rollback)
    };
    assert_eq!(asks(&apply, &failed, apply.id, Manual), Ok(Rollback::Asked));
    assert_eq!(asks(&apply, &failed, apply.id, Automatic), Ok(Rollback::Asked), "its agent was lost");
    assert_eq!(asks(&apply, &failed, apply.id, Nothing), Err(RollbackRefusal::NotApproved));
    assert_eq!(asks(&apply, &failed, id(5001), Manual), Err(RollbackRefusal::NotTheLast));
    assert_eq!(
        asks(&running(Purpose::Rollback), &failed, apply.id, Manual),
        Err(RollbackRefusal::NotTheLast)
    );
    let asked = apply.rolled_back(Rollback::Asked, at(3));
    assert_eq!(asks(&asked, &failed, apply.id, Manual), Err(RollbackRefusal::Tried));
    for state in TaskState::ALL.into_iter().filter(|state| *state != TaskState::Failed) {
        let other = Task { state, ..task(id(1)) };
        assert_eq!(asks(&apply, &other, apply.id, Manual), Err(RollbackRefusal::NotFailed(state)));
    }
}

#[test]
fn the_end_of_the_output_is_kept_whole_letters() {
    let mut execution = running(Purpose::Apply);
    for _ in 0..3 {
        execution = execution.written(id(1), &"ä".repeat(1000), at(2));
    }
    assert_eq!((execution.output_size, execution.output_tail.len()), (6000, TAIL_BYTES_MAX));
    let odd = execution.written(id(1), "x", at(3));
    assert_eq!(odd.output_tail.len(), TAIL_BYTES_MAX - 1);
    assert!(odd.output_tail.ends_with("äx"));
}

fn agent(number: u128, labels: &[(&str, &str)]) -> Agent {
    let label = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Agent {
        id: id(number),
        org_id: id(1),
        owner_id: id(2),
        name: "a".into(),
        description: String::new(),
        model: None,
        role_name: None,
        max_tasks: 1,
        labels: labels.iter().map(label).collect(),
        config: Map::new(),
        draining: false,
        last_heartbeat: None,
        health: None,
        offline_since: None,
        deactivated_at: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

#[test]
fn who_may_claim() {
    let executor = executor(Action::External);
    let mut config = config(RollbackStrategy::None, false);
    config.requires_labels = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
    let (eu, us) = (agent(7, &[("region", "eu"), ("x", "y")]), agent(8, &[("region", "us")]));
    let admits = |agent: &Agent, task: &Task, is_author_agent: bool| {
        executor.admits(&Applicant { agent, task, config: &config, is_author_agent })
    };
    let of_a_person = task(id(1));
    assert_eq!(admits(&eu, &of_a_person, false), Ok(()));
    let missing = Err(ClaimRefusal::NotLabelled("region=eu".into()));
    assert_eq!(admits(&us, &of_a_person, false), missing);
    let of_an_agent = task(id(8));
    assert_eq!(admits(&us, &of_an_agent, true), Ok(()), "whoever proposed it need not be labelled");
    assert_eq!(admits(&eu, &of_an_agent, true), Err(ClaimRefusal::AuthorApplies));
    let assigned = Task { assignee: Some(id(8)), ..task(id(7)) };
    assert_eq!(admits(&us, &assigned, true), Ok(()));
    assert_eq!(admits(&eu, &assigned, true), Err(ClaimRefusal::AssignedToAnother));
    let draining = Agent { draining: true, ..eu };
    assert_eq!(admits(&draining, &of_a_person, false), Err(ClaimRefusal::Draining));
}
