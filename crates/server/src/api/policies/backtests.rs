//! A backtest as it travels.

use std::collections::BTreeMap;

use domain::Id;
use domain::accounts::Account;
use domain::policies::backtest::{Applied, Counts, Difference, Foreseen, Outcome};
use hub::policies::backtest::Backtest as Found;
use wire::{
    Backtest, BacktestAsked, BacktestCounts, BacktestDifference, BacktestOutcome, BacktestPerson,
    BacktestPolicy, BacktestRisk, BacktestSide, Compared,
};

/// Of how many people who would have been asked about a task the answer tells.
const ASKED_SHOWN: usize = 20;
/// And of how many who would have been asked more often, or less.
const PEOPLE_SHOWN: usize = 100;
/// What nobody wrote down of the past.
const AS_OF_NOW: [&str; 4] = ["people", "roles", "delegations", "settings"];

type Names = BTreeMap<Id<Account>, String>;

pub(super) fn shown(found: &Found) -> Backtest {
    let report = &found.report;
    Backtest {
        policy_id: found.policy.id.raw(),
        policy_name: found.policy.name.clone(),
        policy_version: found.policy.version,
        compared: if found.is_draft { Compared::Draft } else { Compared::Absence },
        since: found.since.to_string(),
        looked_at: report.after.tasks,
        cut_off: found.cut_off,
        as_of_now: AS_OF_NOW.map(str::to_owned).into(),
        before: counts(&report.before),
        after: counts(&report.after),
        people: people(found),
        differing: report.differing,
        differences: report.differences.iter().map(|one| difference(one, &found.names)).collect(),
    }
}

fn counts(counts: &Counts) -> BacktestCounts {
    BacktestCounts {
        tasks: counts.tasks,
        auto_approved: counts.auto_approved,
        reviewed: counts.reviewed,
        unreachable: counts.unreachable,
        blocked: counts.blocked,
        fell_to_default: counts.fell_to_default,
        asked: counts.asked.clone(),
        required: counts.required.clone(),
    }
}

fn people(found: &Found) -> Vec<BacktestPerson> {
    let changed = found.report.people.iter().filter(|(_, (before, after))| before != after);
    let person = |(account, (before, after)): (&Id<Account>, &(u32, u32))| BacktestPerson {
        account_id: account.raw(),
        name: name(*account, &found.names),
        before: *before,
        after: *after,
    };
    let mut people: Vec<BacktestPerson> = changed.map(person).collect();
    people.sort_by_key(|person| (std::cmp::Reverse(person.before.abs_diff(person.after)), person.account_id));
    people.truncate(PEOPLE_SHOWN);
    people
}

fn difference(one: &Difference, names: &Names) -> BacktestDifference {
    let (score, level) = one.risk;
    BacktestDifference {
        id: one.task_id.raw(),
        title: one.title.clone(),
        risk: BacktestRisk { score, level: level.as_str().to_owned() },
        submitted_at: one.submitted_at.to_string(),
        before: side(&one.before, names),
        after: side(&one.after, names),
    }
}

fn side(foreseen: &Foreseen, names: &Names) -> BacktestSide {
    let asked =
        |account: &Id<Account>| BacktestAsked { account_id: account.raw(), name: name(*account, names) };
    let policy = |applied: &Applied| BacktestPolicy {
        policy_id: applied.policy_id.raw(),
        name: applied.name.clone(),
        version: applied.version,
        required: applied.required,
        attainable: applied.attainable,
    };
    BacktestSide {
        outcome: match foreseen.outcome {
            Outcome::AutoApproved => BacktestOutcome::AutoApproved,
            Outcome::Reviewed => BacktestOutcome::Reviewed,
            Outcome::Unreachable => BacktestOutcome::Unreachable,
            Outcome::Blocked => BacktestOutcome::Blocked,
        },
        required: foreseen.required(),
        asked_count: u32::try_from(foreseen.asked.len()).unwrap_or(u32::MAX),
        asked: foreseen.asked.iter().take(ASKED_SHOWN).map(asked).collect(),
        policies: foreseen.policies.iter().map(policy).collect(),
        fell_to_default: foreseen.fell_to_default,
        missing: foreseen.missing.clone(),
    }
}

fn name(account: Id<Account>, names: &Names) -> String {
    names.get(&account).cloned().unwrap_or_default()
}
