use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::accounts::{AccessLevel, AccountStatus};
use crate::delegations::Book;
use crate::members::HeldRole;
use crate::organizations::MembershipLevel;
use crate::policies::backtest::{Outcome, Past, Present, Report, TOLD_MAX};
use crate::policies::hours::{LocalDay, LocalTime};
use crate::resource_catalogue::ResourceCatalogue;
use crate::sample::{self, alone};
use crate::tasks::{DeclaredRisk, Provenance, RollbackStrategy, TaskConfig};

fn person(number: u128, role: &str) -> Candidate {
    Candidate {
        account_id: account(number),
        status: AccountStatus::Active,
        access_level: AccessLevel::User,
        level: Some(MembershipLevel::Member),
        roles: vec![HeldRole { role: role.into(), granted_by: account(999) }],
        is_agent: false,
        owners: Vec::new(),
    }
}

/// Mondays begin with the week, and each of its days is a thousand microseconds long.
fn local(at: Timestamp, _: &str) -> Option<LocalTime> {
    let weekday = u8::try_from(at.micros() / 1000 % 7).ok()?;
    let day = LocalDay { weekday, date: jiff::civil::date(2026, 8, 3) };
    Some(LocalTime { today: day, yesterday: day, minute: 600 })
}

/// Two reviewers and a dba; a third reviewer is the author.
fn present() -> Present {
    let people = [person(1, "reviewer"), person(2, "reviewer"), person(3, "reviewer"), person(4, "dba")];
    Present {
        authors: [(account(1), person(1, "author"))].into(),
        candidates: people.into(),
        book: Book::default(),
        stand_ins: BTreeSet::new(),
        thresholds: [25, 50, 75],
        lets_pass: true,
        now: (at(9000), local),
    }
}

fn past(number: u128) -> Past {
    let config = TaskConfig {
        task_type: "infrastructure".into(),
        description: format!("task {number}"),
        resources: vec![resource("database", "prod-1")],
        declared_risk: DeclaredRisk::Low,
        ..sample::task_config(RollbackStrategy::None, false)
    };
    Past {
        id: Id::new(Uuid::from_u128(number)),
        author_id: account(1),
        config,
        value: json!({"type": "infrastructure", "priority": 50}),
        risk: sample::task(account(1)).risk,
        previewed_by_hub: true,
        provenance: Provenance::default().with(&alone(account(1))),
        submitted_at: at(0),
    }
}

fn rules(mut policies: Vec<Policy>) -> RuleSet {
    policies.push(default_policy());
    RuleSet::new(1, policies, ResourceCatalogue::default(), None).unwrap()
}

fn reported(before: Vec<Policy>, after: Vec<Policy>, tasks: &[Past]) -> Report {
    let (before, after, present) = (rules(before), rules(after), present());
    let mut report = Report::default();
    for past in tasks {
        report.note(past, present.replay((&before, &after), past));
    }
    report
}

fn passing(mut policy: Policy) -> Policy {
    policy.rules.auto_approve_if = Some(AutoApproveIf {
        risk_below: 50,
        author_has_role: words(&["author"]),
        resources_in_scope: words(&["prod-*"]),
    });
    policy
}

fn asking(mut policy: Policy, people: u32, role: &str) -> Policy {
    policy.rules.quorum.min_approvers = people;
    policy.rules.quorum.required_roles = words(&[role]);
    policy.version += 1;
    policy
}

