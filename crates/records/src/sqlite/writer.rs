//! The one writer: takes what is queued, runs the units one after the other, commits them together, then answers.
//!
//! It never waits for company: a lone unit is committed at once. Under load the units that arrive during a
//! sync share the next one, which is where the rate comes from.
//!
//! A unit that is refused has as a rule changed nothing, so nothing needs to be undone. If one did, the whole group is
//! rolled back and runs again, each unit in a savepoint of its own; a savepoint around every unit would copy each page
//! that a unit changes, for a case that hardly comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::pin;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::LiteTx;
use super::log::Keeper;
use crate::db::Signals;
use crate::error::UnitError;
use crate::tx::{Conn, Wakes};
use crate::{Error, Result, Tx, Unit};

/// Units waiting for the writer; one more gets `Overloaded`.
const QUEUE_UNITS_MAX: usize = 4096;
/// Units in one commit.
const GROUP_UNITS_MAX: usize = 256;
/// Work in one commit; bounds how long the first unit of a group waits for the others. A commit of units that write much
/// takes as long as they did, and the more of them share it, the sooner all are done.
const GROUP_WORK_MAX: Duration = Duration::from_millis(15);

/// A unit in the queue.
trait Job: Send {
    /// Runs it; whether what it did is to be kept.
    fn run(&mut self, tx: &mut Tx) -> bool;
    /// Answers the caller, once the group's fate is known.
    fn answer(self: Box<Self>, group: Result<(), GroupFailed>);
}

/// Why a whole group was not committed. Every unit of it fails, also one that was refused: what it was refused
/// for may have been written by a neighbour and is gone.
#[derive(Clone, Debug)]
enum GroupFailed {
    DiskFull,
    Overloaded,
    Unknown(String),
}

impl From<Error> for GroupFailed {
    fn from(error: Error) -> Self {
        match error {
            Error::DiskFull => Self::DiskFull,
            Error::Overloaded => Self::Overloaded,
            other => Self::Unknown(other.to_string()),
        }
    }
}

impl From<GroupFailed> for Error {
    fn from(failed: GroupFailed) -> Self {
        match failed {
            GroupFailed::DiskFull => Self::DiskFull,
            GroupFailed::Overloaded => Self::Overloaded,
            GroupFailed::Unknown(why) => Self::OutcomeUnknown(why),
        }
    }
}

/// The queue's near end.
pub(crate) struct Writer {
    queue: Mutex<Option<SyncSender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(mut conn: LiteTx, path: &Path, signals: Arc<Signals>) -> Result<Self> {
        let (queue, jobs) = sync_channel(QUEUE_UNITS_MAX);
        let log = Keeper::start(&mut conn, path)?;
        let tx = Tx::new(Conn::Lite(conn));
        let thread = std::thread::Builder::new()
            .name("records-writer".into())
            .spawn(move || Loop { tx, log, jobs, signals }.run())
            .map_err(|error| Error::Refused(format!("cannot start the writer thread: {error}")))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Runs the unit in the next group; answers after the commit is durable.
    pub(crate) async fn write<I, T, E, F>(&self, input: Arc<I>, unit: Arc<F>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.enqueue(Box::new(Pending { input, unit, result: None, reply }))?;
        answer.await.unwrap_or_else(|_| Err(Error::Misbehaved("the writer thread ended").into()))
    }

    fn enqueue(&self, job: Box<dyn Job>) -> Result<()> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = queue.as_ref() else {
            return Err(Error::Overloaded);
        };
        queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Overloaded,
            TrySendError::Disconnected(_) => Error::Misbehaved("the writer thread ended"),
        })
    }

    /// Takes no more units, finishes those queued, closes the connection.
    pub(crate) fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("the writer thread had panicked");
        }
    }
}

struct Pending<I, T, E, F> {
    input: Arc<I>,
    unit: Arc<F>,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<I, T, E, F> Job for Pending<I, T, E, F>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    E: UnitError,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
{
    fn run(&mut self, tx: &mut Tx) -> bool {
        let result = run_unit(tx, &*self.input, &*self.unit);
        let kept = result.is_ok();
        self.result = Some(result);
        kept
    }

    fn answer(self: Box<Self>, group: Result<(), GroupFailed>) {
        let result = match (group, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(failed), _) => Err(Error::from(failed).into()),
            (Ok(()), None) => Err(Error::Misbehaved("a unit was answered before it ran").into()),
        };
        // Nobody waits any more when the request was cancelled; the unit stands all the same.
        drop(self.reply.send(result));
    }
}

/// Runs a unit to its end on this thread. Its futures are ready at the first poll, because they only await the
/// transaction; one that is not awaited something else, and is refused.
pub(super) fn run_unit<I, T, E, F>(tx: &mut Tx, input: &I, unit: &F) -> Result<T, E>
where
    E: UnitError,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
{
    tx.renew();
    let polled = catch_unwind(AssertUnwindSafe(|| {
        pin!(unit(tx, input)).poll(&mut Context::from_waker(Waker::noop()))
    }));
    let result = match polled {
        Ok(Poll::Ready(result)) => result,
        Ok(Poll::Pending) => Err(Error::Misbehaved("it awaited something other than its transaction").into()),
        Err(_) => Err(Error::Misbehaved("it panicked").into()),
    };
    match result {
        Ok(_) if tx.poisoned => Err(Error::Misbehaved("it went on after a failed statement").into()),
        result => result,
    }
}

