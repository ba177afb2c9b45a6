use serde_json::Value;

use super::*;
use crate::policies::hours::Window;

const DAY: u32 = 86_400;

fn pointers(policy: &Policy, change: &PolicyChange) -> Vec<String> {
    let errors = policy.changed(change, DAY, at(20)).err().unwrap_or_default();
    errors.into_iter().map(|error| error.pointer).collect()
}

fn change() -> PolicyChange {
    PolicyChange::default()
}

fn auto(risk_below: u32, roles: &[&str], scope: &[&str]) -> PolicyChange {
    let auto = AutoApproveIf { risk_below, author_has_role: words(roles), resources_in_scope: words(scope) };
    PolicyChange { auto_approve_if: Some(Some(auto)), ..change() }
}

fn people(count: u128) -> Vec<Id<Account>> {
    (0..count).map(account).collect()
}

#[test]
fn a_change_makes_the_next_version_and_no_change_makes_none() {
    let policy = policy(1, "databases");
    assert_eq!(policy.changed(&change(), DAY, at(20)), Ok(policy.clone()));
    let stricter = PolicyChange { min_approvers: Some(2), ..change() };
    let changed = policy.changed(&stricter, DAY, at(5)).unwrap();
    assert_eq!((changed.version, changed.updated_at, changed.rules.quorum.min_approvers), (2, at(11), 2));
    let kept = Policy { version: 1, updated_at: at(10), ..changed.clone() };
    assert_eq!(PolicyRules { quorum: policy.rules.quorum.clone(), ..kept.rules }, policy.rules);
    assert_eq!(changed.changed(&stricter, DAY, at(30)), Ok(changed), "already so");
}

