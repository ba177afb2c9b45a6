//! `countersign policy backtest`: what a draft would have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use wire::{Backtest, BacktestCounts, BacktestOutcome, BacktestSide, Compared, PolicyForm, RunBacktest};

use super::{find, named_by_id};
use crate::cli::{ClientFlags, Usage};
use crate::commands::documents;
use crate::commands::tasks::show;
use crate::exit::Exit;
use crate::terminal::{Table, width};

pub(super) const EXAMPLES: &str = "\
Examples:
  countersign policy backtest databases --days 30
  countersign policy backtest databases --days 30 --file draft.yaml
  echo '{\"min_approvers\": 2}' | countersign policy backtest default --file - --json

Tasks that were handed in within the days are held against the rules as they stand, and against the rules with the
draft in the policy's place. Without a file they are held against the rules without the policy, and as they stand.
What a task says and its risk are those of then; people, roles, delegations and settings are those of now.
Nothing is changed.";

#[derive(Args)]
pub(super) struct Run {
    #[command(flatten)]
    client: ClientFlags,
    /// Its name or id
    policy: String,
    /// How far back, 1 to 90
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
    days: u32,
    /// What would be different, as in `policy apply`; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) async fn run(run: &Run) -> anyhow::Result<Exit> {
    let wanted = run.file.as_deref().map(documents::read_object).transpose()?;
    let client = run.client.client()?;
    let draft = match wanted {
        None => None,
        Some(object) => {
            let mut value = Value::Object(object);
            named_by_id(&client, &mut value).await?;
            let form: PolicyForm =
                serde_json::from_value(value).map_err(|error| Usage(format!("the draft: {error}")))?;
            Some(form)
        }
    };
    let policy = find(&client, &run.policy).await?;
    let found = client.backtest_policy(policy.id, &RunBacktest { days: run.days, draft }).await?;
    show::written(&found, run.client.json, &text(&found))
}

fn text(found: &Backtest) -> String {
    let compared = match found.compared {
        Compared::Draft => "before: as it stands; after: the draft",
        Compared::Absence => "before: the rules without it; after: as it stands",
    };
    let more = if found.cut_off { ", and there are more" } else { "" };
    let (name, version) = (show::one_line(&found.policy_name), found.policy_version);
    let mut text = format!("policy     {name} v{version} ({compared})\n");
    text += &format!("looked at  {} tasks handed in since {}{more}\n", found.looked_at, found.since);
    text += &format!("as of now  {}\n\n", found.as_of_now.join(", "));
    text += &counts(&found.before, &found.after).render(width());
    if !found.people.is_empty() {
        text += "\n";
        text += &people(found).render(width());
    }
    if found.differences.is_empty() {
        text += "\nno task would have been treated differently\n";
        return text;
    }
    text += "\n";
    text += &differences(found).render(width());
    let untold = (found.differing as usize).saturating_sub(found.differences.len());
    if untold > 0 {
        text += &format!("and {untold} more\n");
    }
    text
}

fn counts(before: &BacktestCounts, after: &BacktestCounts) -> Table {
    let mut table = Table::new(["TASKS", "BEFORE", "AFTER", "DIFFERENCE"]);
    let mut row = |what: &str, (before, after): (u32, u32)| {
        table.row([what, &before.to_string(), &after.to_string(), &difference(before, after)]);
    };
    row("pass by themselves", (before.auto_approved, after.auto_approved));
    row("ask enough people", (before.reviewed, after.reviewed));
    row("unreachable: ask too few", (before.unreachable, after.unreachable));
    row("blocked: could ask nobody", (before.blocked, after.blocked));
    row("fall to the default policy", (before.fell_to_default, after.fell_to_default));
    for (number, both) in by_number(&before.required, &after.required) {
        row(&format!("need {number} to agree"), both);
    }
    for (number, both) in by_number(&before.asked, &after.asked) {
        row(&format!("ask {number}"), both);
    }
    table
}

/// Every number that is in either, with how often it is in both.
fn by_number(before: &BTreeMap<u32, u32>, after: &BTreeMap<u32, u32>) -> Vec<(u32, (u32, u32))> {
    let numbers: BTreeSet<u32> = before.keys().chain(after.keys()).copied().collect();
    let count = |of: &BTreeMap<u32, u32>, number| of.get(&number).copied().unwrap_or(0);
    numbers.into_iter().map(|number| (number, (count(before, number), count(after, number)))).collect()
}

fn difference(before: u32, after: u32) -> String {
    match i64::from(after) - i64::from(before) {
        0 => "0".to_owned(),
        more => format!("{more:+}"),
    }
}

fn people(found: &Backtest) -> Table {
    let mut table = Table::new(["ASKED", "BEFORE", "AFTER", "DIFFERENCE"]);
    for person in &found.people {
        let (before, after) = (person.before.to_string(), person.after.to_string());
        table.row([&person.name, &before, &after, &difference(person.before, person.after)]);
    }
    table
}

fn differences(found: &Backtest) -> Table {
    let mut table = Table::new(["TASK", "RISK", "BEFORE", "AFTER", "TITLE"]);
    for one in &found.differences {
        let risk = format!("{} {}", one.risk.level, one.risk.score);
        table.row([&one.id.to_string(), &risk, &side(&one.before), &side(&one.after), &one.title]);
    }
    table
}

fn side(side: &BacktestSide) -> String {
    let policies: Vec<&str> = side.policies.iter().map(|policy| policy.name.as_str()).collect();
    let BacktestSide { required, asked_count, .. } = side;
    let what = match side.outcome {
        BacktestOutcome::AutoApproved => "passes".to_owned(),
        BacktestOutcome::Reviewed => format!("{required} of {asked_count}"),
        BacktestOutcome::Unreachable => format!("unreachable, {asked_count} asked"),
        BacktestOutcome::Blocked => "blocked, nobody to ask".to_owned(),
    };
    format!("{what} ({})", policies.join(", "))
}
