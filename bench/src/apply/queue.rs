//! Agents that take the next task and are done with it, where few and where many wait.

use std::cell::Cell;

use anyhow::Result;

use super::cycle::Agent;
use crate::Bench;
use crate::closed_loop::{self, Run, Worker};
use crate::figures::{Bar, Row, grouped, ratio};
use crate::homes::{Home, Homes};
use crate::http::Connection;
use crate::programs::Program;
use crate::review::cycle::{Cycle, touching};
use crate::review::fill::stock;
use crate::review::team::{Team, call, text};
use crate::review::{CONNECTIONS, team};
use crate::turns::{Side, taken};

const GROWTH_MAX: f64 = 1.3;
const FEW: u64 = 100;
const MANY: u64 = 10_000;
/// More than all agents together take.
const CLAIMS_PER_SECOND_MAX: f64 = 3_000.0;
/// As agents do: the first of those that wait may all be taken by others at the moment.
const WAIT_SECONDS: u32 = 30;

/// An agent that claims and is done; the claim is what is timed.
struct Taker {
    connection: Connection,
    agent: Agent,
}

impl Taker {
    async fn claimed(&mut self) -> Result<String> {
        text(&call(&mut self.connection, &self.agent.next(WAIT_SECONDS)).await?, "execution_id")
    }
}

impl Worker for Taker {
    async fn once(&mut self) -> Result<()> {
        self.timed().await.map(drop)
    }

    async fn timed(&mut self) -> Result<std::time::Duration> {
        let began = std::time::Instant::now();
        let execution = self.claimed().await?;
        let took = began.elapsed();
        self.agent.complete(&mut self.connection, &execution).await?;
        Ok(took)
    }
}

/// A hub with one approved task, of which the others are copies. They share what they touch.
fn with_one(bench: &Bench, homes: &Homes<'_>) -> Result<(Home, Team)> {
    let home = homes.founded()?;
    let hub = Program::at(&home, bench)?;
    let team = bench.runtime.block_on(async {
        let team = team::Team::form(hub.target.address, &home.admin_key()?, CONNECTIONS).await?;
        let first = Cycle::all(hub.target, &team).await?.swap_remove(0);
        first.proposing(touching("prod-db-01", "shared")).once().await?;
        anyhow::Ok(team)
    })?;
    drop(hub);
    Ok((home, team))
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let (of_few, of_many) = (with_one(bench, homes)?, with_one(bench, homes)?);
    let (few, many) = (Program::at(&of_few.0, bench)?, Program::at(&of_many.0, bench)?);
    // Warming up takes some too.
    let taken_in_turn = (bench.duration.as_secs_f64() / 3.0 + 1.0) * CLAIMS_PER_SECOND_MAX;
    let copies = [Cell::new(0), Cell::new(0)];
    let turn = |hub: &Program, (home, team): &(Home, Team), (waiting, copies): (u64, &Cell<u64>), turn| {
        copies.set(stock(home, waiting + taken_in_turn as u64, copies.get())?);
        bench.runtime.block_on(async {
            let mut takers = Vec::new();
            for agent in Agent::all(team) {
                takers.push(Taker { connection: Connection::open(hub.target.address).await?, agent });
            }
            closed_loop::run(takers, turn, hub.target.pid).await
        })
    };
    let named = |waiting: u64| format!("SQLite, `next`, at least {} waiting", grouped(waiting as f64, 0));
    let sides = [
        Side::new(named(FEW), |time| -> Result<Run> { turn(&few, &of_few, (FEW, &copies[0]), time) }),
        Side::new(named(MANY), |time| turn(&many, &of_many, (MANY, &copies[1]), time)),
    ];
    let [few, many] = taken(bench, sides)?;
    let grown = |value: fn(&Run) -> f64| ratio(&many.values(value), &few.values(value));
    let mut table = vec![
        Row::new("claim with many waiting ÷ with few: p50", grown(|run| run.p50_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
        Row::new("claim with many waiting ÷ with few: CPU (with its report)", grown(|run| run.cpu_micros), 2)
            .with_bar(Bar::AtMost(GROWTH_MAX)),
    ];
    table.extend(few.rows_of("claim"));
    table.extend(many.rows_of("claim"));
    Ok(table)
}
