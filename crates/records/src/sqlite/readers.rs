//! A few read-only connections, used on blocking threads.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::LiteTx;
use super::writer::run_unit;
use crate::error::UnitError;
use crate::tx::Conn;
use crate::{Error, Result, Tx, Unit};

const READERS: usize = 4;

/// The pool of readers.
pub(crate) struct Readers {
    idle: Arc<Mutex<Vec<Tx>>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let idle: Result<Vec<Tx>> =
            (0..READERS).map(|_| LiteTx::open_reader(path).map(|tx| Tx::new(Conn::Lite(tx)))).collect();
        Ok(Self { idle: Arc::new(Mutex::new(idle?)), free: Arc::new(Semaphore::new(READERS)) })
    }

    /// Runs the unit in one snapshot of the database.
    pub(crate) async fn read<I, T, E, F>(&self, input: Arc<I>, unit: Arc<F>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, E> + Send + Sync + 'static,
    {
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(|_| E::from(Error::Overloaded))?;
        let idle = Arc::clone(&self.idle);
        let work = tokio::task::spawn_blocking(move || {
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut tx) = taken else {
                return Err(Error::Overloaded.into());
            };
            let result = in_snapshot(&mut tx, &*input, &*unit);
            give_back(&idle, tx, permit);
            result
        });
        work.await.unwrap_or_else(|_| Err(Error::Misbehaved("a reader was cancelled").into()))
    }

    /// Takes no more reads and closes the connections; one that is in use closes when its read ends.
    pub(crate) fn close(&self) {
        self.free.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The permit has come along to the thread: a caller that goes away frees no reader that is still at work.
fn give_back(idle: &Mutex<Vec<Tx>>, tx: Tx, permit: OwnedSemaphorePermit) {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    if !permit.semaphore().is_closed() {
        idle.push(tx);
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
