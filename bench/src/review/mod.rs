//! Tasks on their way to a Grant: how many, how fast, and what very many of them do to that.
//!
//! [`team`] lets people in, [`cycle`] takes a task from draft to Grant, [`mod@fill`] makes many out of one, [`votes`] looks
//! at single answers.

pub(crate) mod cycle;
pub(crate) mod fill;
pub(crate) mod team;
mod votes;

use anyhow::Result;
use records::Engine;

use self::cycle::{Cycle, UNITS};
use self::fill::{Kind, fill};
use self::team::Team;
use crate::closed_loop::{self, Run, Worker as _};
use crate::decisions::schema;
use crate::figures::{Bar, Figure, Row, grouped, ratio};
use crate::homes::{Home, Homes};
use crate::http::{Request, load};
use crate::programs::Program;
use crate::records_sqlite::{on_copy, through_records};
use crate::turns::{Side, taken};
use crate::{Bench, progress};

pub(crate) const CONNECTIONS: usize = 64;
const CYCLES_MIN: f64 = 1_000.0;
const OF_RAW_UNITS_MIN: f64 = 0.35;
const OF_ME_MAX: f64 = 6.0;
const GROWTH_MAX: f64 = 1.3;
/// Finished tasks of the hub that has seen few.
const FEW: u64 = 1_000;
/// Requests that wait for each of the two reviewers.
pub(crate) const OPEN: u64 = 100_000;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let (few, team_of_few) = staffed(bench, &homes, FEW, Kind::Finished)?;
    let (many, team_of_many) = staffed(bench, &homes, bench.tasks, Kind::Finished)?;
    let mut table = cycles(bench, (&few, &team_of_few), (&many, &team_of_many))?;
    drop(many);
    let open = OPEN.min(bench.tasks);
    let (queue, team) = staffed(bench, &homes, open, Kind::Open)?;
    table.extend(queued(bench, &queue, &team, open)?);
    drop(queue);
    let (fresh, team) = staffed(bench, &homes, FEW, Kind::Finished)?;
    table.extend(votes::measure(bench, &fresh, &team)?);
    Ok(table)
}

/// A hub with people in it, and so many tasks of one kind.
pub(crate) fn staffed(bench: &Bench, homes: &Homes<'_>, tasks: u64, kind: Kind) -> Result<(Home, Team)> {
    let home = homes.founded()?;
    let hub = Program::at(&home, bench)?;
    let team = bench.runtime.block_on(async {
        let team = Team::form(hub.target.address, &home.admin_key()?, CONNECTIONS).await?;
        let mut first = Cycle::all(hub.target, &team).await?.swap_remove(0);
        match kind {
            Kind::Finished | Kind::Queued => first.once().await?,
            Kind::Open => drop(first.proposed().await?),
        }
        anyhow::Ok(team)
    })?;
    drop(hub);
    fill(&home, tasks, kind)?;
    Ok((home, team))
}

/// Whole cycles where few and where many tasks came before, and the bare units they are made of.
fn cycles(bench: &Bench, few: (&Home, &Team), many: (&Home, &Team)) -> Result<Vec<Row>> {
    let template = bench.scratch().join("cycles-template.sqlite");
    schema::make_sqlite(&template)?;
    let (small, large) = (Program::at(few.0, bench)?, Program::at(many.0, bench)?);
    let turns = |hub: &Program, team: &Team, turn| -> Result<Run> {
        bench.runtime.block_on(async {
            closed_loop::run(Cycle::all(hub.target, team).await?, turn, hub.target.pid).await
        })
    };
    let named = |tasks: u64| format!("SQLite, review cycle after {} tasks", grouped(tasks as f64, 0));
    let sides = [
        Side::new(named(FEW), |turn| turns(&small, few.1, turn)),
        Side::new(named(bench.tasks), |turn| turns(&large, many.1, turn)),
        Side::new("SQLite, bare units of `records`", |_| {
            on_copy(bench, &template, |file| through_records(bench, file))
        }),
    ];
    let [few, many, raw] = taken(bench, sides)?;
    let units: Vec<f64> = few.values(|run| run.per_second * UNITS);
    let grown = |value: fn(&Run) -> f64| ratio(&many.values(value), &few.values(value));
    let mut table = vec![
        Row::new(
            "SQLite, review cycles/s (create, submit, two votes, Grant)",
            Figure::of(few.values(|run| run.per_second)),
            0,
        )
        .with_bar(Bar::AtLeast(CYCLES_MIN)),
        Row::new(
            "or units/s of the cycle ÷ bare units/s",
            ratio(&units, &raw.values(|run| run.per_second)),
            2,
        )
        .with_bar(Bar::AtLeast(OF_RAW_UNITS_MIN)),
        Row::new("cycle after many tasks ÷ after few: p50", grown(|run| run.p50_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
        Row::new("cycle after many tasks ÷ after few: CPU", grown(|run| run.cpu_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
    ];
    for side in [few, many, raw] {
        table.extend(side.rows());
    }
    Ok(table)
}

/// A reviewer's queue when very much waits, against `/me`.
fn queued(bench: &Bench, home: &Home, team: &Team, open: u64) -> Result<Vec<Row>> {
    let hub = Program::at(home, bench)?;
    let side = |name: String, path: &'static str, ask: fn(&str, &str) -> Request| {
        Side::new(name, move |turn| {
            let key = team.reviewers[0].clone();
            let who = std::iter::repeat_n(move || ask(path, &key), CONNECTIONS);
            bench.runtime.block_on(load(hub.target, who, turn))
        })
    };
    progress("  the queue of a reviewer");
    let waits = grouped(open as f64, 0);
    let (queue, first) = ("/api/v1/approvals?reviewer=me", "/api/v1/approvals?reviewer=me&limit=10");
    let sides = [
        side("`/me` of a reviewer".to_owned(), "/api/v1/me", Request::get),
        side(format!("`/approvals?reviewer=me`, {waits} waiting, asked for again"), queue, Request::get),
        side(format!("`/approvals?reviewer=me`, {waits} waiting, made anew"), queue, Request::get_anew),
        side(format!("the same, 10 of them, {waits} waiting, made anew"), first, Request::get_anew),
    ];
    let [me, again, queue, first] = taken(bench, sides)?;
    let of_me = |side: &crate::turns::Measured| {
        ratio(&side.values(|run| run.p99_micros), &me.values(|run| run.p99_micros))
    };
    let mut table = vec![
        Row::new("SQLite, a reviewer's queue asked for again ÷ `/me`: p99", of_me(&again), 2)
            .with_bar(Bar::AtMost(OF_ME_MAX)),
        Row::new("SQLite, a reviewer's queue ÷ `/me`: p99", of_me(&queue), 2)
            .with_bar(Bar::AtMost(OF_ME_MAX)),
        Row::new("SQLite, the first 10 of it ÷ `/me`: p99", of_me(&first), 2),
    ];
    for side in [me, again, queue, first] {
        table.extend(side.rows());
    }
    Ok(table)
}
