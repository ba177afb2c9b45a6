//! Seals: each binds some rows to everything sealed before them, and is signed.

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use super::entry::Chain;
use super::merkle::{self, Hash};
use crate::canonical::sha256;
use crate::{Id, Timestamp};

/// The most rows one seal can hold, so that whoever checks it needs little memory.
pub const SEAL_LEAVES_MAX: usize = 1024;

const KEY_ID_BYTES: usize = 8;

/// The end of a chain, to which the next seal is tied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealHead {
    /// The chain.
    pub chain: Chain,
    /// The number of the last seal; 0 if there is none.
    pub number: u64,
    /// Its hash; zeros if there is none.
    pub hash: Hash,
}

impl SealHead {
    /// The head of a chain without seals.
    #[must_use]
    pub const fn start(chain: Chain) -> Self {
        Self { chain, number: 0, hash: [0; 32] }
    }
}

/// Some rows of a chain, closed for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seal {
    /// Its id.
    pub id: Id<Seal>,
    /// The chain it continues.
    pub chain: Chain,
    /// Its place in the chain, from 1.
    pub number: u64,
    /// How many rows it holds.
    pub count: u64,
    /// The hash of the seal before it.
    pub previous: Hash,
    /// The Merkle root of its rows.
    pub root: Hash,
    /// The hash of all of the above and of the time.
    pub hash: Hash,
    /// Ed25519 over the hash.
    pub signature: [u8; 64],
    /// The key that signed; see [`key_id`].
    pub key_id: String,
    /// When it was made.
    pub sealed_at: Timestamp,
    /// The leaf of each row, by (occurred_at, id) of the rows.
    pub leaves: Vec<Hash>,
}

/// Why no seal can be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SealError {
    /// There is nothing to seal.
    #[error("a seal holds at least one row")]
    Empty,
    /// There is too much for one seal.
    #[error("a seal holds at most {SEAL_LEAVES_MAX} rows")]
    TooMany,
}

impl Seal {
    /// Closes some rows behind a head. The leaves come in the order of (occurred_at, id) of their rows.
    ///
    /// # Errors
    /// There are no leaves, or too many.
    pub fn make(
        head: &SealHead,
        id: Id<Seal>,
        leaves: Vec<Hash>,
        sealed_at: Timestamp,
        signer: &SigningKey,
    ) -> Result<Self, SealError> {
        if leaves.is_empty() {
            return Err(SealError::Empty);
        }
        if leaves.len() > SEAL_LEAVES_MAX {
            return Err(SealError::TooMany);
        }
        let mut seal = Self {
            id,
            chain: head.chain,
            number: head.number + 1,
            count: leaves.len() as u64,
            previous: head.hash,
            root: merkle::root(&leaves),
            hash: [0; 32],
            signature: [0; 64],
            key_id: key_id(&signer.verifying_key()),
            sealed_at,
            leaves,
        };
        seal.hash = seal.computed_hash();
        seal.signature = signer.sign(&seal.hash).to_bytes();
        Ok(seal)
    }

    /// The head of the chain that ends with this seal.
    #[must_use]
    pub const fn head(&self) -> SealHead {
        SealHead { chain: self.chain, number: self.number, hash: self.hash }
    }

    /// What the hash must be.
    #[must_use]
    pub fn computed_hash(&self) -> Hash {
        Sha256::new()
            .chain_update([0x02])
            .chain_update(self.previous)
            .chain_update(self.chain.uuid().as_bytes())
            .chain_update(self.number.to_be_bytes())
            .chain_update(self.count.to_be_bytes())
            .chain_update(self.root)
            .chain_update(self.sealed_at.micros().to_be_bytes())
            .finalize()
            .into()
    }

    /// The place of a row under the seal, and the hashes that lead from it to the root; none if it is not under it.
    #[must_use]
    pub fn prove(&self, body: &[u8]) -> Option<(u64, Vec<Hash>)> {
        let leaf = merkle::leaf(body);
        let index = self.leaves.iter().position(|sealed| *sealed == leaf)?;
        Some((index as u64, merkle::proof(&self.leaves, index)?))
    }

    /// The leaves one after the other, as a column holds them.
    #[must_use]
    pub fn leaf_bytes(&self) -> Vec<u8> {
        self.leaves.as_flattened().to_vec()
    }
}

/// The leaves in such a column; `None` if its length is wrong.
#[must_use]
pub fn leaves_from_bytes(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (leaves, rest) = bytes.as_chunks::<32>();
    rest.is_empty().then(|| leaves.to_vec())
}

/// The short name of a sealing key: the first 8 bytes of the SHA-256 of its public half, in hexadecimal.
#[must_use]
pub fn key_id(key: &VerifyingKey) -> String {
    hex::encode(&sha256(key.as_bytes())[..KEY_ID_BYTES])
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::testing::{chain, signer};
    use super::*;

    fn make(head: &SealHead, leaves: Vec<Hash>) -> Result<Seal, SealError> {
        Seal::make(head, Id::new(Uuid::from_u128(1)), leaves, Timestamp::from_micros(5), &signer())
    }

    #[test]
    fn the_hash_is_over_the_documented_bytes() {
        let seal = make(&SealHead::start(chain()), vec![merkle::leaf(b"{}")]).unwrap();
        let mut bytes = vec![2];
        bytes.extend([0; 32]);
        bytes.extend(hex::decode("000000000000000000000000000000c1").unwrap());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend(sha256(b"\0{}"));
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(seal.hash, sha256(&bytes));
        assert_eq!(seal.key_id.len(), 16);
    }

    #[test]
    fn seals_hang_on_each_other() {
        let first = make(&SealHead::start(chain()), vec![[1; 32]]).unwrap();
        let second = make(&first.head(), vec![[2; 32]]).unwrap();
        assert_eq!((second.number, second.previous), (2, first.hash));
    }

    #[test]
    fn seals_are_bounded() {
        let start = SealHead::start(Chain::Instance);
        assert_eq!(make(&start, vec![]), Err(SealError::Empty));
        assert_eq!(make(&start, vec![[0; 32]; SEAL_LEAVES_MAX + 1]), Err(SealError::TooMany));
        let full = make(&start, vec![[0; 32]; SEAL_LEAVES_MAX]).unwrap();
        assert_eq!(full.count, 1024);
        assert_eq!(leaves_from_bytes(&full.leaf_bytes()), Some(full.leaves));
        assert_eq!(leaves_from_bytes(&[0; 33]), None);
    }
}
