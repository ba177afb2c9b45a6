use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Timestamp;
use crate::accounts::AccessLevel;
use crate::policies::hours::{LocalDay, LocalTime, Window};
use crate::resource_catalogue::ResourceCatalogue;
use crate::risk::{History, Risk, RiskInputs, assess};
use crate::tasks::DeclaredRisk;

fn risk(declared: DeclaredRisk) -> Risk {
    let catalogue = ResourceCatalogue::from_value(&json!([{"pattern": "*", "criticality": 10}])).unwrap();
    assess(&RiskInputs {
        resources: &[resource("cache", "stage-1")],
        declared,
        preview: None,
        catalogue: &catalogue,
        dependents: 0,
        history: History::default(),
        thresholds: [25, 50, 75],
        now: at(1),
    })
}

fn author(roles: &[&str]) -> Author {
    Author {
        id: account(1),
        roles: words(roles),
        is_agent: Some(false),
        access_level: Some(AccessLevel::User),
    }
}

/// A task, as policies see it.
struct Asked {
    task_type: &'static str,
    resources: Vec<Resource>,
    risk: Risk,
    by_hub: bool,
    config: Value,
    author: Author,
}

/// Of small risk (22), by an author, on `cache:stage-1`.
fn asked() -> Asked {
    Asked {
        task_type: "infrastructure",
        resources: vec![resource("cache", "stage-1")],
        risk: risk(DeclaredRisk::Medium),
        by_hub: false,
        config: json!({"priority": 50}),
        author: author(&["author"]),
    }
}

impl Asked {
    fn question(&self) -> Question<'_> {
        Question {
            thresholds: [25, 50, 75],
            task_type: self.task_type,
            resources: &self.resources,
            risk: &self.risk,
            previewed_by_hub: self.by_hub,
            config: &self.config,
            author: &self.author,
            now: (at(0), local),
        }
    }
}

/// A Monday, ten in the morning, where anybody knows.
fn local(_: Timestamp, zone: &str) -> Option<LocalTime> {
    let day = |weekday, day| LocalDay { weekday, date: jiff::civil::date(2026, 8, day) };
    let time = LocalTime { today: day(0, 3), yesterday: day(6, 2), minute: 600 };
    (zone != "Nowhere").then_some(time)
}

fn set(policies: Vec<Policy>) -> RuleSet {
    let policies = policies.into_iter().chain([default_policy()]).collect();
    RuleSet::new(1, policies, ResourceCatalogue::default(), None).unwrap()
}

fn with(name: &str, change: impl Fn(&mut PolicyRules)) -> Policy {
    let mut policy = policy(name.bytes().map(u128::from).sum(), name);
    change(&mut policy.rules);
    policy
}

fn names(matched: &[Matched]) -> Vec<&str> {
    matched.iter().map(|matched| matched.name.as_str()).collect()
}

fn matches(policy: Policy, asked: &Asked) -> Option<Vec<String>> {
    let matched = set(vec![policy.clone()]).matching(&asked.question());
    let found = matched.into_iter().find(|matched| matched.policy_id == policy.id)?;
    assert_eq!((found.version, &found.quorum), (policy.version, &policy.rules.quorum));
    Some(found.because)
}

#[test]
fn where_none_applies_the_default_stands_in() {
    let narrow = with("narrow", |rules| rules.task_types = words(&["other"]));
    let matched = set(vec![narrow]).matching(&asked().question());
    assert_eq!(names(&matched), ["default"]);
    assert_eq!(matched[0].because, ["no other policy applies to it"]);
    assert_eq!(matched[0].quorum, PolicyRules::of_default().quorum);
    assert_eq!(names(&set(vec![]).matching(&asked().question())), ["default"]);
    let none = RuleSet::new(1, vec![policy(1, "p")], ResourceCatalogue::default(), None);
    assert_eq!(none.err(), Some(MissingDefault));
}

#[test]
fn all_that_apply_do_in_order_of_names() {
    let set = set(vec![policy(2, "b"), policy(1, "c"), policy(3, "a")]);
    let matched = set.matching(&asked().question());
    assert_eq!(names(&matched), ["a", "b", "c"]);
    assert_eq!(matched[0].because, ["it applies to every task"]);
}

