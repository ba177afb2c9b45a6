//! The unit of work the engines are measured with: a task is decided, if nobody else was first, and what
//! goes with it is kept in the same unit (approval, audit row linked to its chain's head, event).
//!
//! One compare-and-set UPDATE, one SELECT, four INSERTs or UPDATEs, foreign keys and CHECKs on. [`schema`] makes
//! the tables, [`through_records`] is the unit as the product writes it, `…_by_hand` the same on the bare driver.

pub(crate) mod postgres_by_hand;
pub(crate) mod schema;
pub(crate) mod sqlite_by_hand;
#[cfg(test)]
mod tests;
pub(crate) mod through_records;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::chance::Chance;
use crate::closed_loop::{self, Run, Worker};
use crate::figures::{Figure, Row};

/// Tasks at the start.
pub(crate) const TASKS: u64 = 20_000;
/// Audit chains; a task belongs to one.
pub(crate) const CHAINS: u64 = 64;
/// Who decides, at once.
const DECIDERS: u64 = 32;

/// A decision to be written down.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) task_id: String,
    pub(crate) chain: i64,
    /// The version of the task that was decided on.
    pub(crate) version: i64,
    pub(crate) state: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) approval_id: String,
    pub(crate) event_id: String,
    pub(crate) actor: String,
    pub(crate) data: String,
    pub(crate) now: i64,
}

/// What writes decisions down.
pub(crate) trait Store: Clone + Send + Sync + 'static {
    /// Durably, or not at all: whether the decision was the first on its version.
    fn decide(&self, decision: Decision) -> impl Future<Output = Result<bool>> + Send;
}

/// Lets all deciders write to the store for this long.
pub(crate) async fn drive<S: Store>(store: &S, duration: Duration) -> Result<Run> {
    let deciders = (0..DECIDERS).map(|number| Decider::new(store.clone(), number));
    closed_loop::run(deciders, duration, std::process::id()).await
}

/// The lines of a table about one store.
pub(crate) fn rows(store: &str, runs: &[Run]) -> Vec<Row> {
    let figure = |value: fn(&Run) -> f64| Figure::of(runs.iter().map(value));
    vec![
        Row::new(format!("{store}: units/s"), figure(|run| run.per_second), 0),
        Row::new(format!("{store}: p50, ms"), figure(|run| run.p50_micros / 1e3), 2),
        Row::new(format!("{store}: p99, ms"), figure(|run| run.p99_micros / 1e3), 2),
        Row::new(format!("{store}: own CPU µs per unit"), figure(|run| run.cpu_micros), 0),
    ]
}

/// The rates of the runs, round by round.
pub(crate) fn rates(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.per_second).collect()
}

/// Decides its own share of the tasks, one after the other in an order of chance.
struct Decider<S> {
    store: S,
    number: u64,
    chance: Chance,
    versions: Vec<i64>,
}

impl<S: Store> Decider<S> {
    fn new(store: S, number: u64) -> Self {
        let share = usize::try_from(TASKS / DECIDERS).unwrap_or_default();
        Self { store, number, chance: Chance::of(number), versions: vec![0; share] }
    }
}

impl<S: Store> Worker for Decider<S> {
    async fn once(&mut self) -> Result<()> {
        let own = self.chance.below(self.versions.len() as u64);
        let version = self.versions.get_mut(usize::try_from(own)?).context("no such task")?;
        let decision = decision(own * DECIDERS + self.number, *version);
        ensure!(self.store.decide(decision).await?, "somebody else decided a task that is only ours");
        *version += 1;
        Ok(())
    }
}

fn decision(task: u64, version: i64) -> Decision {
    let (state, verdict) = if version % 2 == 0 { ("approved", "approve") } else { ("pending", "reject") };
    let now = micros();
    Decision {
        task_id: task_id(task),
        chain: i64::try_from(task % CHAINS).unwrap_or_default(),
        version,
        state,
        verdict,
        approval_id: fresh_id(now),
        event_id: fresh_id(now),
        actor: format!("user{}", task % 97),
        data: format!(
            "{{\"task\":\"{task}\",\"verdict\":\"{verdict}\",\"from\":{version},\"why\":\"four eyes have seen it\"}}"
        ),
        now,
    }
}

/// The id of a task; [`schema`] makes the same.
pub(crate) fn task_id(task: u64) -> String {
    format!("t{task:025}")
}

/// An id in the order of time, as the product's are.
fn fresh_id(now: i64) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    format!("{now:013x}{:013x}", MADE.fetch_add(1, Ordering::Relaxed))
}

/// Since the first call; what is written down need not be true, only grow.
fn micros() -> i64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    i64::try_from(BEGAN.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or_default()
}

/// The hash of an audit row, which is linked to the row before.
pub(crate) fn link(previous: &[u8], seq: i64, decision: &Decision) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(seq.to_be_bytes());
    hash.update(decision.task_id.as_bytes());
    hash.update(decision.data.as_bytes());
    hash.update(decision.now.to_be_bytes());
    hash.finalize().to_vec()
}
