//! Checking an export as it is read.

use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

use super::lines::{End, Header, Line};
use crate::audit::finding::Finding;
use crate::audit::merkle::Hash;
use crate::audit::seal::{SEAL_LEAVES_MAX, Seal};
use crate::audit::verify::{ChainVerifier, Report, VerifyRow};

/// Checks an export line by line, holding no more than one seal and its rows.
#[derive(Clone, Debug, Default)]
pub struct ExportVerifier {
    trusted: Option<Vec<VerifyingKey>>,
    wanted_head: Option<Hash>,
    line: u64,
    digest: Sha256,
    /// None until the header came.
    chain: Option<ChainVerifier>,
    /// The last seal and those of its rows that came so far.
    open: Option<(Seal, Vec<VerifyRow>)>,
    /// What the end line has to say.
    counted: End,
    unsealed: bool,
    ended: bool,
}

impl ExportVerifier {
    /// Begins, believing signatures of these keys only; without any, those the export itself names.
    #[must_use]
    pub fn new(trusted: Option<Vec<VerifyingKey>>) -> Self {
        Self { trusted, ..Self::default() }
    }

    /// Also demands that one of the seals has this hash, which was kept elsewhere.
    #[must_use]
    pub fn with_head(mut self, head: Hash) -> Self {
        self.wanted_head = Some(head);
        self
    }

    /// Takes the next line with its newline, exactly as it is in the file.
    ///
    /// # Errors
    /// The first thing wrong with the export so far.
    pub fn line(&mut self, raw: &[u8]) -> Result<(), Finding> {
        self.line += 1;
        if self.ended {
            return Err(self.malformed("there is more after the end line"));
        }
        let text = raw.strip_suffix(b"\n").ok_or_else(|| self.malformed("the line is cut off"))?;
        let line = Line::read(text).map_err(|detail| self.malformed(detail))?;
        if self.line == 1 && !matches!(line, Line::Header(_)) {
            return Err(self.malformed("the header is missing"));
        }
        match line {
            Line::Header(header) => self.header(header)?,
            Line::Seal(seal) => self.seal(seal)?,
            Line::Row { row, seal: Some(number) } => self.sealed_row(row, number)?,
            Line::Row { row, seal: None } => self.unsealed_row(&row)?,
            Line::End(end) => self.end(&end)?,
        }
        self.digest.update(raw);
        Ok(())
    }

    /// Ends the check behind the last line.
    ///
    /// # Errors
    /// The export has no end, or lacks the head that was demanded.
    pub fn finish(self) -> Result<Report, Finding> {
        match self.chain {
            Some(chain) if self.ended => {
                Ok(Report { keys_trusted: self.trusted.is_some(), ..chain.finish()? })
            }
            _ => Err(Finding::ExportTruncated),
        }
    }

    fn header(&mut self, header: Header) -> Result<(), Finding> {
        if self.chain.is_some() {
            return Err(self.malformed("there is a second header"));
        }
        let keys = self.trusted.as_ref().unwrap_or(&header.keys);
        let chain = ChainVerifier::new(header.chain, keys);
        self.chain = Some(match self.wanted_head {
            Some(head) => chain.with_head(head),
            None => chain,
        });
        Ok(())
    }

    fn seal(&mut self, seal: Seal) -> Result<(), Finding> {
        self.close_seal()?;
        if self.unsealed {
            return Err(self.malformed("a seal comes after rows that are not sealed"));
        }
        if seal.leaves.len() > SEAL_LEAVES_MAX {
            return Err(self.malformed("the seal holds more rows than a seal can"));
        }
        self.counted.seals += 1;
        self.counted.head = Some(seal.hash);
        self.open = Some((seal, Vec::new()));
        Ok(())
    }

    fn sealed_row(&mut self, row: VerifyRow, number: u64) -> Result<(), Finding> {
        self.counted.rows += 1;
        let Some((seal, rows)) = self.open.as_mut().filter(|(seal, _)| seal.number == number) else {
            return Err(self.malformed("the row does not follow the seal it names"));
        };
        rows.push(row);
        // One too many is already wrong, and there might be no end to them.
        if rows.len() > seal.leaves.len() { self.close_seal() } else { Ok(()) }
    }

    fn unsealed_row(&mut self, row: &VerifyRow) -> Result<(), Finding> {
        self.close_seal()?;
        self.unsealed = true;
        self.counted.rows += 1;
        self.chain()?.unsealed(row)
    }

    fn end(&mut self, stated: &End) -> Result<(), Finding> {
        self.close_seal()?;
        self.chain()?;
        self.counted.sha256 = self.digest.clone().finalize().into();
        self.ended = true;
        if self.counted == *stated { Ok(()) } else { Err(Finding::ExportChanged) }
    }

    fn close_seal(&mut self) -> Result<(), Finding> {
        match self.open.take() {
            Some((seal, rows)) => self.chain()?.seal(&seal, &rows),
            None => Ok(()),
        }
    }

    fn chain(&mut self) -> Result<&mut ChainVerifier, Finding> {
        let no_header = self.malformed("the header is missing");
        self.chain.as_mut().ok_or(no_header)
    }

    fn malformed(&self, detail: &'static str) -> Finding {
        Finding::ExportMalformed { line: self.line, detail }
    }
}
