//! A few read-only connections, each on a thread of its own, that serve one line of reads.
//!
//! Under load a reader goes from one read to the next without being woken in between, and reads are served in the
//! order in which they came.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::LiteTx;
use super::writer::run_unit;
use crate::error::UnitError;
use crate::tx::Conn;
use crate::{Error, Result, Tx, Unit};

const READERS: usize = 4;
/// How long a reader goes from one read to the next before it lets others have the processor. After each read would cost
/// a page, which is many reads, a sixth more.
const TURN_MAX: Duration = Duration::from_millis(1);

/// The readers.
pub(crate) struct Readers {
    line: Arc<Line>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A read that waits for its turn.
trait Job: Send {
    fn run(self: Box<Self>, tx: &mut Tx);
}

/// What readers and callers share.
#[derive(Default)]
struct Line {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<dyn Job>>,
    /// Readers with nothing to do; where there are none, nobody needs to be woken.
    idle: usize,
    is_closed: bool,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, job: Box<dyn Job>) -> Result<()> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return Err(Error::Overloaded);
        }
        waiting.jobs.push_back(job);
        let somebody_sleeps = waiting.idle > 0;
        drop(waiting);
        if somebody_sleeps {
            self.arrived.notify_one();
        }
        Ok(())
    }

    fn close(&self) {
        self.waiting().is_closed = true;
        self.arrived.notify_all();
    }

    /// The next read; none when there will be no more.
    fn next(&self) -> Option<Box<dyn Job>> {
        let mut waiting = self.waiting();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.is_closed {
                return None;
            }
            waiting.idle += 1;
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }
}

impl Readers {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let readers = Self { line: Arc::default(), threads: Mutex::default() };
        for _ in 0..READERS {
            let mut tx = Tx::new(Conn::Lite(LiteTx::open_reader(path)?));
            let line = Arc::clone(&readers.line);
            let thread = std::thread::Builder::new().name("records-reader".into()).spawn(move || {
                let mut began = Instant::now();
                while let Some(job) = line.next() {
                    job.run(&mut tx);
                    // Whoever waits for the answer, or brings the next read, may wait for this very processor.
                    if began.elapsed() >= TURN_MAX {
                        std::thread::yield_now();
                        began = Instant::now();
                    }
                }
            });
            let thread =
                thread.map_err(|error| Error::Refused(format!("cannot start a reader thread: {error}")))?;
            readers.threads().push(thread);
        }
        Ok(readers)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the unit in one snapshot of the database.
    pub(crate) async fn read<I, T, E, F>(&self, input: I, unit: F) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.line.join(Box::new(Pending { input, unit, reply }))?;
        answer.await.unwrap_or_else(|_| Err(Error::Misbehaved("a reader thread ended").into()))
    }

    /// Takes no more reads, finishes those that wait, closes the connections.
    pub(crate) fn close(&self) {
        self.line.close();
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a reader thread had panicked");
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.line.close();
    }
}

struct Pending<I, T, E, F> {
    input: I,
    unit: F,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<I, T, E, F> Job for Pending<I, T, E, F>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    E: UnitError,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
{
    fn run(self: Box<Self>, tx: &mut Tx) {
        // Whoever has gone away needs no answer, and a read changes nothing.
        if self.reply.is_closed() {
            return;
        }
        let result = in_snapshot(tx, &self.input, &self.unit);
        drop(self.reply.send(result));
    }
}

fn in_snapshot<I, T, E, F>(tx: &mut Tx, input: &I, unit: &F) -> Result<T, E>
where
    E: UnitError,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E>,
{
    control(tx, "BEGIN")?;
    let result = run_unit(tx, input, unit);
    // A reader has nothing to lose: the end of its transaction cannot change the answer.
    control(tx, "ROLLBACK")?;
    result
}

fn control(tx: &Tx, text: &str) -> Result<()> {
    match &tx.conn {
        Conn::Lite(lite) => lite.control(text),
        Conn::Pg(_) => Err(Error::Misbehaved("a reader of SQLite was given another engine")),
    }
}
