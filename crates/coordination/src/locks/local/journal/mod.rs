//! The durable history of the locks: changes in batches, synced before they are answered.
//!
//! **Order.** Changes of one key are made in one lane, under its mutex, and written in their order. Lanes write into
//! buffers of their own; whoever writes takes what all of them have, as one batch, while the next one gathers.
//! **Who writes.** A thread of its own, as long as there is more to write. When it has nothing to do, whoever asks
//! writes: a lock that goes from hand to hand then costs a sync, and not two threads that wake each other besides.
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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Instant;

pub use log::write_copy;
pub use recover::{JournalError, Recovered, recover};
pub use state::State;
use tokio::runtime::Handle;

use super::lane::{Done, LANES};
use super::{Inner, Options};
use crate::locks::Refusal;
use log::{Log, forget_before, write_snapshot};

/// Whoever asked writes only where so much fits, so that it hardly ever has to begin another file.
const ASKERS_BYTES: u64 = 4 << 10;

/// The end of the writer's side that the lanes see.
pub(super) struct Journal {
    /// Lanes with something to write.
    dirty: AtomicU64,
    /// Whoever has this writes. It is gone when nothing is written any more. Taken before a lane, never behind one.
    writer: Mutex<Option<Writer>>,
    thread: OnceLock<Thread>,
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
            writer: Mutex::default(),
            thread: OnceLock::new(),
            is_closing: AtomicBool::new(false),
            is_compacting: AtomicBool::new(false),
            snapshot_bytes: AtomicU64::new(0),
            failure: OnceLock::new(),
            threads: Mutex::default(),
        }
    }

    /// Says that a lane has something to write.
    pub(super) fn poke(&self, lane: u8) {
        if self.is_first(lane) {
            self.wake();
        }
    }

    /// Notes that a lane has something to write. Whether nobody else sees to it that it is written.
    fn is_first(&self, lane: u8) -> bool {
        self.dirty.fetch_or(1 << lane, Ordering::AcqRel) == 0
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
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
        // The thread may still start a compactor, so one after the other until there is none.
        loop {
            let next = self.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(thread) = next else { return };
            // One that panicked has said so already.
            drop(thread.join());
        }
    }
}

/// Begins a new log and starts the thread that writes it.
pub(super) fn start(inner: &Arc<Inner>, found: &Recovered, options: Options) -> Result<(), JournalError> {
    let log = Log::begin(&options.dir, options.log_bytes, found)?;
    let writer = Writer { log, options, was_quick: false };
    *inner.journal.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    let engine = Arc::clone(inner);
    let thread = thread::Builder::new()
        .name("lock-journal".into())
        .spawn(move || write_what_comes(&engine))
        .map_err(JournalError::io(Path::new("lock-journal"), "started"))?;
    drop(inner.journal.thread.set(thread.thread().clone()));
    inner.journal.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    inner.journal.wake();
    Ok(())
}

/// What the thread does until the engine ends.
fn write_what_comes(inner: &Arc<Inner>) {
    let journal = &inner.journal;
    loop {
        let is_closing = journal.is_closing.load(Ordering::Acquire);
        let mut writer = journal.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else's batch could not be written.
        let Some(writing) = writer.as_mut() else { return };
        match journal.dirty.swap(0, Ordering::AcqRel) {
            0 if is_closing => {
                // Whoever still has something to write is answered that it will not be. Those who stand in line
                // answer themselves.
                return end(inner, writer, Refusal::Unavailable("the hub is stopping".into()));
            }
            0 => {
                drop(writer);
                thread::park();
            }
            dirty => match writing.commit(inner, dirty) {
                Ok(()) => writing.compact_if_grown(inner),
                Err(refusal) => {
                    end(inner, writer, refusal);
                    return inner.refuse_all();
                }
            },
        }
    }
}