/// A field nobody looks at would be a promise nobody keeps: each of these makes the policy apply to one task and not
/// to another.
#[test]
fn each_field_that_narrows_does() {
    let task = asked();
    let on = |change: fn(&mut PolicyRules)| matches(with("p", change), &task);
    assert_eq!(
        on(|rules| rules.task_types = words(&["x", "infrastructure"])).unwrap(),
        ["it is a task of type infrastructure"]
    );
    assert_eq!(on(|rules| rules.task_types = words(&["infra"])), None);
    assert_eq!(on(|rules| rules.risk_threshold = 22).unwrap(), ["its risk of 22 is not below 22"]);
    assert_eq!(on(|rules| rules.risk_threshold = 23), None);
    assert_eq!(
        on(|rules| rules.resource_patterns = words(&["prod-*", "cache:s*"])).unwrap(),
        ["cache:stage-1 matches cache:s*"]
    );
    assert_eq!(on(|rules| rules.resource_patterns = words(&["prod-*"])), None);
    assert_eq!(
        on(|rules| rules.when = Some("config.priority == 50".into())).unwrap(),
        ["its condition is met"]
    );
    assert_eq!(on(|rules| rules.when = Some("config.priority == 51".into())), None);
    let all = on(|rules| {
        rules.task_types = words(&["infrastructure"]);
        rules.risk_threshold = 10;
        rules.resource_patterns = words(&["*"]);
        rules.when = Some("'author' in author.roles".into());
    });
    assert_eq!(all.unwrap().len(), 4, "each gives its reason");
}

#[test]
fn in_doubt_a_policy_applies_and_says_why() {
    let when = |source: &str| with("p", |rules| rules.when = Some(source.to_owned()));
    let missing = matches(when("config.missing > 1"), &asked()).unwrap();
    assert_eq!(missing, ["its condition asks about a field that is missing, so it counts as met"]);
    let no_answer = matches(when("config.priority"), &asked()).unwrap();
    assert_eq!(no_answer, ["its condition answers with something else than yes or no, so it counts as met"]);
    let unreadable = matches(when("((("), &asked()).unwrap();
    assert_eq!(unreadable, ["its rules cannot be read, so it applies to everything"]);
    let pattern = with("p", |rules| rules.resource_patterns = words(&["a b"]));
    assert!(matches(pattern, &asked()).is_some(), "stored by another release");
}

#[test]
fn what_is_too_large_to_look_at_is_looked_at_by_people() {
    let hosts: Vec<Value> = (0..5000).map(|number| json!(format!("host-{number}"))).collect();
    let large = Asked { config: json!({"hosts": hosts}), ..asked() };
    let looping = "config.hosts.map(h, h + h).size() == 0";
    let policy = || with("p", |rules| rules.when = Some(looping.to_owned()));
    let why = matches(policy(), &large).unwrap();
    assert_eq!(why, ["its condition would take too long for a task of this size, so it counts as met"]);
    let long = json!({"hosts": vec![json!("h"); 1000]});
    assert_eq!(
        matches(policy(), &Asked { config: long, ..asked() }).unwrap(),
        why,
        "a thousand times a thousand"
    );
    let small = Asked { config: json!({"hosts": ["a"]}), ..asked() };
    assert_eq!(matches(policy(), &small), None);
    let resources = (0..100).map(|number| resource("vm", &format!("{}{number}", "a".repeat(250)))).collect();
    let wide = Asked { resources, ..asked() };
    let tangled: Vec<String> = (0..100).map(|number| format!("*{}{number}*b", "a".repeat(250))).collect();
    let policy = || with("p", |rules| rules.resource_patterns = tangled.clone());
    let why = matches(policy(), &wide).unwrap();
    assert_eq!(why, ["it names too much to be held against the patterns, so they count as met"]);
    assert_eq!(matches(policy(), &asked()), None);
}

fn lenient(rules: &mut PolicyRules) {
    rules.auto_approve_if = Some(AutoApproveIf {
        risk_below: 25,
        author_has_role: words(&["author", "sre"]),
        resources_in_scope: words(&["cache:stage-*"]),
    });
}

fn auto(policies: Vec<Policy>, asked: &Asked, is_enabled: bool) -> Result<(), Vec<String>> {
    let set = set(policies);
    let matched = set.matching(&asked.question());
    set.auto_approval(&matched, &asked.question(), is_enabled)
}

