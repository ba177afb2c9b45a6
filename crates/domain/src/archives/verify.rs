//! Proving a line of an archive without the hub.
//!
//! What a line says is believed as far as the sealed record bears it out: that the rows it holds were sealed by the
//! hub's key, that the configs are those on record, that each answer was given by whom it names, and how it ended.

use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;

use super::line::LINE_VERSION;
use super::proofs::Proof;
use crate::audit::seal::{Seal, key_id};
use crate::audit::{AuditEntry, Chain, written};
use crate::canonical::{Sha256Hash, canonical_text, read_canonical};

/// What is wrong with a line, in words for a person who has to act on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Flaw {
    /// No line of an archive.
    #[error("this is not how an archive writes a line")]
    Malformed,
    /// A row has no valid proof.
    #[error("the row at place {place} is not under seal {seal}")]
    NotSealed {
        /// Its place in the line, from 0.
        place: usize,
        /// The seal it names.
        seal: u64,
    },
    /// A seal's hash is not that of its fields.
    #[error("seal {seal} was changed")]
    SealChanged {
        /// Its number.
        seal: u64,
    },
    /// A seal was signed by somebody else, or not at all.
    #[error("seal {seal} is not signed with a key to trust (it names {key_id})")]
    NotSigned {
        /// Its number.
        seal: u64,
        /// The key it names.
        key_id: String,
    },
    /// A row is about something else.
    #[error("the row at place {place} is not about this task")]
    Strange {
        /// Its place in the line, from 0.
        place: usize,
    },
    /// A config is not the one on record.
    #[error("the config of revision {number} is not the one on record")]
    ConfigChanged {
        /// Its number.
        number: u64,
    },
    /// An answer is not on record.
    #[error("the answer to request {approval} is not on record like this")]
    AnswerChanged {
        /// The request.
        approval: String,
    },
    /// It ended otherwise.
    #[error("the record does not say that the task ended as {state}")]
    StateChanged {
        /// What the line says.
        state: String,
    },
}

/// A line that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    /// The task.
    pub task_id: String,
    /// How many rows of the audit trail are proven.
    pub rows: usize,
    /// The keys that signed the seals.
    pub key_ids: Vec<String>,
    /// Whether the keys came from whoever asked; if not, the line only agrees with itself.
    pub keys_trusted: bool,
}

/// Proves one line, without its newline. Signatures are believed of these keys only; without any, of those the line
/// itself names.
///
/// # Errors
/// The first thing wrong with it.
pub fn verify(line: &[u8], trusted: Option<&[VerifyingKey]>) -> Result<Proven, Flaw> {
    let line = read_canonical(line).ok_or(Flaw::Malformed)?;
    let read = Read::of(&line).ok_or(Flaw::Malformed)?;
    let keys = trusted.map_or_else(|| read.keys.clone(), <[VerifyingKey]>::to_vec);
    read.seals.values().try_for_each(|seal| check_seal(seal, &keys))?;
    let entries = read.entries()?;
    check_subjects(&read, &entries)?;
    check_configs(&read, &entries)?;
    check_answers(&read, &entries)?;
    check_state(&read, &entries)?;
    Ok(Proven {
        task_id: read.task_id.to_owned(),
        rows: entries.len(),
        key_ids: keys_used(&read.seals),
        keys_trusted: trusted.is_some(),
    })
}

/// The parts of a line that the record speaks about.
struct Read<'a> {
    line: &'a Value,
    chain: Chain,
    task_id: &'a str,
    seals: BTreeMap<u64, Seal>,
    proofs: Vec<Proof>,
    keys: Vec<VerifyingKey>,
}

impl<'a> Read<'a> {
    fn of(line: &'a Value) -> Option<Self> {
        let is_ours = line["kind"] == "task" && line["v"] == LINE_VERSION;
        let chain: Chain = line["organization_id"].as_str().filter(|_| is_ours)?.parse().ok()?;
        let seals = line["seals"].as_array()?.iter().map(|seal| written::seal(seal, chain, Vec::new()));
        let seals: Vec<Seal> = seals.collect::<Option<_>>()?;
        let seals: BTreeMap<u64, Seal> = seals.into_iter().map(|seal| (seal.number, seal)).collect();
        let proofs = line["proofs"].as_array()?.iter().map(|proof| Proof::from_value(proof, &seals));
        Some(Self {
            line,
            chain,
            task_id: line["task"]["id"].as_str()?,
            proofs: proofs.collect::<Option<_>>()?,
            keys: line["keys"].as_array()?.iter().map(written::key).collect::<Option<_>>()?,
            seals,
        })
    }

