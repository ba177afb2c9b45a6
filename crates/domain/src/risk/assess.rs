//! How the score comes about: four factors, each in words.

use serde_json::Value;

use super::{Factor, Risk, RiskLevel};
use crate::Timestamp;
use crate::resource_catalogue::{DEFAULT_CRITICALITY, ResourceCatalogue};
use crate::tasks::{DeclaredRisk, Mode, Resource};

/// The version of these rules; a new one whenever a score could come out differently.
pub const ASSESSED_BY: &str = "risk-1";

pub(super) const CRITICALITY: &str = "resource_criticality";
pub(super) const MAGNITUDE: &str = "change_magnitude";
pub(super) const BLAST_RADIUS: &str = "blast_radius";
pub(super) const FAILURE_RATE: &str = "historical_failure_rate";

const CRITICALITY_WEIGHT: f64 = 0.4;
const MAGNITUDE_WEIGHT: f64 = 0.3;
const BLAST_RADIUS_WEIGHT: f64 = 0.2;
const FAILURE_RATE_WEIGHT: f64 = 0.1;

const POINTS_MAX: u64 = 100;
const CREATED_POINTS: u64 = 5;
const CHANGED_POINTS: u64 = 10;
const DELETED_POINTS: u64 = 25;
/// What one shared resource counts when the catalogue does not say.
const RESOURCE_POINTS: u64 = 5;
const DEPENDENT_POINTS: u64 = 5;
/// What is believed before anything ran: one failure in ten, as if seen in five runs.
const PRIOR_RUNS: f64 = 5.0;
const PRIOR_FAILURES: f64 = 0.5;

/// What a task would change, and who says so.
#[derive(Clone, Copy, Debug)]
pub struct Preview<'a> {
    /// Each change; its `kind` (or `action`) says whether something is created, changed or deleted.
    pub changes: &'a [Value],
    /// Whether the hub found them out itself.
    pub by_hub: bool,
}

/// How executions of the same type on the same resources ended so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// How many there were.
    pub runs: u64,
    /// How many of them failed.
    pub failures: u64,
}

/// All that the score looks at.
#[derive(Clone, Copy, Debug)]
pub struct RiskInputs<'a> {
    /// What the task touches.
    pub resources: &'a [Resource],
    /// How large the author says it is.
    pub declared: DeclaredRisk,
    /// What it would change.
    pub preview: Option<Preview<'a>>,
    /// What the organization says about its resources.
    pub catalogue: &'a ResourceCatalogue,
    /// How many tasks wait for this one.
    pub dependents: u64,
    /// How such tasks ended so far.
    pub history: History,
    /// `risk:thresholds`.
    pub thresholds: [u32; 3],
    /// When.
    pub now: Timestamp,
}

/// How dangerous a task is. Whether it would pass without a person is for the policies to say; until then it does not.
#[must_use]
pub fn assess(inputs: &RiskInputs<'_>) -> Risk {
    let factors =
        vec![criticality(inputs), magnitude(inputs), blast_radius(inputs), failure_rate(inputs.history)];
    let score = score(&factors);
    Risk {
        score,
        level: RiskLevel::of(score, inputs.thresholds),
        factors,
        auto_approvable: false,
        assessed_at: inputs.now,
        assessed_by: ASSESSED_BY.to_owned(),
    }
}

impl Risk {
    /// The score that auto-approval looks at: where nobody but the author says how large the change is, it is taken for
    /// medium at least.
    #[must_use]
    pub fn score_unvouched(&self, previewed_by_hub: bool) -> u32 {
        let mut factors = self.factors.clone();
        let least = f64::from(points(DeclaredRisk::Medium));
        for factor in factors.iter_mut().filter(|factor| factor.name == MAGNITUDE && !previewed_by_hub) {
            let raised = factor.value.max(least);
            *factor = weighed(MAGNITUDE, raised, factor.weight, factor.reason.clone());
        }
        // Stored numbers may be of other rules: never below what people were shown.
        score(&factors).max(self.score)
    }
}

fn score(factors: &[Factor]) -> u32 {
    let sum: f64 = factors.iter().map(|factor| factor.contribution).sum();
    // Clamped before the cast, so nothing is lost by it.
    sum.round().clamp(0.0, 100.0) as u32
}

fn weighed(name: &'static str, value: f64, weight: f64, reason: String) -> Factor {
    let hundredths = |number: f64| (number * 100.0).round() / 100.0;
    let value = hundredths(value.clamp(0.0, 100.0));
    Factor { name, value, weight, contribution: hundredths(value * weight), reason }
}

fn capped(points: u64) -> f64 {
    // At most 100, which every double holds.
    points.min(POINTS_MAX) as f64
}

