//! 16 clients and one key, which goes from hand to hand.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::countersign::Countersign;
use super::{Locker, Peer, Peers, key, timed};
use crate::Bench;
use crate::calibration::syncs_per_second;
use crate::closed_loop::{Run, Worker};
use crate::figures::{Bar, Figure, Row, ratio};
use crate::http::{Request, load};
use crate::programs::Program;
use crate::turns::{Measured, Side, all_taken};

const CLIENTS: usize = 16;
const OF_REDIS_MIN: f64 = 1.2;
const OF_ZOOKEEPER_MIN: f64 = 3.0;
const FAIRNESS_MAX: f64 = 1.1;

/// One of those who hand the key on.
struct Hand<L> {
    locker: L,
    key: String,
    own: Arc<AtomicU64>,
    is_held: Arc<AtomicBool>,
}

impl<L: Locker> Worker for Hand<L> {
    async fn once(&mut self) -> Result<()> {
        self.locker.acquire(&self.key).await?;
        ensure!(!self.is_held.swap(true, Ordering::AcqRel), "two hold one lock");
        self.own.fetch_add(1, Ordering::Relaxed);
        self.is_held.store(false, Ordering::Release);
        self.locker.release().await
    }
}

/// How often each of them had it, the most by the least, turn by turn.
#[derive(Default)]
struct Fairness(RefCell<Vec<f64>>);

fn handed<P: Peer>(bench: &Bench, peer: &P, fairness: &Fairness, turn: Duration) -> Result<Run> {
    bench.runtime.block_on(async {
        let (mut hands, mut counts) = (Vec::new(), Vec::new());
        let is_held = Arc::new(AtomicBool::new(false));
        for number in 0..CLIENTS {
            let own = Arc::new(AtomicU64::new(0));
            counts.push(Arc::clone(&own));
            let locker = peer.open(number).await?;
            hands.push(Hand { locker, key: key("one", 0), own, is_held: Arc::clone(&is_held) });
        }
        let run = timed(hands, turn, peer.pid()).await?;
        let counts: Vec<f64> = counts.iter().map(|own| own.load(Ordering::Relaxed) as f64).collect();
        let most = counts.iter().copied().fold(0.0, f64::max);
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        fairness.0.borrow_mut().push(most / least);
        Ok(run)
    })
}

pub(super) fn measure(bench: &Bench, hub: &Countersign, peers: &Peers) -> Result<Vec<Row>> {
    let (hub, eager) = (hub.waiting(), peers.redis.eager());
    let echo = Program::echo(bench)?;
    let [ours, redis, hasty, zookeeper] = [(); 4].map(|()| Fairness::default());
    let ask = Request::post("/echo", "{}");
    let mut sides = vec![
        Side::new("one key, countersign", |turn| handed(bench, &hub, &ours, turn)),
        Side::new("one key, Redis always", |turn| handed(bench, &peers.redis, &redis, turn)),
        Side::new("echo, one connection", |turn| {
            let ask = ask.clone();
            bench.runtime.block_on(load(echo.target, [move || ask.clone()], turn))
        }),
        Side::new("fdatasync", |turn| {
            let per_second = syncs_per_second(bench.scratch(), turn)?;
            let micros = 1e6 / per_second;
            Ok(Run { per_second, p50_micros: micros, p99_micros: f64::NAN, cpu_micros: f64::NAN })
        }),
    ];
    sides.push(Side::new("one key, Redis always, no pause", |turn| handed(bench, &eager, &hasty, turn)));
    if let Some(peer) = &peers.zookeeper {
        let zookeeper = &zookeeper;
        sides
            .push(Side::new("one key, ZooKeeper's recipe", move |turn| handed(bench, peer, zookeeper, turn)));
    }
    let measured = all_taken(bench, &sides)?;
    drop(sides);
    Ok(table(&measured, [ours, redis, hasty, zookeeper]))
}

/// The lines about these sides, in their order, and how fair the services among them were.
fn table(measured: &[Measured], fairness: [Fairness; 4]) -> Vec<Row> {
    let rates = |place: usize| measured.get(place).map(|side| side.values(|run| run.per_second));
    let of = |other: Option<Vec<f64>>| match (rates(0), other) {
        (Some(ours), Some(other)) => ratio(&ours, &other),
        _ => Figure::of([]),
    };
    let least_time = rates(2).zip(rates(3)).map(|(echoes, syncs)| {
        echoes.iter().zip(&syncs).map(|(echo, sync)| 1.0 / (1.0 / echo + 1.0 / sync)).collect()
    });
    // Whichever way of asking again gives Redis more.
    let redis_rates = rates(1).zip(rates(4)).map(|(paused, eager)| {
        paused.iter().zip(&eager).map(|(paused, eager)| paused.max(*eager)).collect::<Vec<_>>()
    });
    let [ours, redis, hasty, zookeeper] = fairness.map(|fairness| Figure::of(fairness.0.into_inner()));
    let mut table = vec![
        Row::new("16 on one key ÷ Redis always", of(redis_rates), 2).with_bar(Bar::AtLeast(OF_REDIS_MIN)),
        Row::new("16 on one key ÷ ZooKeeper's recipe", of(rates(5)), 2)
            .with_bar(Bar::AtLeast(OF_ZOOKEEPER_MIN)),
        Row::new("16 on one key: who had it most ÷ least", ours, 2).with_bar(Bar::AtMost(FAIRNESS_MAX)),
        Row::new("16 on one key ÷ 1/(one sync + one echo turn) (goal: 0.6)", of(least_time), 2),
        Row::new("one key, Redis always: most ÷ least", redis, 2),
        Row::new("one key, Redis always, no pause: most ÷ least", hasty, 2),
        Row::new("one key, ZooKeeper's recipe: most ÷ least", zookeeper, 2),
    ];
    for (place, side) in measured.iter().enumerate() {
        table.extend(side.rows_of(match place {
            2 => "request",
            3 => "sync",
            _ => "hand-over",
        }));
    }
    table
}
