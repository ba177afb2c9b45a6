//! Batches and files: how bytes lie on the disk, and how a reader tells what is whole.
//!
//! A log file begins with a block that says which it is. Batches follow, each at the beginning of a block and with a
//! checksum over everything in it, the number of the file and its own number included: what an earlier use of the
//! file has left is never taken for part of it. A batch is written only when the one before it is on the disk, so one
//! that is not whole can only be the last; if a whole one follows, the file was damaged afterwards.

use crc32fast::Hasher;

pub(super) const BLOCK: usize = 512;
const LOG: [u8; 8] = *b"csn-log1";
const BATCH: [u8; 4] = *b"csnb";
const HEADER: usize = 4 + 4 + 8 + 8 + 4;

/// Which log a file is, and which batch is its first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) first_batch: u64,
}

impl Head {
    pub(super) fn to_block(self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&LOG);
        block[8..16].copy_from_slice(&self.number.to_le_bytes());
        block[16..24].copy_from_slice(&self.first_batch.to_le_bytes());
        let sum = crc32fast::hash(&block[..24]);
        block[24..28].copy_from_slice(&sum.to_le_bytes());
        block
    }

    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let block = bytes.first_chunk::<28>()?;
        let right = block[..8] == LOG && block[24..] == crc32fast::hash(&block[..24]).to_le_bytes();
        right.then(|| Self { number: number(&block[8..16]), first_batch: number(&block[16..24]) })
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A batch of records as it is written, filled up to whole blocks.
pub(super) fn sealed(log: u64, batch: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let length: usize = records.iter().map(Vec::len).sum();
    let mut out = Vec::with_capacity((HEADER + length).next_multiple_of(BLOCK));
    out.extend_from_slice(&BATCH);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&log.to_le_bytes());
    out.extend_from_slice(&batch.to_le_bytes());
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    records.iter().for_each(|records| out.extend_from_slice(records));
    let mut sum = Hasher::new();
    sum.update(&out[8..]);
    let sum = sum.finalize().to_le_bytes();
    out[4..8].copy_from_slice(&sum);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    out
}

/// The batch that begins here, if a whole one of this log does: its number, its records, and how long it is.
pub(super) fn whole(bytes: &[u8], log: u64) -> Option<(u64, &[u8], usize)> {
    let header = bytes.first_chunk::<HEADER>()?;
    if header[..4] != BATCH || number(&header[8..16]) != log {
        return None;
    }
    let length = usize::try_from(number(&header[24..28])).ok()?;
    let sealed = bytes.get(8..HEADER.checked_add(length)?)?;
    if header[4..8] != crc32fast::hash(sealed).to_le_bytes() {
        return None;
    }
    Some((number(&header[16..24]), &sealed[HEADER - 8..], (HEADER + length).next_multiple_of(BLOCK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_back_and_a_flipped_bit_is_seen() {
        let records = [b"one".to_vec(), vec![7; 600]];
        let bytes = sealed(3, 9, &records);
        assert_eq!(bytes.len() % BLOCK, 0);
        let (batch, found, length) = whole(&bytes, 3).unwrap();
        assert_eq!((batch, found, length), (9, records.concat().as_slice(), bytes.len()));
        assert!(whole(&bytes, 4).is_none(), "of another log");
        for bit in 0..(HEADER + 603) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(whole(&damaged, 3).is_none(), "bit {bit}");
        }
        for length in 0..HEADER + 603 {
            assert!(whole(&bytes[..length], 3).is_none(), "{length} bytes");
        }
    }

    #[test]
    fn a_head_comes_back_and_a_flipped_bit_is_seen() {
        let head = Head { number: 7, first_batch: 1 << 40 };
        assert_eq!(Head::of(&head.to_block()), Some(head));
        for bit in 0..28 * 8 {
            let mut damaged = head.to_block();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::of(&damaged), None, "bit {bit}");
        }
    }
}
