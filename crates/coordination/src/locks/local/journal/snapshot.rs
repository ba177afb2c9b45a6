//! The whole state in one file, so that the logs before it can go.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crc32fast::Hasher;
use domain::locks::Line;

use super::record::{Origin, Reader, Record, write};
use super::state::State;
use crate::locks::Happening;
use crate::locks::local::lane::{LANES, Place};

const MAGIC: [u8; 8] = *b"csnsnap1";
/// Beginning, whether logs follow, what of each lane is in it.
const HEAD: usize = 8 + 8 + LANES * 8;
const TAIL: usize = 8 + 4;
const BUFFER_BYTES: usize = 1 << 20;

/// A snapshot on its way to the disk.
pub(super) struct Writing {
    out: BufWriter<File>,
    sum: Hasher,
    length: u64,
    record: Vec<u8>,
}

impl Writing {
    /// Begins one. What of each lane is in it is only known at the end, so it comes last.
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        Ok(Self { out, sum: Hasher::new(), length: 0, record: Vec::new() })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.length += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds bytes that are records already.
    pub(super) fn records(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes)
    }

    /// Adds how far tokens were given. Nothing else in a snapshot says it of keys that nobody holds any more.
    pub(super) fn reached(&mut self, number: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes, NOWHERE, &Record::Reached(number));
        self.put(&bytes)
    }

    /// Adds a whole state.
    pub(super) fn state(&mut self, state: &State) -> io::Result<()> {
        self.reached(state.newest)?;
        for (place, line) in &state.lines {
            self.record.clear();
            encode_line(&mut self.record, place, line);
            let bytes = std::mem::take(&mut self.record);
            self.put(&bytes)?;
            self.record = bytes;
        }
        let mut bytes = Vec::new();
        state
            .happenings
            .iter()
            .for_each(|(number, happening)| encode_happening(&mut bytes, *number, happening));
        self.put(&bytes)
    }

    /// Ends it; it is on the disk then. Its length.
    pub(super) fn end(mut self, has_logs: bool, seen: &[u64; LANES]) -> io::Result<u64> {
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&u64::from(has_logs).to_le_bytes());
        seen.iter().for_each(|number| head.extend_from_slice(&number.to_le_bytes()));
        self.put(&head)?;
        let (length, sum) = (self.length, self.sum.clone().finalize());
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&sum.to_le_bytes())?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(length)
    }
}

const NOWHERE: Origin = Origin { lane: 0, number: 0 };

/// One key as records: who holds it, which tickets wait. Those who wait with a connection go with it.
pub(crate) fn encode_line(out: &mut Vec<u8>, place: &Place, line: &Line) {
    for hold in line.holders() {
        write(out, NOWHERE, &Record::Granted(place.clone(), hold));
    }
    for waiter in line.waiters().filter(|waiter| waiter.ticket().is_some()) {
        write(out, NOWHERE, &Record::Queued(place.clone(), waiter));
    }
}

pub(crate) fn encode_happening(out: &mut Vec<u8>, number: u64, happening: &Happening) {
    write(out, NOWHERE, &Record::Happened(number, happening));
}

/// A snapshot that was read.
pub(super) struct Snapshot {
    pub(super) state: State,
    pub(super) has_logs: bool,
}

/// Reads one; none if it is not whole.
pub(super) fn read(bytes: &[u8], reader: &mut Reader) -> Option<Snapshot> {
    let body = bytes.len().checked_sub(TAIL)?;
    let (summed, tail) = bytes.split_at(body);
    let right = tail[..8] == (summed.len() as u64).to_le_bytes()
        && tail[8..] == crc32fast::hash(summed).to_le_bytes();
    if !right {
        return None;
    }
    let (mut records, head) = summed.split_at(summed.len().checked_sub(HEAD)?);
    if head[..8] != MAGIC {
        return None;
    }
    let mut state = State::default();
    while !records.is_empty() {
        let (_, record, rest) = reader.read(records).ok()?;
        state.take(record);
        records = rest;
    }
    for (seen, bytes) in state.seen.iter_mut().zip(head[16..].chunks_exact(8)) {
        *seen = bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    Some(Snapshot { state, has_logs: head[8] != 0 })
}
