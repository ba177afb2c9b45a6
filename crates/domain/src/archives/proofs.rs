//! Rows of the audit trail that prove themselves.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use serde_json::{Value, json};

use crate::audit::merkle::{self, Hash};
use crate::audit::seal::{Seal, key_id};

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

pub(super) fn seal_value(seal: &Seal) -> Value {
    json!({
        "id": seal.id.to_string(),
        "number": seal.number,
        "count": seal.count,
        "previous": hex::encode(seal.previous),
        "root": hex::encode(seal.root),
        "hash": hex::encode(seal.hash),
        "signature": hex::encode(seal.signature),
        "key_id": seal.key_id,
        "sealed_at": seal.sealed_at.to_string(),
    })
}

/// Reads a seal of this chain.
pub(super) fn seal(value: &Value, chain: crate::audit::Chain) -> Option<Seal> {
    Some(Seal {
        id: value["id"].as_str()?.parse().ok()?,
        chain,
        number: value["number"].as_u64()?,
        count: value["count"].as_u64()?,
        previous: bytes(&value["previous"])?,
        root: bytes(&value["root"])?,
        hash: bytes(&value["hash"])?,
        signature: bytes(&value["signature"])?,
        key_id: value["key_id"].as_str()?.to_owned(),
        sealed_at: value["sealed_at"].as_str()?.parse().ok()?,
        leaves: Vec::new(),
    })
}

pub(super) fn key_value(key: &VerifyingKey) -> Value {
    json!({"key_id": key_id(key), "public_key": hex::encode(key.as_bytes())})
}

pub(super) fn key(value: &Value) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&bytes(&value["public_key"])?).ok()
}

fn bytes<const N: usize>(field: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(field.as_str()?, &mut bytes).ok()?;
    Some(bytes)
}
