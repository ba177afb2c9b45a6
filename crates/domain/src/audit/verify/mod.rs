//! Checking a chain, seal by seal, wherever the seals and rows come from.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use ed25519_dalek::{Signature, VerifyingKey};
use uuid::Uuid;

use crate::audit::columns::RowColumns;
use crate::audit::entry::{AuditEntry, Chain};
use crate::audit::finding::Finding;
use crate::audit::merkle::{self, Hash};
use crate::audit::seal::{Seal, SealHead, key_id};

/// A row as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyRow {
    /// Its id.
    pub id: Uuid,
    /// The bytes that were sealed.
    pub body: Vec<u8>,
    /// The columns beside them.
    pub columns: RowColumns,
}

/// What a chain that holds consists of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The chain.
    pub chain: Chain,
    /// How many seals it has.
    pub seals: u64,
    /// How many rows, sealed or not.
    pub rows: u64,
    /// How many of them are not sealed yet.
    pub unsealed: u64,
    /// The hash of the last seal: worth keeping elsewhere.
    pub head: Option<Hash>,
    /// Whether the keys came from whoever asked; if not, the chain only agrees with itself.
    pub keys_trusted: bool,
}

/// Checks one chain from its first seal on, holding no more than one seal at a time.
#[derive(Clone, Debug)]
pub struct ChainVerifier {
    keys: BTreeMap<String, VerifyingKey>,
    head: SealHead,
    wanted_head: Option<Hash>,
    wanted_seen: bool,
    rows: u64,
    unsealed: u64,
}

impl ChainVerifier {
    /// Begins with a chain, believing signatures of these keys only.
    #[must_use]
    pub fn new(chain: Chain, keys: &[VerifyingKey]) -> Self {
        Self {
            keys: keys.iter().map(|key| (key_id(key), *key)).collect(),
            head: SealHead::start(chain),
            wanted_head: None,
            wanted_seen: false,
            rows: 0,
            unsealed: 0,
        }
    }

    /// Also demands that one of the seals has this hash, which was kept elsewhere.
    #[must_use]
    pub fn with_head(mut self, head: Hash) -> Self {
        self.wanted_head = Some(head);
        self
    }

    /// Takes the next seal with its rows, which come by (occurred_at, id).
    ///
    /// # Errors
    /// The first thing wrong with it.
    pub fn seal(&mut self, seal: &Seal, rows: &[VerifyRow]) -> Result<(), Finding> {
        self.check_seal(seal)?;
        self.check_rows(seal, rows)?;
        self.head = seal.head();
        self.rows += seal.count;
        self.wanted_seen |= self.wanted_head == Some(seal.hash);
        Ok(())
    }

    /// Takes a row that is not sealed yet. Nothing vouches for it but its own consistency.
    ///
    /// # Errors
    /// The first thing wrong with it.
    pub fn unsealed(&mut self, row: &VerifyRow) -> Result<(), Finding> {
        self.check_row(row)?;
        self.rows += 1;
        self.unsealed += 1;
        Ok(())
    }

    /// The chain that is checked.
    #[must_use]
    pub const fn chain(&self) -> Chain {
        self.head.chain
    }

    /// The hash of the last good seal.
    #[must_use]
    pub fn head(&self) -> Option<Hash> {
        (self.head.number > 0).then_some(self.head.hash)
    }

    /// Ends the check when everything was taken.
    ///
    /// # Errors
    /// The head that was demanded did not come.
    pub fn finish(self) -> Result<Report, Finding> {
        match self.wanted_head {
            Some(head) if !self.wanted_seen => Err(Finding::HeadNotFound { head: hex::encode(head) }),
            _ => Ok(Report {
                chain: self.chain(),
                seals: self.head.number,
                rows: self.rows,
                unsealed: self.unsealed,
                head: self.head(),
                keys_trusted: true,
            }),
        }
    }

