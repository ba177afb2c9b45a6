//! What a draft of a policy would have changed, for whoever is about to save it.

use std::collections::{BTreeMap, BTreeSet};

use domain::policies::PolicyChange;
use domain::policies::backtest::{Counts, Difference, Foreseen, Outcome};
use hub::HubError;
use hub::policies;
use uuid::Uuid;

use crate::App;
use crate::extract::PathId;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, line, plural, risk};

/// How far back the page looks; the API takes what one says.
pub(super) const DAYS: u32 = 30;
/// How many tasks that differ are shown; the API tells of more.
const SHOWN_MAX: usize = 20;

/// What was found.
pub(super) struct Backtested {
    pub(super) version: i64,
    pub(super) tasks: String,
    pub(super) cut_off: bool,
    pub(super) rows: Vec<Row>,
    pub(super) differences: Vec<Differs>,
    /// How many more tasks differ than are shown.
    pub(super) more: usize,
}

/// One number of both.
pub(super) struct Row {
    pub(super) what: String,
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) difference: String,
    pub(super) class: &'static str,
}

/// A task that differs.
pub(super) struct Differs {
    pub(super) id: Uuid,
    pub(super) title: Markup,
    pub(super) risk: Markup,
    pub(super) before: Markup,
    pub(super) after: Markup,
}

pub(super) async fn run(
    app: &App,
    shell: &Shell,
    id: &PathId,
    change: PolicyChange,
) -> Result<Backtested, HubError> {
    let found = policies::backtest(&app.hub, &shell.caller, id.id(), DAYS, Some(change)).await?;
    let report = &found.report;
    let shown = report.differences.iter().take(SHOWN_MAX);
    Ok(Backtested {
        version: found.policy.version,
        tasks: plural(report.after.tasks as usize, "task"),
        cut_off: found.cut_off,
        rows: rows(&report.before, &report.after),
        differences: shown.map(differs).collect(),
        more: (report.differing as usize).saturating_sub(SHOWN_MAX),
    })
}

/// Whether more of it is a reason to look again.
#[derive(Clone, Copy, PartialEq)]
enum More {
    Worse,
    Other,
}

fn rows(before: &Counts, after: &Counts) -> Vec<Row> {
    let mut rows = vec![
        row("Passed by themselves", before.auto_approved, after.auto_approved, More::Worse),
        row("Asked enough people", before.reviewed, after.reviewed, More::Other),
    ];
    for number in numbers(&before.required, &after.required) {
        let count = |of: &BTreeMap<u32, u32>| of.get(&number).copied().unwrap_or(0);
        let what = match number {
            1 => "Needed one signature".to_owned(),
            several => format!("Needed {several} signatures"),
        };
        rows.push(row(&what, count(&before.required), count(&after.required), More::Other));
    }
    rows.extend([
        row("Fell to the default policy", before.fell_to_default, after.fell_to_default, More::Worse),
        row("Would have been unreachable", unreachable(before), unreachable(after), More::Worse),
    ]);
    rows
}

/// Too few people to ask, or nobody at all: the task's page has one word for both, so this one has too.
const fn unreachable(counts: &Counts) -> u32 {
    counts.unreachable + counts.blocked
}

/// How many signatures tasks need, by either; those that pass need none and are counted above.
fn numbers(before: &BTreeMap<u32, u32>, after: &BTreeMap<u32, u32>) -> BTreeSet<u32> {
    before.keys().chain(after.keys()).copied().filter(|number| *number > 0).collect()
}

fn row(what: &str, before: u32, after: u32, more: More) -> Row {
    let (difference, class) = match after.cmp(&before) {
        std::cmp::Ordering::Equal => ("0".to_owned(), "muted"),
        std::cmp::Ordering::Greater => {
            (format!("+{}", after - before), if more == More::Worse { "warn" } else { "" })
        }
        std::cmp::Ordering::Less => {
            (format!("\u{2212}{}", before - after), if more == More::Worse { "ok" } else { "" })
        }
    };
    Row { what: what.to_owned(), before, after, difference, class }
}

fn differs(one: &Difference) -> Differs {
    let (score, level) = one.risk;
    let (before, after) = (side(&one.before), side(&one.after));
    // Where both read the same, what differs is said.
    let after = match (before == after, one.before.asked == one.after.asked) {
        (true, false) => format!("{after}, other people"),
        (true, true) => format!("{after}, another number for one of them"),
        (false, _) => after,
    };
    Differs {
        id: one.task_id.raw(),
        title: line(&one.title),
        risk: risk(level, Some(score)),
        before: line(&before),
        after: line(&after),
    }
}

fn side(foreseen: &Foreseen) -> String {
    let names: Vec<&str> = foreseen.policies.iter().map(|policy| policy.name.as_str()).collect();
    let asked = foreseen.asked.len();
    let what = match foreseen.outcome {
        Outcome::AutoApproved => "passes by itself".to_owned(),
        Outcome::Reviewed => format!("{} of {asked}", foreseen.required()),
        Outcome::Unreachable | Outcome::Blocked => format!("unreachable: {} of {asked}", foreseen.required()),
    };
    format!("{what} ({})", names.join(", "))
}
