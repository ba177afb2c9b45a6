//! The audit trail: recorded with the change, sealed soon after, proven on demand.

pub mod export;
pub mod list;
pub mod names;
pub mod sealer;
pub mod sought;
pub mod verify;

use domain::audit::AuditEntry;
use records::Tx;

use crate::HubError;

/// A row whose body was changed after it was sealed.
pub(crate) fn not_what_was_sealed() -> records::Error {
    records::Error::BadRow {
        column: "audit_logs.body",
        reason: "is not what was sealed; run `countersign audit verify`".into(),
    }
}

/// Records what the unit decides.
pub(crate) async fn record(tx: &mut Tx, entry: &AuditEntry) -> Result<(), HubError> {
    Ok(records::audit::rows::append(tx, entry).await?)
}
