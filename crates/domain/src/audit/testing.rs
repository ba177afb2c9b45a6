//! A small chain for the tests of this folder.

use ed25519_dalek::SigningKey;
use serde_json::{Map, json};
use uuid::Uuid;

use super::{AuditEntry, Chain, RowColumns, Seal, SealHead, VerifyRow, merkle};
use crate::subject::Subject;
use crate::{Id, Timestamp};

pub(super) fn chain() -> Chain {
    Chain::from_uuid(Uuid::from_u128(0xc1))
}

pub(super) fn signer() -> SigningKey {
    SigningKey::from_bytes(&[42; 32])
}

pub(super) fn entry(number: u8) -> AuditEntry {
    let key = Uuid::from_u128(0xb);
    AuditEntry {
        id: Id::new(Uuid::from_u128(number.into())),
        chain: chain(),
        actor: Id::new(Uuid::from_u128(0xa)),
        key_id: Some(Id::new(key)),
        login_session_id: None,
        session_id: None,
        action: "api_key:minted".to_owned(),
        subject: Subject::new("api_key", key),
        from_state: None,
        to_state: Some("active".to_owned()),
        occurred_at: Timestamp::from_micros(1_773_847_800_000_000 + i64::from(number)),
        ip: Some("192.0.2.1".to_owned()),
        user_agent: Some("curl/8".to_owned()),
        service: Some("api".to_owned()),
        reason: Some("because \"ö\"".to_owned()),
        ticket_ref: None,
        details: Map::from_iter([("prefix".to_owned(), json!(format!("csk_{number}")))]),
    }
}

pub(super) fn full_entry() -> AuditEntry {
    AuditEntry {
        login_session_id: Some("login".to_owned()),
        session_id: Some(Uuid::from_u128(0x5e)),
        from_state: Some("none".to_owned()),
        ticket_ref: Some("OPS-7".to_owned()),
        ..entry(1)
    }
}

pub(super) fn row(number: u8) -> VerifyRow {
    row_of(&entry(number))
}

pub(super) fn row_of(entry: &AuditEntry) -> VerifyRow {
    VerifyRow { id: entry.id.raw(), body: entry.body(), columns: RowColumns::of(entry) }
}

pub(super) fn sealed(head: &SealHead, rows: &[VerifyRow]) -> Seal {
    let leaves = rows.iter().map(|row| merkle::leaf(&row.body)).collect();
    let id = Id::new(Uuid::from_u128(0x5ea1_0000 + u128::from(head.number)));
    Seal::make(head, id, leaves, Timestamp::from_micros(1_773_847_900_000_000), &signer()).unwrap()
}

/// Seal 1 with rows 1 to 3, seal 2 with row 4, seal 3 with rows 5 and 6.
pub(super) fn seals() -> Vec<(Seal, Vec<VerifyRow>)> {
    let mut head = SealHead::start(chain());
    [vec![1, 2, 3], vec![4], vec![5, 6]]
        .into_iter()
        .map(|numbers| {
            let rows: Vec<VerifyRow> = numbers.into_iter().map(row).collect();
            let seal = sealed(&head, &rows);
            head = seal.head();
            (seal, rows)
        })
        .collect()
}