    /// What the rows claim, if they were sealed.
    fn entries(&self) -> Result<Vec<AuditEntry>, Flaw> {
        let rows = self.proofs.iter().enumerate().map(|(place, proof)| {
            let unsealed = Flaw::NotSealed { place, seal: proof.seal.number };
            AuditEntry::from_body(&proof.body).filter(|_| proof.holds()).ok_or(unsealed)
        });
        rows.collect()
    }

    fn list(&self, name: &str) -> Result<&'a Vec<Value>, Flaw> {
        self.line[name].as_array().ok_or(Flaw::Malformed)
    }
}

fn check_seal(seal: &Seal, keys: &[VerifyingKey]) -> Result<(), Flaw> {
    if seal.computed_hash() != seal.hash {
        return Err(Flaw::SealChanged { seal: seal.number });
    }
    let signature = Signature::from_bytes(&seal.signature);
    let signed = keys
        .iter()
        .any(|key| key_id(key) == seal.key_id && key.verify_strict(&seal.hash, &signature).is_ok());
    match signed {
        true => Ok(()),
        false => Err(Flaw::NotSigned { seal: seal.number, key_id: seal.key_id.clone() }),
    }
}

fn keys_used(seals: &BTreeMap<u64, Seal>) -> Vec<String> {
    let mut used: Vec<String> = seals.values().map(|seal| seal.key_id.clone()).collect();
    used.sort();
    used.dedup();
    used
}

/// A line with the rows of another task would prove that one's life.
fn check_subjects(read: &Read<'_>, entries: &[AuditEntry]) -> Result<(), Flaw> {
    let parts = ["approvals", "executions"].map(|name| read.list(name));
    for (place, entry) in entries.iter().enumerate() {
        let id = entry.subject.id.as_str();
        let is_part = |list: &[Value]| list.iter().any(|one| one["id"] == id);
        let mut is_about = id == read.task_id;
        for part in &parts {
            is_about |= is_part(part.as_ref().map_err(Clone::clone)?);
        }
        if !is_about || entry.chain != read.chain {
            return Err(Flaw::Strange { place });
        }
    }
    Ok(())
}

/// Each config hashes to what a sealed row about the task names.
fn check_configs(read: &Read<'_>, entries: &[AuditEntry]) -> Result<(), Flaw> {
    let about_task = entries.iter().filter(|entry| entry.subject.id == read.task_id);
    let on_record: Vec<String> =
        about_task.map(|entry| canonical_text(&Value::Object(entry.details.clone()))).collect();
    for revision in read.list("revisions")? {
        let hash = Sha256Hash::of_value(&revision["config"]).to_string();
        let is_on_record = on_record.iter().any(|details| details.contains(&hash));
        if revision["content_hash"] != hash.as_str() || !is_on_record {
            return Err(Flaw::ConfigChanged { number: revision["number"].as_u64().unwrap_or(0) });
        }
    }
    Ok(())
}

/// Each answer is on record as its giver's.
fn check_answers(read: &Read<'_>, entries: &[AuditEntry]) -> Result<(), Flaw> {
    for approval in read.list("approvals")? {
        let action = match approval["response_action"].as_str() {
            None => continue,
            Some("approve") => "approval:approved",
            Some("reject") => "approval:rejected",
            Some(_) => "approval:changes_requested",
        };
        let text = |name: &str| approval[name].as_str().unwrap_or_default();
        let is_on_record = entries.iter().any(|entry| {
            entry.subject.id == text("id")
                && entry.action == action
                && entry.actor.to_string() == text("reviewed_by")
                && entry.reason.as_deref() == approval["response_reason"].as_str()
                && entry.details.get("content_hash") == approval.get("content_hash")
        });
        if !is_on_record {
            return Err(Flaw::AnswerChanged { approval: text("id").to_owned() });
        }
    }
    Ok(())
}

/// The last state on record is the one the line says.
fn check_state(read: &Read<'_>, entries: &[AuditEntry]) -> Result<(), Flaw> {
    let about_task = entries.iter().filter(|entry| entry.subject.id == read.task_id);
    let last = about_task.filter_map(|entry| Some((entry.occurred_at, entry.to_state.as_deref()?)));
    // Of two at one time the later in the line was written later.
    let last = last.max_by_key(|(at, _)| *at).map(|(_, state)| state);
    let state = read.line["task"]["state"].as_str();
    match state {
        Some(_) if state == last => Ok(()),
        _ => Err(Flaw::StateChanged { state: state.unwrap_or_default().to_owned() }),
    }
}
