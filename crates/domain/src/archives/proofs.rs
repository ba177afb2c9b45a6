//! Rows of the audit trail that prove themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::audit::merkle::{self, Hash};
use crate::audit::seal::Seal;
use crate::audit::written::bytes;

/// A row and the way from it up to a signed root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The very bytes that were sealed.
    pub body: Vec<u8>,
    /// Its place under the seal, from 0.
    pub index: u64,
    /// The hashes beside the way to the root.
    pub path: Vec<Hash>,
    /// The seal. Its leaves are not part of the proof.
    pub seal: Seal,
}

impl Proof {
    /// The proof that a row is under the seal; none if it is not.
    #[must_use]
    pub fn of(body: Vec<u8>, seal: &Seal) -> Option<Self> {
        let (index, path) = seal.prove(&body)?;
        let seal = Seal { leaves: Vec::new(), ..seal.clone() };
        Some(Self { body, index, path, seal })
    }

    /// Whether the way leads from the row to the root of its seal.
    #[must_use]
    pub fn holds(&self) -> bool {
        let leaf = merkle::leaf(&self.body);
        merkle::check_proof(&leaf, self.index, self.seal.count, &self.path, &self.seal.root)
    }

    pub(super) fn to_value(&self) -> Value {
        json!({
            "seal": self.seal.number,
            "index": self.index,
            "body": String::from_utf8_lossy(&self.body),
            "path": self.path.iter().map(hex::encode).collect::<Vec<_>>(),
        })
    }

    /// Reads a proof whose seal is among these.
    pub(super) fn from_value(value: &Value, seals: &BTreeMap<u64, Seal>) -> Option<Self> {
        Some(Self {
            body: value["body"].as_str()?.as_bytes().to_vec(),
            index: value["index"].as_u64()?,
            path: value["path"].as_array()?.iter().map(bytes).collect::<Option<_>>()?,
            seal: seals.get(&value["seal"].as_u64()?)?.clone(),
        })
    }
}

/// Each seal of the proofs once, by number.
pub(super) fn seals_of(proofs: &[Proof]) -> BTreeMap<u64, &Seal> {
    proofs.iter().map(|proof| (proof.seal.number, &proof.seal)).collect()
}