#[test]
fn a_task_passes_by_itself_only_if_everything_says_so() {
    let policies = || vec![with("p", lenient)];
    assert_eq!(auto(policies(), &asked(), true), Ok(()));
    let refused = |asked: &Asked, is_enabled| auto(policies(), asked, is_enabled).unwrap_err();
    assert_eq!(refused(&asked(), false), ["the organization lets no task pass by itself"]);
    let risky = Asked { risk: risk(DeclaredRisk::High), ..asked() };
    assert_eq!(refused(&risky, true), ["policy p wants a risk below 25, and it counts as 30"]);
    let stranger = Asked { author: author(&["reviewer"]), ..asked() };
    assert_eq!(refused(&stranger, true), ["policy p wants an author who is author or sre"]);
    let outside =
        Asked { resources: vec![resource("cache", "stage-1"), resource("cache", "prod")], ..asked() };
    assert_eq!(refused(&outside, true), ["policy p leaves cache:prod to people"]);
    let nothing = Asked { resources: vec![], ..asked() };
    assert_eq!(refused(&nothing, true), ["it names no resource"]);
    let all = Asked { author: author(&[]), resources: vec![resource("vm", "a")], ..risky };
    assert_eq!(refused(&all, false).len(), 4, "every reason is told");
}

#[test]
fn every_policy_that_applies_must_let_it_pass() {
    let strict = with("strict", |_| {});
    let reasons = auto(vec![with("p", lenient), strict], &asked(), true).unwrap_err();
    assert_eq!(reasons, ["policy strict always asks somebody"]);
    let elsewhere = with("elsewhere", |rules| rules.task_types = words(&["other"]));
    assert_eq!(auto(vec![with("p", lenient), elsewhere], &asked(), true), Ok(()), "it does not apply");
    assert_eq!(auto(vec![], &asked(), true).unwrap_err(), ["policy default always asks somebody"]);
}

#[test]
fn the_default_policy_never_lets_pass_whatever_is_stored() {
    let mut default = default_policy();
    lenient(&mut default.rules);
    let set = RuleSet::new(1, vec![default], ResourceCatalogue::default(), None).unwrap();
    let task = asked();
    let matched = set.matching(&task.question());
    let refused = set.auto_approval(&matched, &task.question(), true);
    assert_eq!(refused, Err(words(&["policy default always asks somebody"])));
    assert!(set.auto_approval(&[], &task.question(), true).is_err(), "nothing matched is no yes");
}

#[test]
fn conditions_left_out_are_not_met() {
    let without = |change: fn(&mut AutoApproveIf)| {
        let policy = with("p", |rules| {
            lenient(rules);
            change(rules.auto_approve_if.as_mut().unwrap());
        });
        auto(vec![policy], &asked(), true)
    };
    assert!(without(|_| {}).is_ok());
    assert!(without(|auto| auto.risk_below = 0).is_err());
    assert!(without(|auto| auto.author_has_role.clear()).is_err());
    assert!(without(|auto| auto.resources_in_scope.clear()).is_err());
}

#[test]
fn the_word_of_the_author_alone_makes_nothing_small() {
    let trivial = |by_hub| Asked { risk: risk(DeclaredRisk::Trivial), by_hub, ..asked() };
    let policy = with("p", |rules| {
        lenient(rules);
        rules.auto_approve_if.as_mut().unwrap().risk_below = 15;
    });
    assert_eq!(risk(DeclaredRisk::Trivial).score, 10);
    assert!(auto(vec![policy.clone()], &trivial(false), true).is_err());
    assert_eq!(auto(vec![policy], &trivial(true), true), Ok(()));
}

#[test]
fn an_older_answer_is_held_against_the_set_that_gave_it() {
    let first = set(vec![with("p", lenient)]);
    let task = asked();
    let matched = first.matching(&task.question());
    let changed = Policy { version: 2, ..with("p", lenient) };
    let reasons = set(vec![changed]).auto_approval(&matched, &task.question(), true).unwrap_err();
    assert_eq!(reasons, ["policy p has changed meanwhile"]);
}

