//! A chain as a file: one JSON object per line, checkable without the hub.
//!
//! A header, then each seal followed by its rows, then the rows not sealed yet, then an end line with the totals and
//! the SHA-256 of every byte before it. Each line is canonical, so each thing can be written in one way only.

mod lines;
#[cfg(test)]
mod tests;
mod verifier;

use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

use super::entry::Chain;
use super::seal::Seal;
use super::verify::VerifyRow;
use crate::Timestamp;
use lines::{End, Header};

pub use verifier::ExportVerifier;

/// Writes an export line by line. Each line it gives ends with a newline.
#[derive(Clone, Debug, Default)]
pub struct ExportWriter {
    digest: Sha256,
    end: End,
}

impl ExportWriter {
    /// Begins an export of one chain; the keys are those its seals were signed with.
    #[must_use]
    pub fn start(chain: Chain, exported_at: Timestamp, keys: &[VerifyingKey]) -> (Self, String) {
        let mut writer = Self::default();
        let header = Header { chain, exported_at, keys: keys.to_vec() };
        let line = writer.counted(lines::header_text(&header));
        (writer, line)
    }

    /// The next seal; its rows come next.
    #[must_use]
    pub fn seal(&mut self, seal: &Seal) -> String {
        self.end.seals += 1;
        self.end.head = Some(seal.hash);
        self.counted(lines::seal_text(seal))
    }

    /// A row of the seal of this number, or one that is not sealed yet.
    #[must_use]
    pub fn row(&mut self, row: &VerifyRow, seal: Option<u64>) -> String {
        self.end.rows += 1;
        self.counted(lines::row_text(row, seal))
    }

    /// The last line.
    #[must_use]
    pub fn end(mut self) -> String {
        self.end.sha256 = self.digest.finalize().into();
        let mut line = lines::end_text(&self.end);
        line.push('\n');
        line
    }

    fn counted(&mut self, mut line: String) -> String {
        line.push('\n');
        self.digest.update(&line);
        line
    }
}
