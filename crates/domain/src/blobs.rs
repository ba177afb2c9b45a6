//! Large bytes, kept in rows of chunks.

use crate::organizations::Organization;
use crate::{Id, Timestamp};

/// What is known of some bytes; the chunks are kept apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blob {
    /// Its id.
    pub id: Id<Blob>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// What it holds: `output`, `archive`, …
    pub kind: String,
    /// Bytes in it.
    pub size: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last grew.
    pub updated_at: Timestamp,
}

/// How large one chunk is.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// How many chunks this many bytes take.
#[must_use]
pub const fn chunk_count(bytes: u64) -> u64 {
    bytes.div_ceil(CHUNK_BYTES as u64)
}

/// Whether an organization that uses `used` bytes may add some more.
#[must_use]
pub const fn fits(used: u64, adding: u64, quota: u64) -> bool {
    match used.checked_add(adding) {
        Some(total) => total <= quota,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_full_but_never_over() {
        assert!(fits(0, 10, 10));
        assert!(fits(10, 0, 10));
        assert!(!fits(10, 1, 10));
        assert!(!fits(11, 0, 10), "a quota that was lowered");
        assert!(!fits(1, u64::MAX, u64::MAX));
    }

    #[test]
    fn chunks_are_counted_up() {
        let chunk = CHUNK_BYTES as u64;
        assert_eq!([0, 1, chunk, chunk + 1].map(chunk_count), [0, 1, 1, 2]);
    }
}
