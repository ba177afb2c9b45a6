//! Seals and keys as files that prove themselves write them, both ways.

use ed25519_dalek::VerifyingKey;
use serde_json::{Value, json};

use super::entry::Chain;
use super::merkle::Hash;
use super::seal::{Seal, key_id};

/// A seal without its chain and its leaves, which not every file repeats.
pub(crate) fn seal_value(seal: &Seal) -> Value {
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

/// Reads a seal of this chain over these leaves.
pub(crate) fn seal(fields: &Value, chain: Chain, leaves: Vec<Hash>) -> Option<Seal> {
    Some(Seal {
        id: fields["id"].as_str()?.parse().ok()?,
        chain,
        number: fields["number"].as_u64()?,
        count: fields["count"].as_u64()?,
        previous: bytes(&fields["previous"])?,
        root: bytes(&fields["root"])?,
        hash: bytes(&fields["hash"])?,
        signature: bytes(&fields["signature"])?,
        key_id: fields["key_id"].as_str()?.to_owned(),
        sealed_at: fields["sealed_at"].as_str()?.parse().ok()?,
        leaves,
    })
}

/// What signatures are checked with.
pub(crate) fn key_value(key: &VerifyingKey) -> Value {
    json!({ "key_id": key_id(key), "public_key": hex::encode(key.as_bytes()) })
}

/// Reads such a key.
pub(crate) fn key(fields: &Value) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&bytes(&fields["public_key"])?).ok()
}

/// So many bytes in hexadecimal digits.
pub(crate) fn bytes<const N: usize>(field: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(field.as_str()?, &mut bytes).ok()?;
    Some(bytes)
}