fn criticality(inputs: &RiskInputs<'_>) -> Factor {
    let rated = inputs.resources.iter().map(|resource| {
        let rule = inputs.catalogue.rule_for(resource);
        (rule.map_or(DEFAULT_CRITICALITY, |rule| rule.criticality), resource, rule)
    });
    // The first of the most critical ones is named.
    let highest = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let (value, reason) = match highest {
        Some((value, resource, Some(rule))) => (
            value,
            format!("{} is rated {value} by the catalogue ({})", resource.name(), rule.pattern.as_str()),
        ),
        Some((value, resource, None)) => {
            (value, format!("{} is not in the catalogue, which counts as {value}", resource.name()))
        }
        None => (DEFAULT_CRITICALITY, format!("it names no resource, which counts as {DEFAULT_CRITICALITY}")),
    };
    weighed(CRITICALITY, f64::from(value), CRITICALITY_WEIGHT, reason)
}

const fn points(declared: DeclaredRisk) -> u32 {
    match declared {
        DeclaredRisk::Trivial => 10,
        DeclaredRisk::Low => 25,
        DeclaredRisk::Medium => 50,
        DeclaredRisk::High => 75,
        DeclaredRisk::Critical => 100,
    }
}

fn magnitude(inputs: &RiskInputs<'_>) -> Factor {
    let declared = f64::from(points(inputs.declared));
    let says = format!("the author calls it {}", inputs.declared.as_str());
    let (value, reason) = match inputs.preview {
        None => (declared, format!("{says}, and there is no preview")),
        Some(preview) => {
            let (previewed, counted) = counted(preview.changes);
            if preview.by_hub {
                (previewed, format!("the hub's preview shows {counted}"))
            } else {
                // Both are the author's word; neither talks the other down.
                (previewed.max(declared), format!("{says}, and the author's preview shows {counted}"))
            }
        }
    };
    weighed(MAGNITUDE, value, MAGNITUDE_WEIGHT, reason)
}

fn counted(changes: &[Value]) -> (f64, String) {
    let kind = |change: &Value| {
        let word = change.get("kind").or_else(|| change.get("action")).and_then(Value::as_str);
        match word.map(str::to_ascii_lowercase).as_deref() {
            Some("create" | "created" | "add" | "added") => CREATED_POINTS,
            Some("delete" | "deleted" | "remove" | "removed" | "destroy" | "replace") => DELETED_POINTS,
            // Whatever it is, it changes something.
            _ => CHANGED_POINTS,
        }
    };
    let kinds: Vec<u64> = changes.iter().map(kind).collect();
    let of = |points: u64| kinds.iter().filter(|kind| **kind == points).count();
    let words = format!(
        "{} created, {} changed, {} deleted",
        of(CREATED_POINTS),
        of(CHANGED_POINTS),
        of(DELETED_POINTS)
    );
    (capped(kinds.iter().sum()), words)
}

fn blast_radius(inputs: &RiskInputs<'_>) -> Factor {
    let radius = |resource: &Resource| {
        let said = inputs.catalogue.rule_for(resource).and_then(|rule| rule.blast_radius);
        let one = said.map_or(RESOURCE_POINTS, u64::from);
        if resource.mode == Mode::Exclusive { 2 * one } else { one }
    };
    let touched: u64 = inputs.resources.iter().map(radius).sum();
    let waiting = inputs.dependents.saturating_mul(DEPENDENT_POINTS);
    let exclusive = inputs.resources.iter().filter(|resource| resource.mode == Mode::Exclusive).count();
    let waiting_for_it = match inputs.dependents {
        0 => "no task".to_owned(),
        1 => "1 task".to_owned(),
        many => format!("{many} tasks"),
    };
    let touched_words = touching(inputs.resources.len(), exclusive);
    let reason = format!("{touched_words}, and {waiting_for_it} waiting for it");
    weighed(BLAST_RADIUS, capped(touched.saturating_add(waiting)), BLAST_RADIUS_WEIGHT, reason)
}

/// How much is touched, and how much of it nobody else may touch meanwhile.
fn touching(resources: usize, exclusive: usize) -> String {
    match (resources, exclusive) {
        (0, _) => "no resources".to_owned(),
        (1, 0) => "1 resource, shared".to_owned(),
        (1, _) => "1 resource, exclusively".to_owned(),
        (many, 0) => format!("{many} resources, all of them shared"),
        (many, all) if all == many => format!("{many} resources, all of them exclusively"),
        (many, some) => format!("{many} resources, {some} of them exclusively"),
    }
}

fn failure_rate(history: History) -> Factor {
    // Counts of runs are far below 2^53.
    let (runs, failures) = (history.runs as f64, history.failures.min(history.runs) as f64);
    let value = 100.0 * (failures + PRIOR_FAILURES) / (runs + PRIOR_RUNS);
    let reason = if history.runs == 0 {
        "nothing like it ran on these resources yet".to_owned()
    } else {
        format!("{} of {} runs like it failed", history.failures, history.runs)
    };
    weighed(FAILURE_RATE, value, FAILURE_RATE_WEIGHT, reason)
}
