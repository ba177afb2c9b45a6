//! The audit trail: recorded with the change, sealed soon after, proven on demand.

pub mod export;
pub mod list;
pub mod sealer;
pub mod verify;

use domain::audit::AuditEntry;
use records::Tx;

use crate::HubError;

/// Records what the unit decides.
pub(crate) async fn record(tx: &mut Tx, entry: &AuditEntry) -> Result<(), HubError> {
    Ok(records::audit::rows::append(tx, entry).await?)
}