#[test]
fn a_new_set_takes_over_what_did_not_change() {
    let earlier = set(vec![with("a", |rules| rules.risk_threshold = 100), policy(7, "b")]);
    // Were it read again, the rules would differ: the version is what tells.
    let same_version = with("a", |_| {});
    let next_version = Policy { version: 2, ..policy(7, "b") };
    let policies = vec![same_version, next_version, default_policy()];
    let later = RuleSet::new(2, policies, ResourceCatalogue::default(), Some(&earlier)).unwrap();
    let matched = later.matching(&asked().question());
    assert_eq!((names(&matched), matched[0].version, later.version()), (vec!["b"], 2, 2));
}

prop_compose! {
    fn some_policy()(
        number in 1_u128..6, types in prop::collection::vec("(a|b)", 0..2),
        patterns in prop::collection::vec("(prod|stage|vm:)?(\\*|-1|-2)", 0..3), threshold in 0_u32..100,
        when in prop::option::of("(true|false|config.missing|risk.score > 50)"), auto in any::<bool>(),
    ) -> Policy {
        with(&format!("p{number}"), |rules| {
            rules.task_types = types.clone();
            rules.resource_patterns = patterns.clone();
            rules.risk_threshold = threshold;
            rules.when = when.clone();
            if auto { lenient(rules); }
        })
    }
}

proptest! {
    /// More policies never mean fewer people: none that applied ceases to, and what needed a person still does.
    #[test]
    fn another_policy_never_loosens(
        policies in prop::collection::vec(some_policy(), 0..5), more in some_policy(), of_type in 0_usize..2,
        ids in prop::collection::vec("(prod|stage)-[12]", 0..3), declared in 0_usize..5,
    ) {
        let task = Asked {
            task_type: ["a", "b"][of_type],
            resources: ids.iter().map(|id| resource("vm", id)).collect(),
            risk: risk(DeclaredRisk::ALL[declared]),
            ..asked()
        };
        let few = set(policies.clone());
        let many = set(policies.into_iter().chain([more]).collect());
        let (before, after) = (few.matching(&task.question()), many.matching(&task.question()));
        prop_assert!(!before.is_empty() && !after.is_empty());
        for matched in before.iter().filter(|matched| matched.name != DEFAULT_NAME) {
            prop_assert!(after.contains(matched));
        }
        let default_stands_in = names(&before) == [DEFAULT_NAME];
        let auto = |set: &RuleSet, matched| set.auto_approval(matched, &task.question(), true).is_ok();
        prop_assert!(!auto(&many, &after) || auto(&few, &before) || default_stands_in);
        prop_assert!(few.auto_approval(&before, &task.question(), false).is_err());
    }
}

#[test]
fn a_risk_declared_low_buys_no_way_around_a_policy() {
    // Declared trivial the task scores 10, which the strict policy does not mean; as medium it is 22.
    let strict = with("strict", |rules| rules.risk_threshold = 20);
    let set = set(vec![with("lenient", lenient), strict]);
    let task = Asked { risk: risk(DeclaredRisk::Trivial), ..asked() };
    assert!(task.risk.score < 20 && task.risk.score_unvouched(false) >= 20, "{:?}", task.risk);
    let matched = set.matching(&task.question());
    assert_eq!(names(&matched), ["lenient"]);
    let reasons = set.auto_approval(&matched, &task.question(), true).unwrap_err();
    assert_eq!(reasons, ["policy strict would apply if the risk were not declared so low"]);
    let seen_by_hub = Asked { by_hub: true, ..task };
    assert!(set.auto_approval(&matched, &seen_by_hub.question(), true).is_ok(), "the hub vouches for it");
}

#[test]
fn hours_narrow_and_in_doubt_it_applies() {
    let hours = |zone: &str, from: &str, to: &str| {
        let days = vec!["mon".parse().unwrap()];
        let window = Window { days, from: from.parse().unwrap(), to: to.parse().unwrap() };
        Some(Hours { time_zone: zone.into(), windows: vec![window] })
    };
    let set = set(vec![
        with("day", |rules| rules.hours = hours("UTC", "09:00", "17:00")),
        with("night", |rules| rules.hours = hours("UTC", "17:00", "09:00")),
        with("somewhere", |rules| rules.hours = hours("Nowhere", "17:00", "09:00")),
    ]);
    let matched = set.matching(&asked().question());
    let names: Vec<&str> = matched.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["day", "somewhere"]);
    assert_eq!(matched[0].because, ["it is handed in within its hours (UTC)"]);
    assert_eq!(matched[1].because, ["nobody knows what time it is in Nowhere, so its hours count as met"]);
}