struct Loop {
    // Dropped in this order: the log's own connection is the last one, and clears it away.
    tx: Tx,
    log: Keeper,
    jobs: Receiver<Box<dyn Job>>,
    signals: Arc<Signals>,
}

/// Units that are committed together.
#[derive(Default)]
struct Group {
    units: Vec<Box<dyn Job>>,
    wakes: Wakes,
    /// Whether one of them changed something that is to be kept.
    has_changes: bool,
    /// Whether one of them had to be undone.
    has_savepoints: bool,
}

impl Loop {
    fn run(mut self) {
        while let Ok(first) = self.jobs.recv() {
            self.group(first);
        }
    }

    fn group(&mut self, first: Box<dyn Job>) {
        let began = Instant::now();
        let mut group = Group::default();
        let changes = self.lite().changes();
        let mut fate = self.control("BEGIN IMMEDIATE");
        let mut next = Some(first);
        while let Some(job) = next {
            group.units.push(job);
            if fate.is_ok() {
                fate = self.step(&mut group);
            }
            let full =
                group.units.len() == GROUP_UNITS_MAX || began.elapsed() >= GROUP_WORK_MAX || fate.is_err();
            next = if full { None } else { self.jobs.try_recv().ok() };
        }
        if fate.is_ok() {
            fate = self.control("COMMIT");
        }
        if let Err(failed) = &fate {
            let units = group.units.len();
            tracing::error!(units, "a group of {units} units was not committed: {failed:?}");
            self.abandon();
        }
        // Before the answers: whoever is answered must find no cache that is older than the answer.
        if self.lite().changes() != changes {
            self.signals.note_change();
        }
        if fate.is_ok() {
            self.signals.fire(group.wakes);
        }
        for job in group.units {
            job.answer(fate.clone());
        }
        if let Conn::Lite(conn) = &self.tx.conn {
            self.log.tend(conn);
        }
    }

    /// Runs the newest unit. An error means that the whole group is lost.
    fn step(&mut self, group: &mut Group) -> Result<(), GroupFailed> {
        let Some(job) = group.units.last_mut() else { return Ok(()) };
        if group.has_savepoints {
            return self.guarded(job.as_mut(), &mut group.wakes);
        }
        let changes = self.lite().changes();
        let kept = self.run_one(job.as_mut(), &mut group.wakes)?;
        match (kept, self.lite().changes() != changes) {
            (true, changed) => group.has_changes |= changed,
            (false, false) => (),
            (false, true) => self.again(group)?,
        }
        Ok(())
    }

    /// Undoes the whole group and runs it again, so that what failed can be undone alone. Where nothing is to be kept,
    /// nothing needs to run again.
    fn again(&mut self, group: &mut Group) -> Result<(), GroupFailed> {
        self.control("ROLLBACK")?;
        self.control("BEGIN IMMEDIATE")?;
        if !group.has_changes {
            return Ok(());
        }
        group.has_savepoints = true;
        group.wakes = Wakes::default();
        for job in &mut group.units {
            self.guarded(job.as_mut(), &mut group.wakes)?;
        }
        Ok(())
    }

    /// Runs a unit in a savepoint.
    fn guarded(&mut self, job: &mut dyn Job, wakes: &mut Wakes) -> Result<(), GroupFailed> {
        self.control("SAVEPOINT unit")?;
        if !self.run_one(job, wakes)? {
            self.control("ROLLBACK TO unit")?;
        }
        self.control("RELEASE unit")
    }

    /// Runs a unit; whether what it did is to be kept.
    fn run_one(&mut self, job: &mut dyn Job, wakes: &mut Wakes) -> Result<bool, GroupFailed> {
        let kept = job.run(&mut self.tx);
        if self.lite().has_lost_transaction() {
            // The engine rolled back everything, the neighbours' work included: disk full, or I/O failed.
            return Err(if self.tx.disk_full {
                GroupFailed::DiskFull
            } else {
                GroupFailed::Unknown("the engine gave up the transaction".into())
            });
        }
        if kept {
            wakes.join(self.tx.wakes);
        }
        Ok(kept)
    }

    fn abandon(&self) {
        if self.lite().has_lost_transaction() {
            return;
        }
        if let Err(error) = self.lite().control("ROLLBACK") {
            tracing::error!("cannot roll back: {error}");
        }
    }

    fn control(&self, text: &str) -> Result<(), GroupFailed> {
        self.lite().control(text).map_err(GroupFailed::from)
    }

    fn lite(&self) -> &LiteTx {
        match &self.tx.conn {
            Conn::Lite(tx) => tx,
            Conn::Pg(_) => unreachable!("the writer thread is given a SQLite connection"),
        }
    }
}
