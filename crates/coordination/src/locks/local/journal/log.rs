//! Writing: batches into preallocated files, one after the other.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::batch::{BLOCK, Head, sealed};
use super::recover::{FIRST, JournalError, Recovered, log_path, numbered, snapshot_path};
use super::snapshot::Writing;
use super::state::State;
use crate::locks::local::lane::LANES;

const ZEROS: usize = 1 << 20;

/// The log that is being written.
pub(super) struct Log {
    dir: PathBuf,
    file: File,
    number: u64,
    offset: u64,
    next_batch: u64,
    /// How long a file is made before it is used.
    bytes: u64,
    /// What was written since the last snapshot began.
    pub(super) since_snapshot: u64,
}

impl Log {
    /// Begins a new log behind what was recovered, with a snapshot of that, and forgets what came before. Wherever this
    /// breaks off, what is there can be read: the new log has no batch yet, and it continues the last one, or a
    /// snapshot that needs none.
    pub(super) fn begin(dir: &Path, bytes: u64, found: &Recovered) -> Result<Self, JournalError> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(JournalError::io(dir, "made"))?;
        if found.last.is_none() {
            write_copy(dir, &found.state)?;
        }
        let (number, next_batch) = (found.next_log(), found.next_batch.unwrap_or(1));
        let file = prepared(dir, bytes, Head { number, first_batch: next_batch })?;
        write_snapshot(dir, number, true, |out| out.state(&found.state).map(|()| [0; LANES]))?;
        forget_before(dir, number)?;
        Ok(Self {
            dir: dir.to_owned(),
            file,
            number,
            offset: BLOCK as u64,
            next_batch,
            bytes,
            since_snapshot: 0,
        })
    }

    /// Whether so much can be written without another file.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.offset + bytes <= self.bytes
    }

    /// Writes a batch. It is on the disk when this returns.
    pub(super) fn write(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        let length: usize = records.iter().map(Vec::len).sum();
        // A batch that is larger than a whole file makes its file longer.
        if self.offset + (length + BLOCK) as u64 > self.bytes && self.offset > BLOCK as u64 {
            self.turn_over()?;
        }
        let bytes = sealed(self.number, self.next_batch, records);
        let path = log_path(&self.dir, self.number);
        self.file.write_all_at(&bytes, self.offset).map_err(JournalError::io(&path, "written"))?;
        self.file.sync_data().map_err(JournalError::io(&path, "synced"))?;
        self.offset += bytes.len() as u64;
        self.since_snapshot += bytes.len() as u64;
        self.next_batch += 1;
        Ok(())
    }

    /// Goes on in the next file. Its number.
    pub(super) fn turn_over(&mut self) -> Result<u64, JournalError> {
        let head = Head { number: self.number + 1, first_batch: self.next_batch };
        self.file = prepared(&self.dir, self.bytes, head)?;
        self.number = head.number;
        self.offset = BLOCK as u64;
        Ok(self.number)
    }
}

fn spare_path(dir: &Path) -> PathBuf {
    dir.join("spare")
}

/// A file that is ready to be written as this log: one that was used before, or a new one full of zeros, so that
/// syncing it later has nothing to do but the data.
fn prepared(dir: &Path, bytes: u64, head: Head) -> Result<File, JournalError> {
    let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
    // Another name than that of a used one: whoever puts a used one there must not hit this.
    let (spare, fresh) = (spare_path(dir), dir.join("fresh"));
    let (from, file) = match open(&spare) {
        Ok(file) => (spare, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = made(&fresh, bytes).map_err(JournalError::io(&fresh, "made"))?;
            (fresh, file)
        }
        Err(error) => return Err(JournalError::io(&spare, "opened")(error)),
    };
    let path = log_path(dir, head.number);
    let named = file
        .write_all_at(&head.to_block(), 0)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&from, &path))
        .and_then(|()| sync_dir(dir));
    named.map_err(JournalError::io(&path, "begun"))?;
    Ok(file)
}

fn made(path: &Path, bytes: u64) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let zeros = vec![0; ZEROS];
    let mut offset = 0;
    while offset < bytes {
        let length = usize::try_from(bytes - offset).unwrap_or(ZEROS).min(ZEROS);
        file.write_all_at(&zeros[..length], offset)?;
        offset += length as u64;
    }
    file.sync_all()?;
    Ok(file)
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Writes a snapshot that the log of this number continues. Its length.
pub(super) fn write_snapshot(
    dir: &Path,
    number: u64,
    has_logs: bool,
    fill: impl FnOnce(&mut Writing) -> io::Result<[u64; LANES]>,
) -> Result<u64, JournalError> {
    let (path, unfinished) = (snapshot_path(dir, number), dir.join("unfinished"));
    let write = || {
        let mut out = Writing::begin(&unfinished)?;
        let seen = fill(&mut out)?;
        let length = out.end(has_logs, &seen)?;
        fs::rename(&unfinished, &path)?;
        sync_dir(dir)?;
        Ok(length)
    };
    write().map_err(JournalError::io(&path, "written"))
}

/// Removes what the snapshot of this number has made unnecessary. One log is kept for use again.
pub(super) fn forget_before(dir: &Path, number: u64) -> Result<(), JournalError> {
    let spare = spare_path(dir);
    for old in numbered(dir, "snapshot")?.into_iter().filter(|old| *old < number) {
        let path = snapshot_path(dir, old);
        fs::remove_file(&path).map_err(JournalError::io(&path, "removed"))?;
    }
    for old in numbered(dir, "log")?.into_iter().filter(|old| *old < number) {
        let path = log_path(dir, old);
        let gone = if spare.exists() { fs::remove_file(&path) } else { fs::rename(&path, &spare) };
        gone.map_err(JournalError::io(&path, "removed"))?;
    }
    Ok(())
}

/// Writes the state as a journal of its own that needs no log, as a backup holds it.
///
/// # Errors
/// The disk.
pub fn write_copy(dir: &Path, state: &State) -> Result<PathBuf, JournalError> {
    write_snapshot(dir, FIRST, false, |out| out.state(state).map(|()| [0; LANES]))?;
    Ok(snapshot_path(dir, FIRST))
}
