//! Units on SQLite: what our layer costs, and what group commit brings.

use std::path::Path;

use anyhow::Result;
use records::Db;

use crate::closed_loop::Run;
use crate::decisions::sqlite_by_hand::{Commits, SqliteByHand};
use crate::decisions::through_records::ThroughRecords;
use crate::decisions::{drive, rates, rows, schema};
use crate::figures::{Bar, Row, ratio};
use crate::{Bench, ROUNDS, progress};

const OF_BY_HAND_MIN: f64 = 0.85;
const OF_SINGLE_COMMITS_MIN: f64 = 2.5;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let (mut ours, mut groups, mut singles) = (Vec::new(), Vec::new(), Vec::new());
    let template = bench.scratch().join("template.sqlite");
    schema::make_sqlite(&template)?;
    for round in 1..=ROUNDS {
        let (one, two, three) = (
            on_copy(bench, &template, |file| through_records(bench, file))?,
            on_copy(bench, &template, |file| by_hand(bench, file, Commits::OfGroups))?,
            on_copy(bench, &template, |file| by_hand(bench, file, Commits::OfUnits))?,
        );
        progress(&format!(
            "  {round}: records {:.0}, by hand {:.0}, one commit per unit {:.0} units/s",
            one.per_second, two.per_second, three.per_second
        ));
        ours.push(one);
        groups.push(two);
        singles.push(three);
    }
    let of_by_hand = ratio(&rates(&ours), &rates(&groups));
    let of_singles = ratio(&rates(&ours), &rates(&singles));
    let mut table = vec![
        Row::new("SQLite, `records` ÷ rusqlite by hand", of_by_hand, 2)
            .with_bar(Bar::AtLeast(OF_BY_HAND_MIN)),
        Row::new("SQLite, `records` (group commit) ÷ one commit per unit by hand", of_singles, 2)
            .with_bar(Bar::AtLeast(OF_SINGLE_COMMITS_MIN)),
    ];
    table.extend(rows("SQLite, `records`", &ours));
    table.extend(rows("SQLite, by hand, group commit", &groups));
    table.extend(rows("SQLite, by hand, one commit per unit", &singles));
    Ok(table)
}

/// Runs on a copy of the file: none may find what another has left.
pub(crate) fn on_copy(bench: &Bench, template: &Path, run: impl FnOnce(&Path) -> Result<Run>) -> Result<Run> {
    let directory = tempfile::tempdir_in(bench.scratch())?;
    let file = directory.path().join("copy.sqlite");
    std::fs::copy(template, &file)?;
    // Otherwise the kernel writes the copy out during the run.
    std::fs::File::open(&file)?.sync_all()?;
    run(&file)
}

pub(crate) fn through_records(bench: &Bench, file: &Path) -> Result<Run> {
    let db = Db::open_sqlite(file)?;
    let run = bench.runtime.block_on(drive(&ThroughRecords(db.clone()), bench.duration));
    bench.runtime.block_on(db.close());
    run
}

fn by_hand(bench: &Bench, file: &Path, commits: Commits) -> Result<Run> {
    let store = SqliteByHand::open(file, commits)?;
    bench.runtime.block_on(drive(&store, bench.duration))
}