#[test]
fn everything_has_a_bound() {
    let many = |count: usize| (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>();
    let cases: [(PolicyChange, &[&str]); 28] = [
        (PolicyChange { name: Some("é".repeat(200)), ..change() }, &[]),
        (PolicyChange { name: Some("é".repeat(201)), ..change() }, &["/name"]),
        (PolicyChange { name: Some(" ".into()), ..change() }, &["/name"]),
        (PolicyChange { task_types: Some(many(50)), ..change() }, &[]),
        (PolicyChange { task_types: Some(many(51)), ..change() }, &["/task_types"]),
        (
            PolicyChange { task_types: Some(words(&["a", "b*", "a"])), ..change() },
            &["/task_types/1", "/task_types/2"],
        ),
        (PolicyChange { resource_patterns: Some(many(100)), ..change() }, &[]),
        (PolicyChange { resource_patterns: Some(many(101)), ..change() }, &["/resource_patterns"]),
        (PolicyChange { resource_patterns: Some(words(&["a b"])), ..change() }, &["/resource_patterns/0"]),
        (PolicyChange { risk_threshold: Some(100), ..change() }, &[]),
        (PolicyChange { risk_threshold: Some(101), ..change() }, &["/risk_threshold"]),
        (PolicyChange { min_approvers: Some(50), ..change() }, &[]),
        (PolicyChange { min_approvers: Some(0), ..change() }, &["/min_approvers"]),
        (PolicyChange { min_approvers: Some(51), ..change() }, &["/min_approvers"]),
        (PolicyChange { required_roles: Some(words(&["admin", "dba"])), ..change() }, &[]),
        (PolicyChange { required_roles: Some(words(&["owner"])), ..change() }, &["/required_roles/0"]),
        (PolicyChange { reviewers: Some(people(100)), ..change() }, &[]),
        (PolicyChange { reviewers: Some(people(101)), ..change() }, &["/reviewers"]),
        (PolicyChange { reviewers: Some(vec![account(1); 2]), ..change() }, &["/reviewers/1"]),
        (PolicyChange { timeout_seconds: Some(Some(60)), ..change() }, &[]),
        (PolicyChange { timeout_seconds: Some(Some(59)), ..change() }, &["/timeout_seconds"]),
        (PolicyChange { timeout_seconds: Some(Some(DAY + 1)), ..change() }, &["/timeout_seconds"]),
        (PolicyChange { escalate_to: Some(vec![people(1); 11]), ..change() }, &["/escalate_to"]),
        (PolicyChange { escalate_to: Some(vec![people(1), vec![]]), ..change() }, &["/escalate_to/1"]),
        (PolicyChange { escalate_to: Some(vec![vec![account(1); 2]]), ..change() }, &["/escalate_to/0/1"]),
        (auto(30, &["author"], &["stage-*"]), &[]),
        (
            auto(0, &[], &[]),
            &[
                "/auto_approve_if/risk_below",
                "/auto_approve_if/author_has_role",
                "/auto_approve_if/resources_in_scope",
            ],
        ),
        (
            auto(101, &["X"], &["a b"]),
            &[
                "/auto_approve_if/risk_below",
                "/auto_approve_if/author_has_role/0",
                "/auto_approve_if/resources_in_scope/0",
            ],
        ),
    ];
    for (index, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(pointers(&policy(1, "p"), &change), expected, "case {index}");
    }
}

#[test]
fn somebody_must_be_able_to_say_yes() {
    let named = |reviewers, min_approvers| PolicyChange {
        required_roles: Some(vec![]),
        reviewers: Some(people(reviewers)),
        min_approvers: Some(min_approvers),
        ..change()
    };
    assert_eq!(pointers(&policy(1, "p"), &named(0, 1)), ["/reviewers"]);
    assert_eq!(pointers(&policy(1, "p"), &named(2, 3)), ["/min_approvers"]);
    assert!(pointers(&policy(1, "p"), &named(2, 2)).is_empty());
}

#[test]
fn the_default_policy_asks_somebody_about_everything() {
    let default = default_policy();
    assert_eq!(default.check(DAY), Ok(()));
    let cases: [(PolicyChange, &str); 7] = [
        (PolicyChange { active: Some(false), ..change() }, "/active"),
        (PolicyChange { task_types: Some(words(&["a"])), ..change() }, "/task_types"),
        (PolicyChange { resource_patterns: Some(words(&["a"])), ..change() }, "/resource_patterns"),
        (PolicyChange { risk_threshold: Some(1), ..change() }, "/risk_threshold"),
        (PolicyChange { when: Some(Some("true".into())), ..change() }, "/when"),
        (auto(30, &["author"], &["*"]), "/auto_approve_if"),
        (PolicyChange { min_approvers: Some(0), ..change() }, "/min_approvers"),
    ];
    for (change, pointer) in cases {
        assert_eq!(pointers(&default, &change), [pointer]);
    }
    let stricter = PolicyChange { min_approvers: Some(2), required_roles: Some(words(&["dba"])), ..change() };
    assert!(pointers(&default, &stricter).is_empty());
}

fn hours(zone: &str, days: &[&str], from: &str, to: &str) -> Hours {
    let days = days.iter().map(|day| day.parse().unwrap()).collect();
    let window = Window { days, from: from.parse().unwrap(), to: to.parse().unwrap() };
    Hours { time_zone: zone.into(), windows: vec![window] }
}

#[test]
fn hours_that_mean_no_time_are_refused() {
    let said = |hours: Hours| PolicyChange { hours: Some(Some(hours)), ..change() };
    for (wrong, pointer) in [
        (hours("../etc", &["mon"], "09:00", "17:00"), "/hours/time_zone"),
        (hours("UTC", &[], "09:00", "17:00"), "/hours/windows/0/days"),
        (hours("UTC", &["mon", "mon"], "09:00", "17:00"), "/hours/windows/0/days/1"),
        (hours("UTC", &["mon"], "09:00", "09:00"), "/hours/windows/0/to"),
        (Hours { time_zone: "UTC".into(), windows: Vec::new() }, "/hours/windows"),
    ] {
        assert_eq!(pointers(&policy(1, "p"), &said(wrong)), [pointer]);
    }
    assert!(pointers(&policy(1, "p"), &said(hours("UTC", &["fri"], "22:00", "06:00"))).is_empty());
    let day = said(hours("UTC", &["mon"], "09:00", "17:00"));
    assert_eq!(pointers(&default_policy(), &day), ["/hours"], "the default policy always stands in");
}

/// Everything that can be said, each different from what is said when nothing is.
fn everything() -> PolicyRules {
    PolicyRules {
        task_types: words(&["infrastructure"]),
        resource_patterns: words(&["database:*"]),
        risk_threshold: 40,
        when: Some("risk.score > 1".into()),
        hours: Some(hours("Europe/Berlin", &["mon"], "09:00", "17:00")),
        quorum: Quorum {
            min_approvers: 2,
            required_roles: words(&["dba"]),
            reviewers: people(2),
            reject_on: RejectOn::Unreachable,
            admins_count: false,
            following_counts: true,
            allow_service_reviewers: true,
        },
        timeout_seconds: Some(60),
        escalate_to: vec![people(1), people(2)],
        on_timeout: OnTimeout::Park,
        auto_approve_if: Some(AutoApproveIf {
            risk_below: 20,
            author_has_role: words(&["author"]),
            resources_in_scope: words(&["stage-*"]),
        }),
    }
}

#[test]
fn stored_and_read_it_says_the_same() {
    for rules in [everything(), PolicyRules::blank(), PolicyRules::of_default()] {
        assert_eq!(PolicyRules::from_value(&rules.to_value()), Ok(rules));
    }
    let stored = everything().to_value();
    for member in stored.as_object().unwrap().keys() {
        let mut broken = stored.clone();
        broken[member] = Value::Bool(true);
        assert_eq!(PolicyRules::from_value(&broken), Err(NotRules), "{member}");
        broken.as_object_mut().unwrap().remove(member);
        // Versions from before there were hours are read.
        let is_old = member == "hours";
        assert_eq!(PolicyRules::from_value(&broken).is_ok(), is_old, "{member}");
    }
    let matched = Matched {
        policy_id: policy(1, "p").id,
        version: 3,
        name: "p".into(),
        because: words(&["so"]),
        quorum: everything().quorum,
        timeout_seconds: Some(7),
    };
    assert_eq!(Matched::from_value(&matched.to_value()), Ok(matched));
}

#[test]
fn each_word_of_a_change_is_heard() {
    let PolicyRules { quorum, .. } = everything();
    let rules = everything();
    let change = PolicyChange {
        name: Some("other".into()),
        active: Some(false),
        task_types: Some(rules.task_types),
        resource_patterns: Some(rules.resource_patterns),
        risk_threshold: Some(rules.risk_threshold),
        when: Some(rules.when),
        hours: Some(rules.hours),
        min_approvers: Some(quorum.min_approvers),
        required_roles: Some(quorum.required_roles),
        reviewers: Some(quorum.reviewers),
        reject_on: Some(quorum.reject_on),
        admins_count: Some(quorum.admins_count),
        following_counts: Some(quorum.following_counts),
        allow_service_reviewers: Some(quorum.allow_service_reviewers),
        timeout_seconds: Some(rules.timeout_seconds),
        escalate_to: Some(rules.escalate_to),
        on_timeout: Some(rules.on_timeout),
        auto_approve_if: Some(rules.auto_approve_if),
    };
    let changed = policy(1, "p").changed(&change, DAY, at(20)).unwrap();
    assert_eq!(changed.rules, everything());
    assert_eq!((changed.name.as_str(), changed.active), ("other", false));
    let named: Vec<String> = changed.rules.named().map(|(place, _)| place).collect();
    let places = ["/reviewers/0", "/reviewers/1", "/escalate_to/0/0", "/escalate_to/1/0", "/escalate_to/1/1"];
    assert_eq!(named, places);
}
