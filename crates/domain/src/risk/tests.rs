use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::resource_catalogue::ResourceCatalogue;
use crate::tasks::{DeclaredRisk, Mode, Resource};

fn resource(kind: &str, id: &str, mode: Mode) -> Resource {
    Resource { kind: kind.into(), id: id.into(), mode }
}

fn catalogue() -> ResourceCatalogue {
    ResourceCatalogue::from_value(&json!([
        {"pattern": "database:prod-*", "criticality": 90, "blast_radius": 20},
        {"pattern": "cache:*", "criticality": 10},
    ]))
    .unwrap()
}

fn inputs<'a>(resources: &'a [Resource], catalogue: &'a ResourceCatalogue) -> RiskInputs<'a> {
    RiskInputs {
        resources,
        declared: DeclaredRisk::Medium,
        preview: None,
        catalogue,
        dependents: 0,
        history: History::default(),
        thresholds: [25, 50, 75],
        now: Timestamp::from_micros(7),
    }
}

fn value(risk: &Risk, name: &str) -> f64 {
    risk.factors.iter().find(|factor| factor.name == name).unwrap().value
}

fn reason(risk: &Risk, name: &str) -> String {
    risk.factors.iter().find(|factor| factor.name == name).unwrap().reason.clone()
}

#[test]
fn levels_begin_at_their_thresholds() {
    let level = |score| RiskLevel::of(score, [25, 50, 75]).as_str();
    let levels = [0, 24, 25, 49, 50, 74, 75, 100].map(level);
    assert_eq!(levels, ["LOW", "LOW", "MEDIUM", "MEDIUM", "HIGH", "HIGH", "CRITICAL", "CRITICAL"]);
}

#[test]
fn a_score_is_the_sum_of_what_its_factors_say() {
    let touched = [resource("database", "prod-1", Mode::Exclusive), resource("cache", "x", Mode::Shared)];
    let catalogue = catalogue();
    let risk = assess(&RiskInputs { dependents: 1, ..inputs(&touched, &catalogue) });
    let values: Vec<(&str, f64, f64)> =
        risk.factors.iter().map(|factor| (factor.name, factor.value, factor.contribution)).collect();
    assert_eq!(
        values,
        [
            ("resource_criticality", 90.0, 36.0),
            ("change_magnitude", 50.0, 15.0),
            ("blast_radius", 50.0, 10.0),
            ("historical_failure_rate", 10.0, 1.0),
        ]
    );
    assert_eq!((risk.score, risk.level, risk.auto_approvable), (62, RiskLevel::High, false));
    assert_eq!(risk.assessed_by, ASSESSED_BY);
    let names = "database:prod-1 is rated 90 by the catalogue (database:prod-*)";
    assert_eq!(reason(&risk, "resource_criticality"), names);
    assert_eq!(
        reason(&risk, "blast_radius"),
        "2 resources, 1 of them exclusively, and 1 task waiting for it"
    );
}

#[test]
fn what_is_touched_is_said_for_one_and_for_many() {
    let catalogue = catalogue();
    let said = |modes: &[Mode], dependents: u64| {
        let touched: Vec<Resource> = modes.iter().map(|mode| resource("vm", "a", *mode)).collect();
        let risk = assess(&RiskInputs { dependents, ..inputs(&touched, &catalogue) });
        reason(&risk, "blast_radius").to_owned()
    };
    let (alone, shared) = (Mode::Exclusive, Mode::Shared);
    for (modes, dependents, words) in [
        (&[][..], 0, "no resources, and no task waiting for it"),
        (&[alone], 1, "1 resource, exclusively, and 1 task waiting for it"),
        (&[shared], 2, "1 resource, shared, and 2 tasks waiting for it"),
        (&[alone, alone], 0, "2 resources, all of them exclusively, and no task waiting for it"),
        (&[shared, shared], 0, "2 resources, all of them shared, and no task waiting for it"),
        (&[alone, shared, alone], 0, "3 resources, 2 of them exclusively, and no task waiting for it"),
    ] {
        assert_eq!(said(modes, dependents), words);
    }
}

#[test]
fn what_nobody_rated_counts_as_fifty() {
    let catalogue = catalogue();
    let unknown = [resource("vm", "a", Mode::Shared), resource("cache", "b", Mode::Shared)];
    for resources in [&unknown[..], &[]] {
        assert_eq!(value(&assess(&inputs(resources, &catalogue)), "resource_criticality"), 50.0);
    }
    assert_eq!(value(&assess(&inputs(&unknown[1..], &catalogue)), "resource_criticality"), 10.0);
}

