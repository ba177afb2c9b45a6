//! From the files to the state they add up to, or to a clear refusal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::batch::{BLOCK, Head, whole};
use super::record::Reader;
use super::snapshot;
use super::state::State;

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk.
    #[error("the lock journal {path} cannot be {what}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The files contradict each other or themselves.
    #[error(
        "the lock journal is damaged: {path}: {what}. Restore the directory from a backup; or, if no lock of before \
         needs to be honoured, move it away: all locks are free then and older fencing tokens stay invalid"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// No token of this epoch would be greater than those that were given.
    #[error("the fencing epoch is not above all that the lock journal has seen, or the epochs are used up")]
    NoEpochs,
}

impl JournalError {
    pub(super) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), what, source }
    }

    fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Recovered {
    /// What it adds up to.
    pub state: State,
    /// Bytes at the end that were no whole batch: nothing in them was answered, unless the disk has lost it since.
    pub dropped_bytes: usize,
    /// What the files end with; none if there are none.
    pub(super) last: Option<Last>,
    /// The number of the next batch, where a log says it.
    pub(super) next_batch: Option<u64>,
}

/// What the files end with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Last {
    /// The log of this number.
    Log(u64),
    /// A snapshot that needs no log. One of its own number would continue it.
    Snapshot(u64),
}

impl Recovered {
    /// The number of a log that continues what is there.
    pub(super) fn next_log(&self) -> u64 {
        match self.last {
            None => FIRST,
            Some(Last::Snapshot(number)) => number,
            Some(Last::Log(number)) => number + 1,
        }
    }
}

/// The number of the first log and of a snapshot that needs none.
pub(super) const FIRST: u64 = 1;

pub(super) fn log_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.log"))
}

pub(super) fn snapshot_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.snapshot"))
}

/// The numbers of the logs and snapshots in a directory, in order.
pub(super) fn numbered(dir: &Path, extension: &str) -> Result<Vec<u64>, JournalError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::io(dir, "listed")(error)),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let path = entry.map_err(JournalError::io(dir, "listed"))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            numbers.push(number.ok_or_else(|| JournalError::damaged(&path, "no file of this program"))?);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads a journal; an empty directory is an empty journal.
///
/// # Errors
/// The disk, or files that cannot all be right. Only the end of the last log may be broken off.
pub fn recover(dir: &Path) -> Result<Recovered, JournalError> {
    let logs = numbered(dir, "log")?;
    let Some(base) = numbered(dir, "snapshot")?.pop() else {
        return match logs.first() {
            None => Ok(Recovered::default()),
            Some(_) => Err(JournalError::damaged(dir, "there are logs and no snapshot that they continue")),
        };
    };
    let path = snapshot_path(dir, base);
    let bytes = fs::read(&path).map_err(JournalError::io(&path, "read"))?;
    let mut reader = Reader::default();
    let snapshot = snapshot::read(&bytes, &mut reader)
        .ok_or_else(|| JournalError::damaged(&path, "its checksum does not match"))?;
    drop(bytes);
    let logs: Vec<u64> = logs.into_iter().filter(|number| *number >= base).collect();
    let expected = base..base + logs.len() as u64;
    if !logs.iter().copied().eq(expected) || (logs.is_empty() && snapshot.has_logs) {
        return Err(JournalError::damaged(dir, format!("a log is missing after {}", path.display())));
    }
    let mut reading = Reading { reader, state: snapshot.state, next_batch: None, dropped_bytes: 0 };
    for (place, number) in logs.iter().enumerate() {
        reading.log(&log_path(dir, *number), *number, place + 1 == logs.len())?;
    }
    let Reading { state, next_batch, dropped_bytes, .. } = reading;
    let last = Some(logs.last().map_or(Last::Snapshot(base), |number| Last::Log(*number)));
    Ok(Recovered { state, dropped_bytes, last, next_batch })
}

struct Reading {
    reader: Reader,
    state: State,
    next_batch: Option<u64>,
    dropped_bytes: usize,
}

impl Reading {
    fn log(&mut self, path: &Path, number: u64, is_last: bool) -> Result<(), JournalError> {
        let bytes = fs::read(path).map_err(JournalError::io(path, "read"))?;
        let head = Head::of(&bytes).filter(|head| head.number == number);
        let head = head.ok_or_else(|| JournalError::damaged(path, "its beginning is not that of a log"))?;
        if self.next_batch.is_some_and(|expected| head.first_batch != expected) {
            return Err(JournalError::damaged(path, "it does not continue the log before it"));
        }
        let mut next = head.first_batch;
        let mut rest = bytes.get(BLOCK..).unwrap_or_default();
        while let Some((batch, records, length)) = whole(rest, number).filter(|found| found.0 == next) {
            self.batch(records).map_err(|()| {
                JournalError::damaged(path, format!("batch {batch} holds what this version cannot read"))
            })?;
            next += 1;
            rest = rest.get(length..).unwrap_or_default();
        }
        self.next_batch = Some(next);
        if let Some(later) = later_batch(rest, number, next) {
            let what = format!("batch {next} is not whole, and batch {later} after it is");
            return Err(JournalError::damaged(path, what));
        }
        if is_last {
            self.dropped_bytes = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        }
        Ok(())
    }

    fn batch(&mut self, mut records: &[u8]) -> Result<(), ()> {
        while !records.is_empty() {
            let (origin, record, rest) = self.reader.read(records).map_err(|_| ())?;
            self.state.apply(origin, record);
            records = rest;
        }
        Ok(())
    }
}

/// A whole batch of this log somewhere behind the place where the next one should be.
fn later_batch(bytes: &[u8], log: u64, next: u64) -> Option<u64> {
    let blocks = (0..bytes.len()).step_by(BLOCK);
    blocks.filter_map(|start| whole(&bytes[start..], log)).map(|found| found.0).find(|batch| *batch > next)
}
