//! How long the product takes to be ready on an empty directory, and how much memory it then holds.

use std::time::Duration;

use anyhow::Result;

use crate::figures::{Bar, Figure, Row};
use crate::http::{Connection, Request};
use crate::machine::resident_mb;
use crate::programs::Program;
use crate::{Bench, progress};

/// More than the usual rounds: a start is short, and one disturbance would be all of it.
const STARTS: usize = 5;
const READY_MS_MAX: f64 = 300.0;
const IDLE_MB_MAX: f64 = 60.0;
/// The figure is the memory at this time after the start, not after something has happened.
const IDLE_AFTER: Duration = Duration::from_secs(2);
const REQUESTS: usize = 1_000;
/// A hub that takes longer is not slow but broken.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks whether it is ready; a small part of what is measured.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let (mut ready, mut idle, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for start in 1..=STARTS {
        let hub = Program::countersign(bench)?;
        bench.runtime.block_on(until_ready(&hub))?;
        let took = hub.began.elapsed().as_secs_f64() * 1e3;
        std::thread::sleep(IDLE_AFTER);
        let before = resident_mb(hub.target.pid)?;
        bench.runtime.block_on(ask_often(&hub))?;
        let after = resident_mb(hub.target.pid)?;
        progress(&format!("  {start}: ready in {took:.0} ms, {before:.1} MB, then {after:.1} MB"));
        ready.push(took);
        idle.push(before);
        used.push(after);
    }
    let idle_bar = Bar::Below(IDLE_MB_MAX);
    Ok(vec![
        Row::new("start on an empty directory to ready, ms", Figure::of(ready), 0)
            .with_bar(Bar::Below(READY_MS_MAX)),
        Row::new("resident memory 2 s after the start, MB", Figure::of(idle), 1).with_bar(idle_bar),
        Row::new(format!("resident memory after {REQUESTS} requests, MB"), Figure::of(used), 1)
            .with_bar(idle_bar),
    ])
}

/// The first line has been read; it is ready when it says so.
pub(crate) async fn until_ready(hub: &Program) -> Result<()> {
    let request = Request::get("/readyz", "");
    loop {
        let ready = async { Connection::open(hub.target.address).await?.ask(&request).await.map(drop) };
        match ready.await {
            Ok(()) => return Ok(()),
            Err(error) if hub.began.elapsed() > READY_WITHIN => {
                return Err(error.context("the hub is not ready"));
            }
            Err(_) => tokio::time::sleep(LOOK_INTERVAL).await,
        }
    }
}

async fn ask_often(hub: &Program) -> Result<()> {
    let ask = Request::get("/api/v1/me", &format!("authorization: Bearer {}\r\n", hub.admin_key()?));
    let mut connection = Connection::open(hub.target.address).await?;
    for _ in 0..REQUESTS {
        connection.ask(&ask).await?;
    }
    Ok(())
}