#[test]
fn declared_sizes_count_until_the_hub_has_looked() {
    let catalogue = catalogue();
    let magnitude = |declared, preview| {
        let risk = assess(&RiskInputs { declared, preview, ..inputs(&[], &catalogue) });
        value(&risk, "change_magnitude")
    };
    let declared = DeclaredRisk::ALL.map(|declared| magnitude(declared, None));
    assert_eq!(declared, [10.0, 25.0, 50.0, 75.0, 100.0]);
    let changes = [json!({"kind": "create"}), json!({"action": "DELETE"}), json!({}), json!(1)];
    let preview = |by_hub| Some(Preview { changes: &changes, by_hub });
    assert_eq!(magnitude(DeclaredRisk::Critical, preview(true)), 50.0, "5 + 25 + 10 + 10");
    assert_eq!(magnitude(DeclaredRisk::Critical, preview(false)), 100.0, "the author cannot talk it down");
    assert_eq!(magnitude(DeclaredRisk::Trivial, preview(false)), 50.0);
    assert_eq!(magnitude(DeclaredRisk::Critical, Some(Preview { changes: &[], by_hub: true })), 0.0);
    let many = vec![json!({"kind": "delete"}); 1000];
    assert_eq!(magnitude(DeclaredRisk::Low, Some(Preview { changes: &many, by_hub: true })), 100.0);
}

#[test]
fn small_words_of_the_author_do_not_count_for_auto_approval() {
    let catalogue = catalogue();
    let cached = [resource("cache", "x", Mode::Shared)];
    let risk = assess(&RiskInputs { declared: DeclaredRisk::Trivial, ..inputs(&cached, &catalogue) });
    assert_eq!(risk.score, 9, "4 + 3 + 1 + 1");
    assert_eq!(risk.score_unvouched(true), 9);
    assert_eq!(risk.score_unvouched(false), 21, "medium: 12 more");
    let high = assess(&RiskInputs { declared: DeclaredRisk::High, ..inputs(&cached, &catalogue) });
    assert_eq!(high.score_unvouched(false), high.score);
}

#[test]
fn failures_weigh_as_much_as_was_seen() {
    let catalogue = catalogue();
    let rate = |runs, failures| {
        let risk = assess(&RiskInputs { history: History { runs, failures }, ..inputs(&[], &catalogue) });
        value(&risk, "historical_failure_rate")
    };
    assert_eq!(rate(0, 0), 10.0);
    assert_eq!(rate(5, 5), 55.0);
    assert_eq!(rate(95, 0), 0.5);
    assert_eq!(rate(1, 9), 25.0, "more failures than runs are as many");
}

#[test]
fn stored_and_read_it_is_the_same() {
    let catalogue = catalogue();
    let risk = assess(&RiskInputs { history: History { runs: 7, failures: 3 }, ..inputs(&[], &catalogue) });
    let stored = risk.to_value();
    assert_eq!(Risk::from_value(&stored), Ok(risk));
    for member in ["score", "level", "factors", "auto_approvable", "assessed_at", "assessed_by"] {
        let mut broken = stored.clone();
        broken[member] = json!({});
        assert_eq!(Risk::from_value(&broken), Err(NotARisk), "{member}");
    }
    let mut unknown = stored;
    unknown["factors"][0]["name"] = json!("mood");
    assert_eq!(Risk::from_value(&unknown), Err(NotARisk));
}

prop_compose! {
    fn some_resource()(kind in "(database|cache|vm)", id in "(prod|stage)-[0-9]", alone in any::<bool>()) -> Resource {
        resource(&kind, &id, if alone { Mode::Exclusive } else { Mode::Shared })
    }
}

proptest! {
    #[test]
    fn touching_more_is_never_less_dangerous(
        resources in prop::collection::vec(some_resource(), 0..20), more in some_resource(),
        dependents in 0_u64..40, runs in 0_u64..50, failed in 0_u64..50, declared in 0_usize..5,
    ) {
        let catalogue = catalogue();
        let history = History { runs, failures: failed.min(runs) };
        let declared = DeclaredRisk::ALL[declared];
        let of = |resources: &[Resource], dependents| {
            assess(&RiskInputs { dependents, history, declared, ..inputs(resources, &catalogue) })
        };
        let less = of(&resources, dependents);
        prop_assert!(less.score <= 100);
        let sum: f64 = less.factors.iter().map(|factor| factor.contribution).sum();
        prop_assert!((sum - f64::from(less.score)).abs() <= 0.5);
        for factor in &less.factors {
            prop_assert!((0.0..=100.0).contains(&factor.value));
            prop_assert!((factor.value * factor.weight - factor.contribution).abs() < 0.006);
        }
        prop_assert_eq!(Risk::from_value(&less.to_value()).unwrap(), less.clone());
        // A resource that is named where none was may be rated below the default.
        if !resources.is_empty() {
            let with = [&resources[..], &[more]].concat();
            prop_assert!(of(&with, dependents).score >= less.score);
        }
        prop_assert!(of(&resources, dependents + 1).score >= less.score);
    }
}
