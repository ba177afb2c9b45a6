//! How long the worst sets of policies take that an organization may have: 100 of them, each with all that a policy may hold,
//! asked about the largest tasks. `cargo run --release -p domain --example worst_policies`; docs/benchmarks.md has the figures.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it cannot go on"
)]

use std::time::{Duration, Instant};

use domain::accounts::AccessLevel;
use domain::policies::{
    Author, AutoApproveIf, Matched, POLICIES_MAX, Policy, PolicyRules, Question, RuleSet,
};
use domain::resource_catalogue::ResourceCatalogue;
use domain::risk::{History, Risk, RiskInputs, assess};
use domain::tasks::{DeclaredRisk, Mode, Resource};
use domain::{Id, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

const ROUNDS: usize = 7;
const BAR: Duration = Duration::from_millis(5);

fn id<T>(number: usize) -> Id<T> {
    Id::new(Uuid::from_u128(number as u128 + 1))
}

fn policy(number: usize, rules: PolicyRules) -> Policy {
    let at = Timestamp::from_micros(1);
    let (name, is_default) = (format!("p{number}"), number == 0);
    Policy {
        id: id(number),
        org_id: id(0),
        name,
        is_default,
        active: true,
        version: 1,
        rules,
        created_at: at,
        updated_at: at,
    }
}

fn set(said: &dyn Fn(&mut PolicyRules)) -> RuleSet {
    let rules = |number| {
        let mut rules = PolicyRules::of_default();
        if number > 0 {
            said(&mut rules);
        }
        rules
    };
    let policies = (0..=POLICIES_MAX).map(|number| policy(number, rules(number))).collect();
    RuleSet::new(1, policies, ResourceCatalogue::default(), None).unwrap()
}

fn resources(count: usize) -> Vec<Resource> {
    let id = |number: usize| format!("{}{number:03}", "a".repeat(253));
    (0..count)
        .map(|number| Resource { kind: "k".repeat(64), id: id(number), mode: Mode::Exclusive })
        .collect()
}

fn risk(resources: &[Resource]) -> Risk {
    assess(&RiskInputs {
        resources,
        declared: DeclaredRisk::Medium,
        preview: None,
        catalogue: &ResourceCatalogue::default(),
        dependents: 0,
        history: History::default(),
        thresholds: [25, 50, 75],
        now: Timestamp::from_micros(1),
    })
}

/// The middle of some rounds: matching and auto-approval together.
fn decided(set: &RuleSet, question: &Question<'_>) -> (Duration, Vec<Matched>) {
    let mut times = Vec::new();
    let mut matched = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        matched = set.matching(question);
        drop(std::hint::black_box(set.auto_approval(&matched, question, true)));
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    (times[ROUNDS / 2], matched)
}

type Said = (String, Box<dyn Fn(&mut PolicyRules)>);

fn worst_sets() -> Vec<Said> {
    let compare: Vec<String> = (0..13).map(|number| format!("r.id == 'x{number}'")).collect();
    let conditions = [
        format!("resources.exists(r, {})", compare.join(" || ")),
        ["config.t.contains('b')"; 19].join(" || "),
        ["config == config"; 24].join(" && "),
        format!("({}).contains('b')", ["config.t"; 8].join(" + ")),
        "resources.map(r, r).size() == 0".to_owned(),
        "config.n.exists(x, x == -1)".to_owned(),
    ];
    let when = |when: String| -> Said {
        (when.chars().take(44).collect(), Box::new(move |rules| rules.when = Some(when.clone())))
    };
    let tangled = |run: usize| -> Vec<String> {
        (0..100).map(|number| format!("*{}{number}*b", "a".repeat(run))).collect()
    };
    let in_scope = |scope: &[String]| AutoApproveIf {
        risk_below: 100,
        author_has_role: vec!["author".into()],
        resources_in_scope: scope.to_vec(),
    };
    let patterns = [1, 20, 250].map(tangled).into_iter().flat_map(|patterns| {
        let (scope, name) = (patterns.clone(), format!("{:.12}", patterns[0]));
        let matching: Said = (
            format!("100 patterns and a scope of 100 like {name}"),
            Box::new(move |rules| {
                rules.resource_patterns = patterns.clone();
                rules.auto_approve_if = Some(in_scope(&patterns));
            }),
        );
        let auto: Said = (
            format!("a scope of 100 like {name}"),
            Box::new(move |rules| rules.auto_approve_if = Some(in_scope(&scope))),
        );
        [matching, auto]
    });
    conditions.into_iter().map(when).chain(patterns).collect()
}

fn main() {
    let configs: [(&str, Value); 3] = [
        ("1 KiB", json!({"t": "a".repeat(1024), "n": vec![1; 10]})),
        ("64 KiB of text", json!({"t": "a".repeat(64_000), "n": [1]})),
        ("30,000 numbers", json!({"t": "a", "n": vec![1; 30_000]})),
    ];
    let author = Author {
        id: id(1),
        roles: vec!["author".into()],
        is_agent: Some(false),
        access_level: Some(AccessLevel::User),
    };
    let mut worst = Duration::ZERO;
    for (said, rules) in worst_sets() {
        let set = set(&*rules);
        for count in [1, 10, 100] {
            let resources = resources(count);
            let risk = risk(&resources);
            for (size, config) in &configs {
                let question = Question {
                    thresholds: [25, 50, 75],
                    task_type: "t",
                    resources: &resources,
                    risk: &risk,
                    previewed_by_hub: false,
                    config,
                    author: &author,
                    now: (Timestamp::from_micros(0), |_, _| None),
                };
                let (took, matched) = decided(&set, &question);
                println!("{took:>10.1?}  {:>3} match  {count:>3} resources, {size}: {said}", matched.len());
                worst = worst.max(took);
            }
        }
    }
    println!("worst: {worst:.1?}; {}", if worst < BAR { "below 5 ms" } else { "MISSED: 5 ms or more" });
}
