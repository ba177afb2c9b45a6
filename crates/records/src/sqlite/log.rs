//! Moving SQLite's log into its file beside the writer, so that no commit waits for it.
//!
//! SQLite would move the log within a commit: hundreds of pages written and synced while everybody waits. Here a thread
//! of its own moves what is committed, again and again, and syncs it. The log begins anew only when all of it has been moved while
//! nobody writes; that is the writer's turn between two groups, and by then there is little left to move.
//!
//! Both use SQLite's own passive checkpoints, so what may be moved, and when the log may be overwritten, is SQLite's rule.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;

use super::{LiteTx, failed};
use crate::{Error, Result};

/// Pages in the log from which they are moved; SQLite's own measure.
const MOVED_FROM_PAGES: i32 = 1_000;
/// Pages from which the log is to begin anew: 16 MiB.
const RENEWED_FROM_PAGES: i32 = 4_000;
/// What the writer may have left to move then, because everybody waits while it does; more is left to the thread.
const LEFT_PAGES_MAX: i32 = 64;
/// One page more for so many that the log has grown beyond: where the thread never comes that near to its end, the
/// writer takes the more upon itself the longer it is.
const GROWN_PAGES_FOR_ONE_MORE: i32 = 32;
/// The thread is not sent for less: each time it syncs.
const MOVED_AT_LEAST_PAGES: i32 = 256;
/// Pages at which the writer waits, so that a thread that cannot keep up does not let the log grow without end: 128 MiB.
const WAITED_FROM_PAGES: i32 = 32_000;

/// What the writer and the thread know of the log.
#[derive(Default)]
struct Log {
    /// Pages in it after the last commit.
    pages: AtomicI32,
    /// How many of them are in the file.
    moved: AtomicI32,
    /// Held by whoever moves.
    moving: Mutex<()>,
}

impl Log {
    /// Moves what is committed; how many pages are in the log. Where another process moves it, there is nothing to do.
    fn move_pages(&self, conn: &LiteTx) -> Result<i32> {
        let (pages, moved) =
            match conn.conn.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE).map_err(failed) {
                Err(Error::Overloaded) => return Ok(self.pages.load(Ordering::Acquire)),
                other => other?,
            };
        self.moved.store(moved, Ordering::Release);
        Ok(pages)
    }
}

/// The writer's end.
pub(super) struct Keeper {
    log: Arc<Log>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Pages from which it is worth trying to let the log begin anew.
    renewed_from: i32,
}

impl Keeper {
    /// Takes the log of the writer's connection into its care.
    pub(super) fn start(writer: &mut LiteTx, path: &Path) -> Result<Self> {
        let log = Arc::new(Log::default());
        // First, because it takes the place of the hook.
        writer.conn.execute_batch("PRAGMA wal_autocheckpoint = 0").map_err(failed)?;
        let counted = Arc::clone(&log);
        let count = move |_: &mut Wal, pages| {
            counted.pages.store(pages, Ordering::Release);
            Ok(())
        };
        writer.conn.wal_hook(Some(count)).map_err(failed)?;
        let mover = LiteTx::open_mover(path)?;
        let file = File::open(path).map_err(|error| refused(&error))?;
        let (wake, woken) = sync_channel(1);
        let shared = Arc::clone(&log);
        let thread = std::thread::Builder::new()
            .name("records-log".into())
            .spawn(move || {
                run(&shared, &mover, &file, &woken);
                // In this order: closing any handle of a file ends all locks that its process has on it, and so the file's
                // own is closed when no connection is left that needs them.
                drop(mover);
                drop(file);
            })
            .map_err(|error| refused(&error))?;
        Ok(Self { log, wake: Some(wake), thread: Some(thread), renewed_from: RENEWED_FROM_PAGES })
    }

