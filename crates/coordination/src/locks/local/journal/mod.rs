//! The durable history of the locks: changes in batches, synced before they are answered.
//!
//! **Order.** Changes of one key are made in one lane, under its mutex, and written in their order. Lanes write into
//! buffers of their own; the writer takes what all of them have, as one batch, while the next one gathers.
//! **Bounds.** When the logs have grown enough, a snapshot is written beside the running engine, lane by lane. A
//! record that a lane's part of the snapshot contains is skipped when the log is read.
//! **Failure.** A batch that could not be written ends the engine: what it has in memory was not promised to anybody.

mod batch;
mod log;
pub(super) mod record;
mod recover;
pub(super) mod snapshot;
mod state;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};

pub use log::write_copy;
pub use recover::{JournalError, Recovered, recover};
pub use state::State;

use super::lane::{Done, LANES};
use super::{Inner, Options};
use crate::locks::Refusal;
use log::{Log, forget_before, write_snapshot};

/// The end of the writer's side that the lanes see.
pub(super) struct Journal {
    /// Lanes with something to write.
    dirty: AtomicU64,
    writer: OnceLock<Thread>,
    is_closing: AtomicBool,
    is_compacting: AtomicBool,
    /// The length of the last snapshot.
    snapshot_bytes: AtomicU64,
    failure: OnceLock<Refusal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

const _: () = assert!(LANES == 64, "one bit each");

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            dirty: AtomicU64::new(0),
            writer: OnceLock::new(),
            is_closing: AtomicBool::new(false),
            is_compacting: AtomicBool::new(false),
            snapshot_bytes: AtomicU64::new(0),
            failure: OnceLock::new(),
            threads: Mutex::default(),
        }
    }

    /// Says that a lane has something to write.
    pub(super) fn poke(&self, lane: u8) {
        if self.dirty.fetch_or(1 << lane, Ordering::AcqRel) == 0 {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    /// Why nothing can be written any more.
    pub(super) fn failure(&self) -> Option<&Refusal> {
        self.failure.get()
    }

    /// Writes what there is and ends.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        self.wake();
        // The writer may still start a compactor, so one after the other until there is none.
        loop {
            let next = self.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(thread) = next else { return };
            // One that panicked has said so already.
            drop(thread.join());
        }
    }
}

/// Begins a new log and starts its writer.
pub(super) fn start(inner: &Arc<Inner>, found: &Recovered, options: Options) -> Result<(), JournalError> {
    let log = Log::begin(&options.dir, options.log_bytes, found)?;
    let writer = Writer { inner: Arc::clone(inner), log, options };
    let thread = thread::Builder::new()
        .name("lock-journal".into())
        .spawn(move || writer.run())
        .map_err(JournalError::io(Path::new("lock-journal"), "started"))?;
    drop(inner.journal.writer.set(thread.thread().clone()));
    inner.journal.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    inner.journal.wake();
    Ok(())
}

struct Writer {
    inner: Arc<Inner>,
    log: Log,
    options: Options,
}

impl Writer {
    fn run(mut self) {
        loop {
            let is_closing = self.inner.journal.is_closing.load(Ordering::Acquire);
            let dirty = self.inner.journal.dirty.swap(0, Ordering::AcqRel);
            if dirty == 0 && is_closing {
                // Whoever still has something to write is answered that it will not be.
                drop(self.inner.journal.failure.set(Refusal::Unavailable("the hub is stopping".into())));
                return self.inner.forget_unwritten();
            }
            if dirty == 0 {
                thread::park();
                continue;
            }
            if !self.commit(dirty) {
                self.inner.refuse_all();
                return self.inner.forget_unwritten();
            }
        }
    }

    /// Writes what the lanes have as one batch, then answers. False if it could not be written: those who wait for
    /// the answers find out why when these are dropped, so it is said before.
    fn commit(&mut self, dirty: u64) -> bool {
        let (mut records, mut done) = (Vec::new(), Vec::new());
        for lane in (0..LANES).filter(|lane| dirty & 1 << lane != 0) {
            let out = self.inner.lane(lane).take_out();
            if !out.records.is_empty() {
                records.push(out.records);
            }
            done.extend(out.done);
        }
        if let Err(refusal) = self.write(&records) {
            drop(self.inner.journal.failure.set(refusal));
            return false;
        }
        done.into_iter().for_each(|done| self.answer(done));
        self.compact_if_grown();
        true
    }

    fn write(&mut self, records: &[Vec<u8>]) -> Result<(), Refusal> {
        if records.is_empty() {
            return Ok(());
        }
        if !(self.options.may_commit)() {
            return Err(Refusal::Unavailable("another server has taken over the database".into()));
        }
        self.log.write(records).map_err(|error| {
            tracing::error!("locks end here, and with them every answer about them: {error}");
            Refusal::OutcomeUnknown
        })
    }

    fn answer(&self, done: Done) {
        match done {
            Done::Tell(happening) => self.inner.told.tell(happening),
            Done::Answer(to, reply) => {
                // Whoever asked is gone: what it got is nobody's.
                if let Err(reply) = to.send(reply) {
                    self.inner.take_back(*reply);
                }
            }
        }
    }

    fn compact_if_grown(&mut self) {
        let journal = &self.inner.journal;
        let allowed = (2 * self.options.log_bytes).max(journal.snapshot_bytes.load(Ordering::Relaxed));
        if self.log.since_snapshot < allowed || journal.is_compacting.swap(true, Ordering::AcqRel) {
            return;
        }
        let number = match self.log.turn_over() {
            Ok(number) => number,
            Err(error) => {
                journal.is_compacting.store(false, Ordering::Release);
                tracing::warn!(
                    "the lock journal could not begin another file and stays in this one: {error}"
                );
                return;
            }
        };
        self.log.since_snapshot = 0;
        let (inner, dir) = (Arc::clone(&self.inner), self.options.dir.clone());
        let work = move || {
            if let Err(error) = compact(&inner, &dir, number) {
                tracing::error!("the lock journal could not be compacted and goes on growing: {error}");
            }
            inner.journal.is_compacting.store(false, Ordering::Release);
        };
        match thread::Builder::new().name("lock-compactor".into()).spawn(work) {
            Ok(thread) => {
                let mut threads = journal.threads.lock().unwrap_or_else(PoisonError::into_inner);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => {
                journal.is_compacting.store(false, Ordering::Release);
                tracing::error!("no thread to compact the lock journal: {error}");
            }
        }
    }
}

/// Writes all lanes, one after the other, and forgets the logs before.
fn compact(inner: &Inner, dir: &Path, number: u64) -> Result<(), JournalError> {
    let length = write_snapshot(dir, number, true, |out| {
        let mut seen = [0; LANES];
        let mut bytes = Vec::new();
        for (lane, seen) in seen.iter_mut().enumerate() {
            bytes.clear();
            *seen = inner.lane(lane).encode(&mut bytes);
            out.records(&bytes)?;
        }
        // Behind the lanes: whatever of theirs is in here, its numbers were given before.
        out.reached(inner.newest())?;
        Ok(seen)
    })?;
    inner.journal.snapshot_bytes.store(length, Ordering::Relaxed);
    forget_before(dir, number)
}
