//! The head of the queue.

use domain::audit::AuditEntry;
use domain::tasks::{Actor, Task};
use records::{Tx, tasks};

use super::{announce, refused};
use crate::act::Deed;
use crate::{HubError, audit};

/// What the audit calls it.
pub(crate) const PUT_FIRST: &str = "task:put_first";

/// Puts an approved task at the head of the queue, on record and told.
pub(crate) async fn put_first(
    tx: &mut Tx,
    act: &impl Deed,
    (task, actor): (&Task, Actor),
    entry: &AuditEntry,
) -> Result<Task, HubError> {
    let first = task.put_first(actor, act.now()).map_err(refused)?;
    tasks::save(tx, task, &first).await?;
    audit::record(tx, entry).await?;
    announce(tx, act, "task:updated", &first).await?;
    Ok(first)
}
