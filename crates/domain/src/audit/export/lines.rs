//! The lines of an export, both ways.

use ed25519_dalek::VerifyingKey;
use serde_json::{Value, json};

use crate::Timestamp;
use crate::audit::columns::RowColumns;
use crate::audit::entry::Chain;
use crate::audit::merkle::Hash;
use crate::audit::seal::Seal;
use crate::audit::verify::VerifyRow;
use crate::audit::written::{self, bytes, key, key_value, seal_value};
use crate::canonical::canonical_text;

const FORMAT_VERSION: u64 = 1;

pub(super) struct Header {
    pub(super) chain: Chain,
    pub(super) exported_at: Timestamp,
    pub(super) keys: Vec<VerifyingKey>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct End {
    pub(super) seals: u64,
    pub(super) rows: u64,
    pub(super) head: Option<Hash>,
    pub(super) sha256: Hash,
}

pub(super) enum Line {
    Header(Header),
    Seal(Seal),
    Row { row: VerifyRow, seal: Option<u64> },
    End(End),
}

impl Line {
    /// Reads a line without its newline.
    pub(super) fn read(line: &[u8]) -> Result<Self, &'static str> {
        let fields: Value = serde_json::from_slice(line).map_err(|_| "this is not JSON")?;
        let read = match fields["kind"].as_str() {
            Some("header") => header(&fields).map(Self::Header),
            Some("seal") => seal(&fields).map(Self::Seal),
            Some("row") => row(&fields).map(|row| Self::Row { row, seal: fields["seal"].as_u64() }),
            Some("end") => end(&fields).map(Self::End),
            _ => return Err("this kind of line does not exist"),
        };
        // Reading is lenient; whatever it overlooked makes the two differ.
        read.filter(|read| read.text().as_bytes() == line)
            .ok_or("this is not how an export writes such a line")
    }

    fn text(&self) -> String {
        match self {
            Self::Header(header) => header_text(header),
            Self::Seal(seal) => seal_text(seal),
            Self::Row { row, seal } => row_text(row, *seal),
            Self::End(end) => end_text(end),
        }
    }
}

pub(super) fn header_text(header: &Header) -> String {
    canonical_text(&json!({
        "kind": "header",
        "v": FORMAT_VERSION,
        "chain": header.chain.to_string(),
        "exported_at": header.exported_at.to_string(),
        "keys": header.keys.iter().map(key_value).collect::<Vec<_>>(),
    }))
}

fn header(fields: &Value) -> Option<Header> {
    Some(Header {
        chain: fields["chain"].as_str()?.parse().ok()?,
        exported_at: fields["exported_at"].as_str()?.parse().ok()?,
        keys: fields["keys"].as_array()?.iter().map(key).collect::<Option<_>>()?,
    })
}

pub(super) fn seal_text(seal: &Seal) -> String {
    let mut fields = seal_value(seal);
    fields["kind"] = "seal".into();
    fields["chain"] = seal.chain.to_string().into();
    fields["leaves"] = seal.leaves.iter().map(hex::encode).collect();
    canonical_text(&fields)
}

fn seal(fields: &Value) -> Option<Seal> {
    let chain = fields["chain"].as_str()?.parse().ok()?;
    let leaves = fields["leaves"].as_array()?.iter().map(bytes).collect::<Option<_>>()?;
    written::seal(fields, chain, leaves)
}

pub(super) fn row_text(row: &VerifyRow, seal: Option<u64>) -> String {
    canonical_text(&json!({
        "kind": "row",
        "id": row.id.to_string(),
        "seal": seal,
        // A body that is no text any more was tampered with, and will not match its leaf in this form either.
        "body": String::from_utf8_lossy(&row.body),
        "columns": row.columns.to_json(),
    }))
}

fn row(fields: &Value) -> Option<VerifyRow> {
    Some(VerifyRow {
        id: fields["id"].as_str()?.parse().ok()?,
        body: fields["body"].as_str()?.as_bytes().to_vec(),
        columns: RowColumns::from_json(&fields["columns"]),
    })
}

pub(super) fn end_text(end: &End) -> String {
    canonical_text(&json!({
        "kind": "end",
        "seals": end.seals,
        "rows": end.rows,
        "head": end.head.map(hex::encode),
        "sha256": hex::encode(end.sha256),
    }))
}

fn end(fields: &Value) -> Option<End> {
    Some(End {
        seals: fields["seals"].as_u64()?,
        rows: fields["rows"].as_u64()?,
        head: bytes(&fields["head"]),
        sha256: bytes(&fields["sha256"])?,
    })
}
