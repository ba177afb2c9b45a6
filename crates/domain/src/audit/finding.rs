//! What is wrong with a chain.

use uuid::Uuid;

use super::entry::Chain;

/// The first thing found wrong, in words for a person who has to act on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Finding {
    /// A seal of one chain stands in another.
    #[error("seal {seal} belongs to chain {found}, not to {expected}")]
    SealOfAnotherChain {
        /// Its number.
        seal: u64,
        /// The chain that is checked.
        expected: Chain,
        /// The chain it names.
        found: Chain,
    },
    /// A seal is missing, repeated or moved.
    #[error("seal {expected} is expected, but seal {found} comes next")]
    SealOutOfOrder {
        /// The number that should come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A seal is not tied to the one before it.
    #[error("seal {seal} does not continue the seal before it")]
    PreviousWrong {
        /// Its number.
        seal: u64,
    },
    /// A seal states another number of rows than it lists.
    #[error("seal {seal} states {stated} rows but lists {listed}")]
    CountWrong {
        /// Its number.
        seal: u64,
        /// What it states.
        stated: u64,
        /// What it lists.
        listed: u64,
    },
    /// The leaves of a seal do not give its root.
    #[error("the leaves of seal {seal} do not add up to its root")]
    RootWrong {
        /// Its number.
        seal: u64,
    },
    /// The fields of a seal do not give its hash.
    #[error("the hash of seal {seal} is not that of its content")]
    SealHashWrong {
        /// Its number.
        seal: u64,
    },
    /// A seal was signed with a key that is not among those to trust.
    #[error("seal {seal} is signed with key {key_id}, which is not among the keys to trust")]
    UnknownKey {
        /// Its number.
        seal: u64,
        /// The key it names.
        key_id: String,
    },
    /// A seal's signature is not by the key it names.
    #[error("the signature of seal {seal} is wrong")]
    SignatureWrong {
        /// Its number.
        seal: u64,
    },
    /// A row says something else than when it was sealed.
    #[error("row {row} was changed after seal {seal} closed it")]
    BodyChanged {
        /// Its id.
        row: Uuid,
        /// The seal that holds it.
        seal: u64,
    },
    /// A sealed row is gone.
    #[error("row number {} of seal {seal} is missing", index + 1)]
    RowMissing {
        /// The seal that holds it.
        seal: u64,
        /// Its place in the seal, from 0.
        index: usize,
    },
    /// A row claims to be in a seal that does not hold it.
    #[error("row {row} was added to seal {seal} after it was closed")]
    RowExtra {
        /// Its id.
        row: Uuid,
        /// The seal it claims to be in.
        seal: u64,
    },
    /// The rows of a seal stand in another order than when they were sealed.
    #[error("row {row} is not at its place in seal {seal}")]
    RowOutOfOrder {
        /// Its id.
        row: Uuid,
        /// The seal that holds it.
        seal: u64,
    },
    /// A body is not one the hub writes.
    #[error("the body of row {row} cannot be read")]
    BodyUnreadable {
        /// Its id.
        row: Uuid,
    },
    /// A row of one chain stands in another.
    #[error("row {row} belongs to chain {found}, not to {expected}")]
    RowOfAnotherChain {
        /// Its id.
        row: Uuid,
        /// The chain that is checked.
        expected: Chain,
        /// The chain its body names.
        found: Chain,
    },
    /// A column beside the body says something else than the body.
    #[error("column {column} of row {row} is not what its body says")]
    ColumnDiffers {
        /// Its id.
        row: Uuid,
        /// The column.
        column: &'static str,
    },
    /// A head kept elsewhere is not in the chain: its tail was cut off, or this is another chain.
    #[error("no seal of the chain has the hash {head}")]
    HeadNotFound {
        /// The hash in hexadecimal.
        head: String,
    },
    /// A line of an export is not one.
    #[error("line {line} of the export: {detail}")]
    ExportMalformed {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        detail: &'static str,
    },
    /// The digest in the last line is not that of the lines before it.
    #[error("the export was changed: its last line does not match the lines before it")]
    ExportChanged,
    /// The last line is missing.
    #[error("the export is cut off: its last line is missing")]
    ExportTruncated,
}

impl Finding {
    /// The row that the words of a finding are about: it is kept as what a person was told.
    pub fn row_in(words: &str) -> Option<Uuid> {
        let (_, rest) = words.split_once("row ")?;
        rest.split(' ').next().and_then(|id| Uuid::parse_str(id).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_a_finding_is_found_in_its_words() {
        let row = Uuid::from_u128(7);
        let row_in = |finding: Finding| Finding::row_in(&finding.to_string());
        assert_eq!(row_in(Finding::BodyChanged { row, seal: 5 }), Some(row));
        assert_eq!(row_in(Finding::ColumnDiffers { row, column: "reason" }), Some(row));
        assert_eq!(row_in(Finding::RowMissing { seal: 5, index: 0 }), None);
        assert_eq!(row_in(Finding::RootWrong { seal: 5 }), None);
    }
}