    /// Looks after the log between two groups of units.
    pub(super) fn tend(&mut self, writer: &LiteTx) {
        let pages = self.log.pages.load(Ordering::Acquire);
        if pages < RENEWED_FROM_PAGES {
            self.renewed_from = RENEWED_FROM_PAGES;
        }
        let left = pages - self.log.moved.load(Ordering::Acquire);
        let is_due = pages >= self.renewed_from;
        let may_be_left = LEFT_PAGES_MAX + (pages - RENEWED_FROM_PAGES) / GROWN_PAGES_FOR_ONE_MORE;
        if (is_due && left <= may_be_left) || pages >= WAITED_FROM_PAGES {
            self.renew(writer);
        } else if left >= if is_due { MOVED_AT_LEAST_PAGES } else { MOVED_FROM_PAGES } {
            self.wake();
        }
    }

    /// Has the thread move what there is; an order that it has not taken yet is as good as another.
    fn wake(&self) {
        if let Some(Err(TrySendError::Disconnected(()))) = self.wake.as_ref().map(|wake| wake.try_send(())) {
            tracing::error!("the thread that moves the log has ended");
        }
    }

    /// Moves the rest, after which SQLite begins the log anew with the next change, unless a reader still needs it.
    fn renew(&mut self, writer: &LiteTx) {
        let moving = self.log.moving.lock().unwrap_or_else(PoisonError::into_inner);
        match self.log.move_pages(writer) {
            Ok(pages) => {
                // Pages of the log that comes next count from zero.
                self.log.moved.store(0, Ordering::Release);
                self.renewed_from = pages.saturating_add(MOVED_FROM_PAGES);
            }
            Err(error) => tracing::error!("the log of the records cannot be moved into their file: {error}"),
        }
        drop(moving);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the thread that moves the log had panicked");
        }
    }
}

fn refused(error: &std::io::Error) -> Error {
    Error::Refused(format!("cannot look after the log of the records: {error}"))
}

fn run(log: &Log, mover: &LiteTx, file: &File, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        let moving = log.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = log.move_pages(mover) {
            tracing::error!("the log of the records cannot be moved into their file: {error}");
        }
        drop(moving);
        // SQLite syncs only what lets the log begin anew. Whatever is on the disk by then need not be waited for.
        if let Err(error) = file.sync_data() {
            tracing::error!("the file of the records cannot be synced: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: i32 = 150;
    const PAGES_A_GROUP: i32 = 100;

    /// Writes much more than a log may hold, and gives how large the log's file became.
    fn written(path: &Path, is_tended: bool) -> u64 {
        let mut writer = LiteTx::open_writer(path).unwrap();
        writer.conn.execute_batch("CREATE TABLE things (body BLOB)").unwrap();
        let mut keeper = Keeper::start(&mut writer, path).unwrap();
        let reader = LiteTx::open_reader(path).unwrap();
        for _ in 0..GROUPS {
            writer.control("BEGIN IMMEDIATE").unwrap();
            for _ in 0..PAGES_A_GROUP {
                writer.conn.execute("INSERT INTO things VALUES (zeroblob(4000))", []).unwrap();
            }
            writer.control("COMMIT").unwrap();
            reader.conn.query_row("SELECT count(*) FROM things", [], |row| row.get::<_, i32>(0)).unwrap();
            if is_tended {
                keeper.tend(&writer);
            }
        }
        let bytes = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        drop((reader, writer, keeper));
        bytes
    }

    #[test]
    fn the_log_begins_anew_beside_readers_and_nothing_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tended.db");
        let bytes = written(&path, true);
        let left_alone = written(&directory.path().join("alone.db"), false);
        assert!(bytes < left_alone / 2, "{bytes} bytes of log, {left_alone} where nobody looks after it");
        assert!(!path.with_extension("db-wal").exists(), "the last connection clears the log away");
        let conn = rusqlite::Connection::open(&path).unwrap();
        let whole: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        let count: i32 = conn.query_row("SELECT count(*) FROM things", [], |row| row.get(0)).unwrap();
        assert_eq!((whole.as_str(), count), ("ok", GROUPS * PAGES_A_GROUP));
    }
}
