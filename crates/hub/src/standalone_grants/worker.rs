//! What the cleanup has done since the start.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use domain::organizations::Organization;
use domain::{Id, Timestamp};
use tokio::sync::Mutex as Turn;

use crate::Hub;

/// A run that is late by more than this, beside its interval, is missing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The cleanup of this process.
#[derive(Default)]
pub(crate) struct Worker {
    started_at: OnceLock<Timestamp>,
    done: Mutex<Done>,
    /// Held while it runs: it never runs twice at once.
    pub(super) turn: Turn<()>,
}

#[derive(Default)]
struct Done {
    runs: u64,
    last_run: Option<Timestamp>,
    last_duration_ms: u64,
    /// Each organization sees what was done for it, and not how much others have to clean up.
    cleaned: HashMap<Id<Organization>, Cleaned>,
}

#[derive(Clone, Copy, Default)]
struct Cleaned {
    total: u64,
    last: u64,
}

/// What an organization sees of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerStats {
    /// How often it ran.
    pub runs: u64,
    /// How many of the organization's grants it cleared away.
    pub total_cleaned: u64,
    /// When it last ran.
    pub last_run: Option<Timestamp>,
    /// How many it cleared away then.
    pub last_cleaned: u64,
    /// How long it took.
    pub last_duration_ms: u64,
    /// Whether it runs from time to time.
    pub running: bool,
    /// How often.
    pub interval_seconds: u64,
}

/// Whether it does its work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerHealth {
    /// Whether.
    pub healthy: bool,
    /// `running`, `late` or `stopped`.
    pub status: &'static str,
    /// In words.
    pub message: &'static str,
    /// What it has done.
    pub stats: WorkerStats,
}

impl Worker {
    pub(super) fn start(&self, now: Timestamp) {
        self.started_at.get_or_init(|| now);
    }

    /// Since when this process makes grants; none while it does not.
    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.started_at.get().copied()
    }

    /// Whether this is the first run since the start.
    pub(super) fn is_first_run(&self) -> bool {
        self.done().runs == 0
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a run that cleared away so many for each organization it looked at.
    pub(super) fn ran(&self, began: Timestamp, took: Duration, cleaned: &[(Id<Organization>, u64)]) {
        let mut done = self.done();
        done.runs += 1;
        done.last_run = Some(began);
        done.last_duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        for (org, count) in cleaned {
            // Most organizations have nothing to clean up, ever.
            if *count > 0 || done.cleaned.contains_key(org) {
                let known = done.cleaned.entry(*org).or_default();
                *known = Cleaned { total: known.total + count, last: *count };
            }
        }
    }

    pub(super) fn stats(&self, hub: &Hub, org: Id<Organization>) -> Option<WorkerStats> {
        self.started_at()?;
        let done = self.done();
        let cleaned = done.cleaned.get(&org).copied().unwrap_or_default();
        Some(WorkerStats {
            runs: done.runs,
            total_cleaned: cleaned.total,
            last_run: done.last_run,
            last_cleaned: cleaned.last,
            last_duration_ms: done.last_duration_ms,
            running: !hub.lifecycle.is_stopping(),
            interval_seconds: hub.config.grants.cleanup_interval.as_secs(),
        })
    }

    pub(super) fn health(&self, hub: &Hub, org: Id<Organization>) -> Option<WorkerHealth> {
        let stats = self.stats(hub, org)?;
        let since = stats.last_run.max(self.started_at())?;
        let is_late = hub.clock.now().since(since) > 2 * hub.config.grants.cleanup_interval + PATIENCE;
        let (healthy, status, message) = match (stats.running, is_late) {
            (false, _) => (false, "stopped", "Cleanup worker is stopping"),
            (true, true) => (false, "late", "Cleanup worker has not run when it should have"),
            (true, false) => (true, "running", "Cleanup worker is healthy"),
        };
        Some(WorkerHealth { healthy, status, message, stats })
    }
}
