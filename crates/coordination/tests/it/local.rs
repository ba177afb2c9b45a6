//! The local engine as the contract sees it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use coordination::locks::local::{
    ASKERS_PATIENCE, JournalError, Local, Options, Ports, Recovered, Time, recover,
};
use coordination::locks::{Locks, Told};
use domain::Timestamp;
use testkit::locks::{Ears, Subject};
use uuid::Uuid;

/// However slow the disk is, whoever asks writes: what a test is about must not depend on what else the machine does.
const PATIENT: Duration = Duration::from_secs(3600);

/// A clock that stands until it is moved, and a wall that anybody may repaint.
#[derive(Default)]
pub(crate) struct ManualTime {
    ms: AtomicU64,
    wall_offset_micros: AtomicI64,
}

impl ManualTime {
    /// Sets the clock on the wall, forward or back.
    pub(crate) fn jump(&self, seconds: i64) {
        self.wall_offset_micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Time for ManualTime {
    fn monotonic_ms(&self) -> u64 {
        self.ms.load(Ordering::SeqCst)
    }

    fn wall(&self) -> Timestamp {
        let micros = i64::try_from(self.monotonic_ms()).expect("small") * 1000;
        Timestamp::from_micros(
            1_800_000_000_000_000 + micros + self.wall_offset_micros.load(Ordering::SeqCst),
        )
    }
}

/// What whoever writes passes by. Blocking, because it may be a thread of the runtime.
#[derive(Default)]
pub(crate) struct Disk {
    stands: Mutex<bool>,
    moves: Condvar,
    /// How long it takes, besides what the real one takes.
    takes_ms: AtomicU64,
    /// The threads that have written, by name.
    writers: Mutex<Vec<String>>,
}

impl Disk {
    /// Nothing comes to the disk as long as somebody has this.
    pub(crate) fn stop(self: &Arc<Self>) -> Standing {
        *self.stands.lock().unwrap() = true;
        Standing(Arc::clone(self))
    }

    pub(crate) fn slow_down(&self, by: Duration) {
        self.takes_ms.store(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Who has written since this was last asked.
    pub(crate) fn writers(&self) -> Vec<String> {
        std::mem::take(&mut self.writers.lock().unwrap())
    }

    fn pass(&self) {
        std::thread::sleep(Duration::from_millis(self.takes_ms.load(Ordering::SeqCst)));
        self.writers.lock().unwrap().push(std::thread::current().name().unwrap_or_default().into());
        drop(self.moves.wait_while(self.stands.lock().unwrap(), |stands| *stands).unwrap());
    }
}

pub(crate) struct Standing(Arc<Disk>);

impl Drop for Standing {
    fn drop(&mut self) {
        *self.0.stands.lock().unwrap() = false;
        self.0.moves.notify_all();
    }
}

/// A local engine in a directory of its own.
pub(crate) struct LocalSubject {
    engine: Option<Arc<Local>>,
    pub(crate) time: Arc<ManualTime>,
    ears: Arc<Ears>,
    home: tempfile::TempDir,
    epoch: i64,
    log_bytes: u64,
    askers_patience: Duration,
    /// Whether nobody else has taken over.
    pub(crate) may_commit: Arc<AtomicBool>,
    pub(crate) disk: Arc<Disk>,
}

impl LocalSubject {
    pub(crate) fn new() -> Self {
        Self::with_logs_of(64 << 10)
    }

    pub(crate) fn with_logs_of(log_bytes: u64) -> Self {
        Self::made(log_bytes, PATIENT)
    }

    /// One whose askers write as the product's do.
    pub(crate) fn impatient() -> Self {
        Self::made(64 << 10, ASKERS_PATIENCE)
    }

    fn made(log_bytes: u64, askers_patience: Duration) -> Self {
        let mut subject = Self {
            engine: None,
            time: Arc::default(),
            ears: Arc::default(),
            home: tempfile::tempdir().expect("a directory"),
            epoch: 0,
            log_bytes,
            askers_patience,
            may_commit: Arc::new(AtomicBool::new(true)),
            disk: Arc::default(),
        };
        subject.start().expect("an empty journal");
        subject
    }

    /// Where the journal of the present run is.
    pub(crate) fn dir(&self) -> PathBuf {
        self.home.path().join(self.epoch.to_string())
    }

    pub(crate) fn local(&self) -> &Local {
        self.engine.as_deref().expect("a running engine")
    }

    fn start(&mut self) -> Result<(), JournalError> {
        self.epoch += 1;
        let found = recover(&self.dir())?;
        let ports = Ports { time: self.time.clone(), fresh: fresh(self.epoch), told: self.ears.clone() };
        let (lease, disk) = (Arc::clone(&self.may_commit), Arc::clone(&self.disk));
        let may_commit = Box::new(move || {
            disk.pass();
            lease.load(Ordering::SeqCst)
        });
        let (log_bytes, askers_patience) = (self.log_bytes, self.askers_patience);
        let options = Options { dir: self.dir(), log_bytes, may_commit, askers_patience };
        self.engine = Some(Arc::new(Local::start(found, self.epoch, ports, options)?));
        Ok(())
    }

    /// An engine on a journal that is not of its own making, with nobody to listen.
    pub(crate) fn open(dir: &Path, found: Recovered, epoch: i64) -> Result<Local, JournalError> {
        Self::open_to(dir, found, epoch, Arc::<Ears>::default())
    }

    /// The same, with somebody of the test's own who listens.
    pub(crate) fn open_to(
        dir: &Path,
        found: Recovered,
        epoch: i64,
        told: Arc<dyn Told>,
    ) -> Result<Local, JournalError> {
        let time = Arc::<ManualTime>::default();
        let ports = Ports { time, fresh: fresh(epoch), told };
        let options = Options {
            dir: dir.to_owned(),
            log_bytes: 64 << 10,
            may_commit: Box::new(|| true),
            askers_patience: PATIENT,
        };
        Local::start(found, epoch, ports, options)
    }

    /// The next run gets no later epoch than this one had.
    pub(crate) fn repeat_epoch(&mut self) -> Result<(), JournalError> {
        let next = self.dir();
        copy_live(&next, &self.home.path().join("kept"));
        self.engine = None;
        self.epoch -= 1;
        drop(std::fs::remove_dir_all(&next));
        std::fs::rename(self.home.path().join("kept"), &next).expect("a journal");
        self.start()
    }

    /// What is on the disk now, as it would be found after a crash, is where the next run begins.
    pub(crate) fn crash(&mut self) -> Result<(), JournalError> {
        copy_live(&self.dir(), &self.next_dir());
        self.engine = None;
        self.start()
    }

    fn next_dir(&self) -> PathBuf {
        self.home.path().join((self.epoch + 1).to_string())
    }

    /// Keeps what is on the disk in this moment for the next run, while others still work with this one.
    pub(crate) fn crash_under_load(&mut self) {
        let standing_still = self.disk.stop();
        copy_live(&self.dir(), &self.next_dir());
        drop(standing_still);
    }

    /// Begins the next run. Nobody works with this one any more.
    pub(crate) fn go_on(&mut self) {
        self.engine = None;
        self.start().expect("a whole journal, but for its last batch");
    }
}

/// Ids that no other run of this journal has.
fn fresh(epoch: i64) -> Arc<dyn Fn() -> Uuid + Send + Sync> {
    let (run, counter) = (u128::try_from(epoch).expect("small") << 64, AtomicU64::new(0));
    Arc::new(move || Uuid::from_u128(run + u128::from(counter.fetch_add(1, Ordering::SeqCst)) + 1))
}

/// Copies a journal that may be compacted meanwhile: if it was, another copy is made.
pub(crate) fn copy_live(from: &Path, to: &Path) {
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(from).expect("a journal").map(|entry| entry.expect("an entry"));
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    loop {
        drop(std::fs::remove_dir_all(to));
        std::fs::create_dir(to).expect("a directory");
        let before = names();
        let copied = before.iter().all(|name| std::fs::copy(from.join(name), to.join(name)).is_ok());
        if copied && names() == before {
            return;
        }
    }
}

impl Subject for LocalSubject {
    fn locks(&self) -> Arc<dyn Locks> {
        self.engine.clone().expect("a running engine")
    }

    fn advance(&self, span: Duration) {
        self.time.ms.fetch_add(u64::try_from(span.as_millis()).expect("short"), Ordering::SeqCst);
        self.local().tick();
    }

    fn ears(&self) -> &Ears {
        &self.ears
    }

    fn restart(&mut self) {
        self.crash().expect("a whole journal");
    }
}