/// Whoever asked writes what its lane has, and with it what the others have, instead of waking the thread and being
/// woken by it: where nobody writes already, where it will not take long, and where others can go on meanwhile.
pub(super) fn write_as_asker(inner: &Inner, lane: u8) {
    let journal = &inner.journal;
    if !journal.is_first(lane) {
        return;
    }
    let writer = match journal.writer.try_lock() {
        Ok(writer) => Some(writer),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    };
    let is_small = |writer: &Writer| writer.is_for_askers(journal);
    let Some(mut writer) = writer.filter(|writer| writer.as_ref().is_some_and(is_small) && others_go_on())
    else {
        // If somebody writes, the thread waits for it and takes what came meanwhile.
        return journal.wake();
    };
    let dirty = journal.dirty.swap(0, Ordering::AcqRel);
    let Some(writing) = writer.as_mut() else { return };
    if let Err(refusal) = writing.commit(inner, dirty) {
        end(inner, writer, refusal);
        inner.refuse_all();
        // It has nothing to do any more.
        journal.wake();
    }
}

/// Whether the runtime has another thread for everybody else.
fn others_go_on() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.metrics().num_workers() > 1)
}

/// Nothing is written from here on. Those who wait for an answer find out why when it is dropped, so that is said before.
fn end(inner: &Inner, mut writer: MutexGuard<'_, Option<Writer>>, refusal: Refusal) {
    drop(inner.journal.failure.set(refusal));
    *writer = None;
    drop(writer);
    inner.forget_unwritten();
}

/// What is needed to write.
struct Writer {
    log: Log,
    options: Options,
    /// Whether the last sync took no longer than whoever asked may be kept.
    was_quick: bool,
}

impl Writer {
    fn is_for_askers(&self, journal: &Journal) -> bool {
        self.was_quick && self.log.has_room(ASKERS_BYTES) && !self.is_grown(journal, ASKERS_BYTES)
    }

    /// Writes what the lanes have as one batch, then answers.
    fn commit(&mut self, inner: &Inner, dirty: u64) -> Result<(), Refusal> {
        let (mut records, mut done) = (Vec::new(), Vec::new());
        for lane in (0..LANES).filter(|lane| dirty & 1 << lane != 0) {
            let out = inner.lane(lane).take_out();
            if !out.records.is_empty() {
                records.push(out.records);
            }
            done.extend(out.done);
        }
        if let Err(refusal) = self.write(&records) {
            // Before the answers are dropped.
            drop(inner.journal.failure.set(refusal.clone()));
            return Err(refusal);
        }
        done.into_iter().for_each(|done| answer(inner, done));
        Ok(())
    }

    fn write(&mut self, records: &[Vec<u8>]) -> Result<(), Refusal> {
        if records.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        if !(self.options.may_commit)() {
            return Err(Refusal::Unavailable("another server has taken over the database".into()));
        }
        let written = self.log.write(records).map_err(|error| {
            tracing::error!("locks end here, and with them every answer about them: {error}");
            Refusal::OutcomeUnknown
        });
        self.was_quick = began.elapsed() <= self.options.askers_patience;
        written
    }

    /// Whether the logs are long enough for a snapshot, or would be with so much more.
    fn is_grown(&self, journal: &Journal, by: u64) -> bool {
        let allowed = (2 * self.options.log_bytes).max(journal.snapshot_bytes.load(Ordering::Relaxed));
        self.log.since_snapshot + by >= allowed
    }

    fn compact_if_grown(&mut self, inner: &Arc<Inner>) {
        let journal = &inner.journal;
        if !self.is_grown(journal, 0) || journal.is_compacting.swap(true, Ordering::AcqRel) {
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
        let (inner, dir) = (Arc::clone(inner), self.options.dir.clone());
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

fn answer(inner: &Inner, done: Done) {
    match done {
        Done::Tell(happening) => inner.told.tell(happening),
        Done::Answer(to, reply) => {
            // Whoever asked is gone: what it got is nobody's.
            if let Err(reply) = to.send(reply) {
                inner.take_back(*reply);
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