    fn check_seal(&self, seal: &Seal) -> Result<(), Finding> {
        let number = seal.number;
        let listed = seal.leaves.len() as u64;
        if seal.chain != self.chain() {
            let (expected, found) = (self.chain(), seal.chain);
            return Err(Finding::SealOfAnotherChain { seal: number, expected, found });
        }
        if number != self.head.number + 1 {
            return Err(Finding::SealOutOfOrder { expected: self.head.number + 1, found: number });
        }
        if seal.previous != self.head.hash {
            return Err(Finding::PreviousWrong { seal: number });
        }
        if seal.count != listed {
            return Err(Finding::CountWrong { seal: number, stated: seal.count, listed });
        }
        if seal.root != merkle::root(&seal.leaves) {
            return Err(Finding::RootWrong { seal: number });
        }
        if seal.hash != seal.computed_hash() {
            return Err(Finding::SealHashWrong { seal: number });
        }
        let key = self.keys.get(&seal.key_id);
        let key = key.ok_or_else(|| Finding::UnknownKey { seal: number, key_id: seal.key_id.clone() })?;
        key.verify_strict(&seal.hash, &Signature::from_bytes(&seal.signature))
            .map_err(|_| Finding::SignatureWrong { seal: number })
    }

    fn check_rows(&self, seal: &Seal, rows: &[VerifyRow]) -> Result<(), Finding> {
        let leaves: Vec<Hash> = rows.iter().map(|row| merkle::leaf(&row.body)).collect();
        if leaves != seal.leaves
            && let Some(finding) = not_the_same_rows(seal, rows, &leaves)
        {
            return Err(finding);
        }
        // A changed time also moves its row, so the columns are looked at before the order.
        rows.iter().try_for_each(|row| self.check_row(row))?;
        let moved = rows.iter().zip(&leaves).zip(&seal.leaves).find(|((_, leaf), sealed)| leaf != sealed);
        match moved {
            Some(((row, _), _)) => Err(Finding::RowOutOfOrder { row: row.id, seal: seal.number }),
            None => Ok(()),
        }
    }

    fn check_row(&self, row: &VerifyRow) -> Result<(), Finding> {
        let entry = AuditEntry::from_body(&row.body).ok_or(Finding::BodyUnreadable { row: row.id })?;
        if entry.chain != self.chain() {
            let (expected, found) = (self.chain(), entry.chain);
            return Err(Finding::RowOfAnotherChain { row: row.id, expected, found });
        }
        let differs = if entry.id.raw() == row.id {
            row.columns.first_difference(&RowColumns::of(&entry))
        } else {
            Some("id")
        };
        differs.map_or(Ok(()), |column| Err(Finding::ColumnDiffers { row: row.id, column }))
    }
}

/// Which row is too many, too few or changed; none if they are the sealed ones in another order.
fn not_the_same_rows(seal: &Seal, rows: &[VerifyRow], leaves: &[Hash]) -> Option<Finding> {
    let sealed: HashSet<&Hash> = seal.leaves.iter().collect();
    let mut present = HashSet::new();
    let mut strange = None;
    for (row, leaf) in rows.iter().zip(leaves) {
        let repeated = !present.insert(leaf);
        if strange.is_none() && (repeated || !sealed.contains(leaf)) {
            strange = Some(row.id);
        }
    }
    let missing = seal.leaves.iter().position(|leaf| !present.contains(leaf));
    let number = seal.number;
    match (strange, missing) {
        (Some(row), Some(_)) => Some(Finding::BodyChanged { row, seal: number }),
        (Some(row), None) => Some(Finding::RowExtra { row, seal: number }),
        (None, Some(index)) => Some(Finding::RowMissing { seal: number, index }),
        // Only a seal that lists a row twice gets here with fewer rows.
        (None, None) if rows.len() < seal.leaves.len() => {
            Some(Finding::RowMissing { seal: number, index: rows.len() })
        }
        (None, None) => None,
    }
}
