//! Reading rows, seals and proofs.

use domain::audit::seal::Seal;
use domain::audit::{AuditEntry, Chain, merkle};
use domain::permissions::Capability;
use records::audit::rows::{self, Filter, Listed};
use records::audit::seals;
use uuid::Uuid;

use crate::act::BY_ITSELF;
use crate::audit::not_what_was_sealed;
use crate::{Caller, Hub, HubError};

/// A row with its seal.
pub struct Row {
    /// What was claimed.
    pub entry: AuditEntry,
    /// (id, number, hash) of the seal over it.
    pub seal: Option<(Uuid, i64, [u8; 32])>,
}

impl Row {
    /// Whether the hub did it without being asked.
    #[must_use]
    pub fn is_by_itself(&self) -> bool {
        self.entry.service.as_deref() == Some(BY_ITSELF)
    }
}

/// Rows of the caller's organization, newest first. Addresses are for admins.
pub async fn list(hub: &Hub, caller: &Caller, filter: Filter, limit: i64) -> Result<Vec<Row>, HubError> {
    caller.require(Capability::AuditRead)?;
    let found = rows::list(&hub.records, caller.credential.organization.id, filter, limit).await?;
    found.into_iter().map(|row| shown(caller, row)).collect()
}

/// One row.
pub async fn get(hub: &Hub, caller: &Caller, id: Uuid) -> Result<Row, HubError> {
    caller.require(Capability::AuditRead)?;
    let row = rows::get(&hub.records, caller.credential.organization.id, id).await?;
    shown(caller, row.ok_or(HubError::NotFound("audit row"))?)
}

fn shown(caller: &Caller, row: Listed) -> Result<Row, HubError> {
    let mut entry = AuditEntry::from_body(&row.body).ok_or(records::Error::BadRow {
        column: "audit_logs.body",
        reason: "is not what this release writes; run `countersign audit verify`".into(),
    })?;
    if !caller.credential.standing().is_org_admin() {
        entry.ip = None;
        entry.user_agent = None;
    }
    let seal = match (row.seal_id, row.seal_number, row.seal_hash) {
        (Some(id), Some(number), Some(hash)) => Some((id, number, hash)),
        _ => None,
    };
    Ok(Row { entry, seal })
}

/// Seals of the caller's organization, newest first.
pub async fn list_seals(
    hub: &Hub,
    caller: &Caller,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Seal>, HubError> {
    caller.require(Capability::AuditRead)?;
    let chain = Chain::Organization(caller.credential.organization.id);
    Ok(seals::seals_down(&hub.records, chain, before.unwrap_or(i64::MAX), limit).await?)
}

/// That a row is under a signed seal.
pub struct Proof {
    /// The bytes of the row.
    pub body: Vec<u8>,
    /// Their hash.
    pub leaf: merkle::Hash,
    /// Its place under the seal.
    pub index: u64,
    /// From the leaf up to the root.
    pub path: Vec<merkle::Hash>,
    /// The seal.
    pub seal: Seal,
    /// What its signature is checked with.
    pub public_key: [u8; 32],
}

/// The proof of one row. It contains the row whole, addresses included, so it is for admins.
pub async fn prove(hub: &Hub, caller: &Caller, id: Uuid) -> Result<Proof, HubError> {
    caller.require(Capability::AuditVerify)?;
    let org = caller.credential.organization.id;
    let row = rows::get(&hub.records, org, id).await?.ok_or(HubError::NotFound("audit row"))?;
    let not_yet = || HubError::InvalidState {
        state: "unsealed".into(),
        detail: "the row is not sealed yet; that takes at most a second".into(),
    };
    let seal_id = row.seal_id.ok_or_else(not_yet)?;
    let chain = Chain::Organization(org);
    let seal = seals::seal(&hub.records, chain, seal_id).await?.ok_or_else(not_yet)?;
    let (index, path) = seal.prove(&row.body).ok_or_else(not_what_was_sealed)?;
    let key = hub.config.keys.public_key(&seal.key_id);
    let public_key = key.ok_or(HubError::NotFound("key for this seal"))?.to_bytes();
    Ok(Proof { leaf: merkle::leaf(&row.body), body: row.body, index, path, seal, public_key })
}