#[test]
fn each_outcome_is_told_from_the_others() {
    let all = policy(1, "all");
    for (after, outcome, asked, required, lacks) in [
        (asking(all.clone(), 2, "reviewer"), Outcome::Reviewed, vec![2, 3], 2, false),
        (asking(all.clone(), 1, "dba"), Outcome::Reviewed, vec![4], 1, false),
        (asking(all.clone(), 3, "reviewer"), Outcome::Unreachable, vec![2, 3], 3, true),
        (asking(all.clone(), 1, "nobody"), Outcome::Blocked, vec![], 1, true),
        (passing(asking(all.clone(), 2, "reviewer")), Outcome::AutoApproved, vec![], 0, false),
    ] {
        let report = reported(vec![all.clone()], vec![after], &[past(1)]);
        assert_eq!((report.before.tasks, report.before.reviewed), (1, 1));
        let [difference] = report.differences.as_slice() else { panic!("{outcome:?}: {report:?}") };
        assert_eq!(difference.before.outcome, Outcome::Reviewed);
        assert_eq!(difference.after.outcome, outcome);
        let people: BTreeSet<_> = asked.into_iter().map(account).collect();
        assert_eq!(
            (&difference.after.asked, difference.after.required()),
            (&people, required),
            "{outcome:?}"
        );
        assert_eq!(!difference.after.missing.is_empty(), lacks, "{outcome:?}");
        let counts = &report.after;
        let by_outcome = [counts.auto_approved, counts.reviewed, counts.unreachable, counts.blocked];
        let wanted = [Outcome::AutoApproved, Outcome::Reviewed, Outcome::Unreachable, Outcome::Blocked];
        assert_eq!(by_outcome, wanted.map(|one| u32::from(one == outcome)));
        let number = u32::try_from(people.len()).unwrap();
        assert_eq!(counts.asked, [(number, 1)].into());
        assert_eq!(counts.required, [(required, 1)].into());
    }
}

#[test]
fn a_policy_that_no_longer_applies_leaves_tasks_to_the_default() {
    let all = policy(1, "all");
    let mut narrow = asking(all.clone(), 1, "reviewer");
    narrow.rules.resource_patterns = words(&["stage-*"]);
    let report = reported(vec![all.clone()], vec![narrow], &[past(1), past(2)]);
    assert_eq!((report.before.fell_to_default, report.after.fell_to_default), (0, 2));
    assert_eq!(report.differing, 2, "the same people, and for another policy");
    let gone = reported(vec![all], vec![], &[past(1)]);
    assert_eq!(gone.differences[0].after.policies[0].name, DEFAULT_NAME);
}

#[test]
fn another_name_or_version_alone_is_no_difference() {
    let all = policy(1, "all");
    let renamed = Policy { name: "everything".into(), version: 7, ..all.clone() };
    let mut slower = Policy { version: 2, ..all.clone() };
    slower.rules.timeout_seconds = Some(60);
    for after in [renamed, slower, all.clone()] {
        let report = reported(vec![all.clone()], vec![after], &[past(1)]);
        assert_eq!((report.differing, report.differences.len()), (0, 0));
        assert_eq!(report.before, report.after);
    }
}

#[test]
fn hours_are_those_in_which_a_task_was_handed_in() {
    let all = policy(1, "all");
    let mut mondays = asking(all.clone(), 2, "reviewer");
    let hours = json!({"time_zone": "UTC", "windows": [{"days": ["mon"], "from": "09:00", "to": "17:00"}]});
    mondays.rules.hours = Some(Hours::from_value(&hours).unwrap());
    let tuesday = Past { submitted_at: at(1000), ..past(2) };
    let report = reported(vec![all], vec![mondays], &[past(1), tuesday]);
    assert_eq!(report.after.fell_to_default, 1, "the one of Tuesday");
    assert_eq!(report.after.required, [(1, 1), (2, 1)].into());
}

#[test]
fn who_is_asked_how_often_is_counted_by_person() {
    let all = policy(1, "all");
    let to_dba = asking(all.clone(), 1, "dba");
    let report = reported(vec![all], vec![to_dba], &[past(1), past(2), past(3)]);
    let people = [(account(2), (3, 0)), (account(3), (3, 0)), (account(4), (0, 3))];
    assert_eq!(report.people, people.into(), "and never the author");
}

#[test]
fn the_rest_of_many_differences_is_counted_and_not_told() {
    let all = policy(1, "all");
    let many: Vec<Past> = (1..=TOLD_MAX as u128 + 5).map(past).collect();
    let report = reported(vec![all.clone()], vec![asking(all, 2, "reviewer")], &many);
    assert_eq!((report.differing as usize, report.differences.len()), (TOLD_MAX + 5, TOLD_MAX));
    assert_eq!(report.differences[0].title, "task 1", "the first that was noted is the newest");
}
